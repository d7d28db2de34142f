#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace whilst::command {
namespace {

/// value with three significant digits and no exponent, for values of 1 to 9999.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string memory(double bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  bytes /= 1024;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return three_digits(bytes) + " " + units[unit];
}

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string driver_line(const machine_description& machine) {
  std::string line = machine.driver_release;
  if (machine.driver_version > 0)
    line += (line.empty() ? "for CUDA up to " : ", for CUDA up to ") + cuda_version(machine.driver_version);
  return line.empty() ? "none found" : line;
}

std::string machine_line(const machine_description& machine, const std::string& executor) {
  if (executor == "host" || machine.device.empty()) {
    return fmt::format("{}, {} thread{}", machine.processor, machine.threads, machine.threads == 1 ? "" : "s");
  }
  return fmt::format("{} (compute capability {}.{}), built with CUDA {}, driver {}", machine.device,
                     machine.compute_major, machine.compute_minor, cuda_version(machine.toolkit_version),
                     driver_line(machine));
}

template <class T>
void print_header(std::FILE* out, const linear_system<T>& system, const solve_options& options,
                  const machine_description& machine, const std::string& executor) {
  const auto& A = system.A;
  const double offset_bytes = A.has_64bit_offsets() ? 8 : 4;
  const double bytes =
      static_cast<double>(A.nonzeros()) * (sizeof(T) + 4.0) + static_cast<double>(A.rows() + 1) * offset_bytes;
  fmt::print(out, "matrix       {}: {} rows, {} nonzeros ({:.2f} a row), {}\n", system.name, A.rows(), A.nonzeros(),
             static_cast<double>(A.nonzeros()) / static_cast<double>(A.rows()), memory(bytes));
  if (!system.description.empty()) fmt::print(out, "             {}\n", system.description);
  fmt::print(out, "right side   {}\n", system.rhs_source);
  fmt::print(out, "machine      {}\n", machine_line(machine, executor));
  fmt::print(out, "solver       {}, {}, {}, rtol {:g}", options.solver.method,
             options.solver.preconditioner == "none" ? "no preconditioner" : options.solver.preconditioner,
             options.precision, options.solver.rtol);
  if (options.solver.atol > 0) fmt::print(out, ", atol {:g}", options.solver.atol);
  fmt::print(out, ", at most {} iterations", options.solver.max_iterations);
  if (std::isfinite(options.solver.deadline)) fmt::print(out, " and {}", duration(options.solver.deadline));
  fmt::print(out, "\n");
}

template void print_header<float>(std::FILE*, const linear_system<float>&, const solve_options&,
                                  const machine_description&, const std::string&);
template void print_header<double>(std::FILE*, const linear_system<double>&, const solve_options&,
                                   const machine_description&, const std::string&);

}  // namespace whilst::command
