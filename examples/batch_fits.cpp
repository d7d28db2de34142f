/// batch_fits: a hundred thousand curves fitted in one launch, a thread each.

#include <cmath>
#include <cstdio>
#include <vector>

#include <whilst/least_squares_batch.hpp>

struct decays {  // fit k has the points x[i] and y[i * fits + k], so that neighbouring threads read neighbours
  whilst::index_type fits, points;
  const double *x, *y;

  struct one {  // residual i of one fit: b0 exp(-b1 x) - y
    static constexpr int unknowns = 2;
    whilst::index_type points, stride;
    const double *x, *y;
    WHILST_HD whilst::index_type count() const { return points; }
    template <class S>
    WHILST_HD S operator()(whilst::index_type i, const S* b) const {
      using std::exp;
      return b[0] * exp(b[1] * (-x[i])) - y[i * stride];
    }
  };
  WHILST_HD whilst::index_type count() const { return points; }
  WHILST_HD one of_problem(whilst::index_type k) const { return {points, fits, x, y + k}; }
};

int main() {
  constexpr int fits = 100'000, points = 20;
  const auto rate = [](int k) { return 0.5 + k * 1e-5; };  // the answer
  std::vector<double> x(points), y(points * fits), b(2 * fits, 1.0);
  for (int i = 0; i < points; ++i) x[i] = 0.1 * i;
  for (int i = 0; i < points; ++i)
    for (int k = 0; k < fits; ++k) y[i * fits + k] = 3 * std::exp(-rate(k) * x[i]) + 0.001 * std::sin(37.0 * i + k);

  whilst::buffer<double> x_there, y_there;  // the data in the memory of the place that fits
  whilst::least_squares_batch<double, decays> batch(
      [&](whilst::place where) {
        x_there = whilst::buffer<double>(where, points);
        y_there = whilst::buffer<double>(where, points * fits);
        x_there.upload(x.data());
        y_there.upload(y.data());
        return decays{fits, points, x_there.data(), y_there.data()};
      },
      fits);
  const whilst::least_squares_batch_report report = batch.solve(b);

  double error = 0;  // the sine stands for noise
  for (int k = 0; k < fits; ++k) error = std::fmax(error, std::fabs(b[2 * k + 1] - rate(k)));
  std::printf("%d of %d fits converged, rates within 0.01 of the truth: %s\n",
              static_cast<int>(report.number_converged()), fits, error < 0.01 ? "yes" : "no");
  return report.all_converged() ? 0 : 2;
}
