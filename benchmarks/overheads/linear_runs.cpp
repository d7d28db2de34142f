#include "benchmarks/overheads/linear_runs.hpp"

#include <fmt/format.h>

#include <cmath>

#include "whilst/engine/memory/cuda.hpp"

namespace overheads {

problem::problem(const std::string& name, bool gpu) : problem(whilst::make_gallery<double>(name), gpu) {}
problem::problem(whilst::gallery_problem<double> made, bool gpu) : A(std::move(made.matrix)), b(std::move(made.rhs)) {
  amg.unknowns_a_node = made.unknowns_a_node;
  amg.coordinates = std::move(made.coordinates);
  if (!gpu) return;
  const auto where = whilst::place::gpu(0);
  const std::size_t offset_bytes = (A.has_64bit_offsets() ? 8 : 4) * static_cast<std::size_t>(A.rows() + 1);
  offsets = whilst::raw_buffer(where, offset_bytes);
  offsets.upload(A.row_offsets_data(), offset_bytes);
  columns = whilst::buffer<std::int32_t>(where, A.nonzeros());
  columns.upload(A.column_indices_data());
  values = whilst::buffer<double>(where, A.nonzeros());
  values.upload(A.values_data());
  b_on_gpu = whilst::buffer<double>(where, A.rows());
  b_on_gpu.upload(b.data());
  x_on_gpu = whilst::buffer<double>(where, A.rows());
  const auto borrow = [&](const auto* borrowed_offsets) {
    A_on_gpu = csr_matrix<double>::on_device(A.rows(), A.columns(), A.nonzeros(), borrowed_offsets, columns.data(),
                                             values.data());
  };
  if (A.has_64bit_offsets())
    borrow(static_cast<const std::int64_t*>(offsets.data()));
  else
    borrow(static_cast<const std::int32_t*>(offsets.data()));
}
double problem::ideal_bytes() const {
  const auto n = static_cast<double>(A.rows());
  return static_cast<double>(A.nonzeros()) * (8 + 4) + (n + 1) * (A.has_64bit_offsets() ? 8 : 4) + 11 * 8 * n;
}

linear_solver_options options_for(const way& how) {
  linear_solver_options options;
  options.executor = how.executor;
  options.unroll = how.unroll;
  options.programmatic_launch = how.programmatic_launch;
  options.rtol = 0;
  options.dtol = HUGE_VAL;
  return options;
}

timing time_runs(problem& given, whilst::replayed_solver& solver,
                 whilst::ticket (*enqueue)(whilst::replayed_solver& solver, const double* b, double* x), const way& how,
                 run_lengths lengths, double budget, std::vector<double>* wanted) {
  const bool on_host = how.executor == "host";
  if (solver.executor() != how.executor) return {.why_not = "ran as " + solver.executor()};
  const auto rows = static_cast<std::size_t>(given.A.rows());
  std::vector<double> x(on_host || wanted ? rows : 0);
  const auto run = [&](index_type iterations) {
    solver.set_max_iterations(iterations);
    if (on_host) {
      x.assign(rows, 0.0);
#if WHILST_WITH_CUDA
    } else {
      WHILST_CUDA("clearing x", cudaMemset(given.x_on_gpu.data(), 0, rows * sizeof(double)));
#endif
    }
    const whilst::report report = on_host ? enqueue(solver, given.b.data(), x.data()).wait()
                                          : enqueue(solver, given.b_on_gpu.data(), given.x_on_gpu.data()).wait();
    if (report.iterations() != iterations || report.reason() != whilst::reason::iteration_limit)
      throw whilst::error("timing " + report.method(),
                          fmt::format("a run of {} iterations ended as '{}'", iterations, report.message()));
    return report.solve_seconds();
  };
  const timing measured = time_iterations(lengths, budget, run);
  if (!wanted) return measured;
  if (!on_host) given.x_on_gpu.download(x.data());
  *wanted = std::move(x);
  return measured;
}

timing time_solver(problem& given, const std::string& method, const way& how, run_lengths lengths, double budget,
                   std::vector<double>* x) {
  linear_solver_options options = options_for(how);
  options.method = method;
  using solver_type = whilst::linear_solver<double>;
  solver_type solver(how.executor == "host" ? given.A : *given.A_on_gpu, options);
  const auto enqueue = [](whilst::replayed_solver& of, const double* b, double* into) {
    return static_cast<solver_type&>(of).enqueue(nullptr, b, into);
  };
  return time_runs(given, solver, enqueue, how, lengths, budget, x);
}

}  // namespace overheads
