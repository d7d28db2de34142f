/// minimize: L-BFGS on a sum of Rosenbrock's valleys. A term is written once; its derivatives come from dual numbers.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <whilst/minimizer.hpp>
#include <whilst/partially_separable.hpp>

struct valley {  // of two unknowns
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    const S a = x[1] - x[0] * x[0], b = 1.0 - x[0];
    return 100.0 * a * a + b * b;
  }
};

int main() {
  constexpr int n = 1000;
  std::vector<std::int32_t> pairs(n);  // two indices of unknowns for each of the 500 terms
  for (int i = 0; i < n; ++i) pairs[i] = i;
  whilst::partially_separable<double> f(whilst::place_of_executor(), n);
  f.add("valleys", valley{}, pairs);
  whilst::minimizer<double> minimizer(f, {.method = "lbfgs", .tolerances = {.gradient = 1e-8}});

  std::vector<double> x(n);  // the start, then the minimum
  for (int i = 0; i < n; ++i) x[i] = i % 2 ? 1 : -1.2;
  const whilst::minimize_report report = minimizer.solve(x);
  std::puts(report.message().c_str());

  double error = 0;
  for (const double xi : x) error = std::fmax(error, std::fabs(xi - 1));
  std::printf("all unknowns are 1 within 1e-8: %s\n", error < 1e-8 ? "yes" : "no");
  return report.converged() ? 0 : 2;
}
