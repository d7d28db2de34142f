#include "header.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/common/text.hpp"
#include "solvers/files/text_file.hpp"

namespace whilst::command {

template <class T>
void print_matrix(std::FILE* out, const linear_system<T>& system) {
  const auto& A = system.A;
  const double offset_bytes = A.has_64bit_offsets() ? 8 : 4;
  const double bytes =
      static_cast<double>(A.nonzeros()) * (sizeof(T) + 4.0) + static_cast<double>(A.rows() + 1) * offset_bytes;
  fmt::print(out, "matrix       {}: {} rows, {} nonzeros ({:.2f} a row), {}\n", detail::printable(system.name),
             A.rows(), A.nonzeros(), static_cast<double>(A.nonzeros()) / static_cast<double>(A.rows()), memory(bytes));
  if (!system.description.empty()) fmt::print(out, "             {}\n", system.description);
}

template <class T>
void print_header(std::FILE* out, const linear_system<T>& system, const solve_options& options,
                  const machine_description& machine, const std::string& executor) {
  print_matrix(out, system);
  fmt::print(out, "right side   {}\n", detail::printable(system.rhs_source));
  fmt::print(out, "machine      {}\n", machine_line(machine, executor));
  fmt::print(out, "solver       {}, {}, {}, rtol {:g}", options.solver.method,
             options.solver.preconditioner == "none" ? "no preconditioner" : options.solver.preconditioner,
             options.precision, options.solver.rtol);
  if (options.solver.atol > 0) fmt::print(out, ", atol {:g}", options.solver.atol);
  fmt::print(out, ", at most {} iterations", options.solver.max_iterations);
  if (std::isfinite(options.solver.deadline)) fmt::print(out, " and {}", duration(options.solver.deadline));
  fmt::print(out, "\n");
}

template void print_matrix<float>(std::FILE*, const linear_system<float>&);
template void print_matrix<double>(std::FILE*, const linear_system<double>&);
template void print_header<float>(std::FILE*, const linear_system<float>&, const solve_options&,
                                  const machine_description&, const std::string&);
template void print_header<double>(std::FILE*, const linear_system<double>&, const solve_options&,
                                   const machine_description&, const std::string&);

}  // namespace whilst::command
