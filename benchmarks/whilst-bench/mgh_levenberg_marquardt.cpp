#include <cmath>
#include <type_traits>

#include "benchmarks/whilst-bench/mgh_runs.hpp"
#include "whilst/dual.hpp"
#include "whilst/least_squares.hpp"

namespace whilst_bench {
namespace {

template <class Problem>
mgh_run fit(const Problem& problem, std::vector<double>& x) {
  whilst::least_squares_solver<double, Problem> solver([&](whilst::place) { return problem; }, {.executor = "host"});
  const whilst::least_squares_report report = solver.solve(x);
  // |g| of f, which has no factor 1/2, from separate duals.
  using dual = whilst::dual<double, Problem::unknowns>;
  std::vector<dual> at;
  for (std::size_t j = 0; j < x.size(); ++j) at.push_back(dual::variable(x[j], static_cast<int>(j)));
  const dual f = whilst::test_functions::sum_of_squares(problem, at.data());
  double gradient_norm = 0;
  for (std::size_t j = 0; j < x.size(); ++j) gradient_norm = std::hypot(gradient_norm, f.gradient[j]);
  return {.reason = report.reason(),
          .iterations = report.iterations(),
          .evaluations = report.iterations(),
          .value = 2 * report.value,
          .gradient_norm = gradient_norm};
}

}  // namespace

mgh_run run_levenberg_marquardt(const whilst::test_problem& problem, std::vector<double>& x) {
  mgh_run run;
  whilst::test_functions::for_each_test_function([&](const auto& known, const auto&) {
    if (known.number == problem.number && known.n == problem.n) run = fit(known, x);
  });
  return run;
}

}  // namespace whilst_bench
