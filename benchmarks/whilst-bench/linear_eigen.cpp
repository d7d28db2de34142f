#include <chrono>
#include <stdexcept>

#include "benchmarks/whilst-bench/linear_runs.hpp"

// An assertion of Eigen's, such as one on a preconditioner, is a failed run and not the end of the program.
#define eigen_assert(condition) \
  ((condition) ? static_cast<void>(0) : throw std::runtime_error("Eigen requires " #condition))
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

namespace whilst_bench {
namespace {

using clock = std::chrono::steady_clock;

template <class T>
using sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>;
template <class T>
using column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

constexpr int most_calls = 3;

const char* reason_of(Eigen::ComputationInfo info) {
  switch (info) {
    case Eigen::Success:
      return "converged_rtol";
    case Eigen::NoConvergence:
      return "iteration_limit";
    case Eigen::NumericalIssue:
      return "breakdown";
    default:
      return "error";
  }
}

template <class Solver, class T>
void solve_with(linear_run& run, const linear_system<T>& system, const linear_options& options) {
  const auto n = static_cast<Eigen::Index>(system.A.rows());
  const Eigen::Map<const sparse<T>> A(n, n, static_cast<Eigen::Index>(system.A.nonzeros()),
                                      system.A.row_offsets_32().data(), system.A.column_indices().data(),
                                      system.A.values().data());
  const Eigen::Map<const column<T>> b(system.b.data(), n);
  const auto begin = clock::now();
  Solver solver;
  solver.setTolerance(static_cast<T>(options.tolerance()));
  solver.compute(A);
  run.setup_seconds = std::chrono::duration<double>(clock::now() - begin).count();
  if (solver.info() != Eigen::Success) throw std::runtime_error("Eigen could not prepare it");
  repeat(run, options.repetitions, [&] {
    double seconds = 0;
    run.iterations = 0;
    column<T> x = column<T>::Zero(n);
    std::vector<T> copy;
    for (int call = 0; call < most_calls && run.iterations < options.max_iterations; ++call) {
      solver.setMaxIterations(static_cast<Eigen::Index>(options.max_iterations - run.iterations));
      const auto called = clock::now();
      x = solver.solveWithGuess(b, x).eval();
      seconds += std::chrono::duration<double>(clock::now() - called).count();
      run.iterations += solver.iterations();
      copy.assign(x.data(), x.data() + n);
      run.residual = residual_of(system, copy);
      run.claims = solver.info() == Eigen::Success;
      if (!run.claims || run.residual.within(options.tolerance())) break;
    }
    run.reason = run.message = reason_of(solver.info());
    run.products = run.iterations * (run.by.method == "bicgstab" ? 2 : 1);
    run.reported_residual = static_cast<double>(solver.error());
    run.solved = run.claims && run.residual.within(options.tolerance());
    return seconds;
  });
}

template <class Preconditioner, class T>
void solve_by(linear_run& run, const linear_system<T>& system, const linear_options& options) {
  constexpr int both = Eigen::Lower | Eigen::Upper;
  if (run.by.method == "cg")
    solve_with<Eigen::ConjugateGradient<sparse<T>, both, Preconditioner>>(run, system, options);
  else if (run.by.method == "minres")
    solve_with<Eigen::MINRES<sparse<T>, both, Preconditioner>>(run, system, options);
  else if (run.by.method == "bicgstab")
    solve_with<Eigen::BiCGSTAB<sparse<T>, Preconditioner>>(run, system, options);
  else
    solve_with<Eigen::GMRES<sparse<T>, Preconditioner>>(run, system, options);
}

}  // namespace

const std::vector<std::string>& eigen_methods() {
  static const std::vector<std::string> all{"cg", "minres", "bicgstab", "gmres"};
  return all;
}

template <class T>
linear_run run_eigen(const linear_system<T>& system, const linear_contender& by, const linear_options& options) {
  linear_run run{.by = by, .executor = "host", .reason = "error", .message = ""};
  try {
    if (system.A.has_64bit_offsets()) throw std::runtime_error("this baseline counts entries in 32 bits");
    if (by.preconditioner == "jacobi")
      solve_by<Eigen::DiagonalPreconditioner<T>>(run, system, options);
    else
      solve_by<Eigen::IdentityPreconditioner>(run, system, options);
  } catch (const std::runtime_error& problem) {
    run.reason = "error";
    run.message = problem.what();
  }
  return run;
}

template linear_run run_eigen(const linear_system<float>&, const linear_contender&, const linear_options&);
template linear_run run_eigen(const linear_system<double>&, const linear_contender&, const linear_options&);

}  // namespace whilst_bench
