/// fit_curve: a decay fitted to noisy points by Levenberg-Marquardt, with standard errors.

#include <cmath>
#include <cstdio>
#include <vector>

#include <whilst/least_squares.hpp>

struct decay {  // b0 exp(-b1 x): two parameters, one variable
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0]));
  }
};

int main() {
  std::vector<double> x, y;
  for (int i = 0; i < 50; ++i) {
    x.push_back(0.1 * i);
    y.push_back(3 * std::exp(-0.7 * x.back()) + 0.01 * std::sin(37.0 * i));  // the sine stands for noise
  }
  whilst::curve_fit<double, decay> fit({}, x, y);

  std::vector<double> b{1, 1};  // the start, then the fit
  const whilst::least_squares_report report = fit.solve(b);
  std::puts(report.message().c_str());
  const std::vector<double> errors = report.standard_errors();
  for (int k = 0; k < 2; ++k) std::printf("b%d = %.4f +- %.4f\n", k, b[k], errors[k]);
  return report.converged() ? 0 : 2;
}
