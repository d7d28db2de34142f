#include "benchmarks/whilst-bench/true_gradient.hpp"

#include <bit>

namespace whilst_bench {
namespace {

double norm_of(const std::vector<double>& entries) {
  double norm = 0;
  for (const double entry : entries) norm = std::hypot(norm, entry);
  return norm;
}

}  // namespace

true_gradient gradient_at(const whilst::cutest_problem& problem, const std::vector<double>& x) {
  const whilst::value_and_gradient here = problem.evaluate(x);
  // Up and down by turns that never repeat, as a problem's blocks do: what moves together may cancel.
  std::vector<double> beside = x;
  for (std::size_t j = 0; j < x.size(); ++j)
    beside[j] = std::nextafter(x[j], std::popcount(j) % 2 == 0 ? HUGE_VAL : -HUGE_VAL);
  std::vector<double> change = problem.evaluate(beside).gradient;
  for (std::size_t j = 0; j < x.size(); ++j) change[j] -= here.gradient[j];
  const double rounding = norm_of(change);
  return {here.value, norm_of(here.gradient), std::isfinite(rounding) ? rounding : 0};
}

}  // namespace whilst_bench
