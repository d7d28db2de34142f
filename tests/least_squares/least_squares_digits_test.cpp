// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Fits whose sums of products J' J would lose too many digits: columns that nearly depend on one another, squares that
// under- or overflow. The oracle is a QR factorisation in long double.

#include <Eigen/QR>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/least_squares.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst_test {

using whilst::curve_fit;
using whilst::least_squares_report;
using whilst::reason;

namespace {

using matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// y = b0 + b1 x + ... + bd x^d
template <int d>
struct polynomial {
  static constexpr int parameters = d + 1, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    S y = b[d];
    for (int j = d - 1; j >= 0; --j) y = y * x[0] + b[j];
    return y;
  }
};
/// y = b0 exp(-b1 x)
struct decay {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0]));
  }
};
/// y = (b0 + b1) x + b2 x^2: the column of b1 is that of b0, and that of b2 has a direction of its own behind it.
struct twice_the_slope {
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return (b[0] + b[1]) * x[0] + b[2] * (x[0] * x[0]);
  }
};
/// y = b0 exp(-b1 x) + b2 + b3 x
struct decay_on_a_slope {
  static constexpr int parameters = 4, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0])) + b[2] + b[3] * x[0];
  }
};

constexpr double epsilon = std::numeric_limits<double>::epsilon();
/// Deterministic noise between -1 and 1.
double noise(int i) { return std::sin(12.9898 * i) * std::cos(78.233 * i); }

/// Points of a curve over first, first + step, ..., and its least squares polynomial.
template <int d>
struct polynomial_data {
  static constexpr int n = d + 1;
  std::vector<double> x, y;
  vector b, errors;
  long double least = 0, condition = 0;

  polynomial_data(double first, double step, int points, int seed = 0) {
    matrix J(points, n);
    vector right(points);
    for (int i = 0; i < points; ++i) {
      x.push_back(first + step * i);
      const double u = 2.0 * i / (points - 1) - 1;
      y.push_back(0.3 + u - 0.7 * u * u + 0.1 * noise(i + seed));
      long double power = 1;
      for (int j = 0; j < n; ++j, power *= x.back()) J(i, j) = power;
      right[i] = y.back();
    }
    const vector unit = J.colwise().norm().cwiseInverse();
    const Eigen::HouseholderQR<matrix> qr(J * unit.asDiagonal());
    b = unit.cwiseProduct(qr.solve(right));
    least = (right - J * b).squaredNorm();
    const matrix R = qr.matrixQR().topRows(n);
    matrix inverse = matrix::Identity(n, n);
    R.triangularView<Eigen::Upper>().solveInPlace(inverse);
    condition = inverse.norm() * std::sqrt(static_cast<long double>(n));
    errors = unit.cwiseProduct(inverse.rowwise().norm()) * std::sqrt(least / (points - n));
  }
  long double sum_of_squares(const double* found) const {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      long double value = 0;
      for (int j = d; j >= 0; --j) value = value * x[i] + found[j];
      sum += (value - y[i]) * (value - y[i]);
    }
    return sum;
  }
  /// What errors of some epsilon in J do to the solution.
  double tolerance() const { return 100 * epsilon * static_cast<double>(condition); }
};

template <int d>
void check_polynomial(const polynomial_data<d>& given) {
  for (const std::string& executor : executors()) {
    INFO(executor << ", a polynomial of degree " << d << " from " << given.x.front());
    curve_fit<double, polynomial<d>> fit({}, given.x, given.y, {.executor = executor});
    std::vector<double> b(static_cast<std::size_t>(d + 1), 0.0);
    const least_squares_report report = fit.solve(b);
    CHECK(report.converged());
    CHECK(report.iterations() < 100);
    CHECK(static_cast<double>(given.sum_of_squares(b.data()) / given.least) < 1 + 1e-6);
    const std::vector<double> errors = report.standard_errors();
    REQUIRE(errors.size() == b.size());
    for (std::size_t j = 0; j < b.size(); ++j) {
      CHECK(b[j] == Approx(static_cast<double>(given.b[static_cast<int>(j)])).epsilon(given.tolerance()));
      CHECK(errors[j] == Approx(static_cast<double>(given.errors[static_cast<int>(j)])).epsilon(given.tolerance()));
    }
  }
}

}  // namespace

TEST_CASE("polynomials far from 0 are fitted with the digits of QR, standard errors included", "[least_squares]") {
  check_polynomial(polynomial_data<2>(2460000.5, 1, 31));  // the days of a month
  check_polynomial(polynomial_data<3>(1e4, 0.5, 21));
  check_polynomial(polynomial_data<3>(1990, 1, 31));
  check_polynomial(polynomial_data<3>(1990, 0.01, 3001));  // more than a block
}

TEST_CASE("columns that are the same to working precision have no standard errors", "[least_squares]") {
  // The condition of J is some 1e16 here.
  const polynomial_data<3> given(2460000.5, 1, 31);
  for (const std::string& executor : executors()) {
    INFO(executor);
    curve_fit<double, polynomial<3>> fit({}, given.x, given.y, {.executor = executor});
    std::vector<double> b(4, 0.0);
    CHECK(fit.solve(b).covariance.empty());
  }
}

TEST_CASE("a dependent column in the midst hides no direction of those behind it", "[least_squares][sanitizer]") {
  std::vector<double> x, y;
  matrix J(40, 2);
  vector right(40);
  for (int i = 0; i < 40; ++i) {
    x.push_back(0.1 * i + 1);
    y.push_back(2 * x.back() - 3 * x.back() * x.back() + noise(i));
    J.row(i) << x.back(), x.back() * x.back();
    right[i] = y.back();
  }
  const vector expected = J.householderQr().solve(right);
  for (const std::string& executor : executors()) {
    for (const double scale : {1e-200, 1.0, 1e200}) {
      INFO(executor << ", " << scale);
      std::vector<double> scaled = y;
      for (double& value : scaled) value *= scale;
      curve_fit<double, twice_the_slope> fit({}, x, scaled, {.executor = executor});
      std::vector<double> b{5 * scale, -1 * scale, scale};
      const least_squares_report report = fit.solve(b);
      CHECK(report.converged());
      CHECK(report.iterations() < 100);
      CHECK((b[0] + b[1]) / scale == Approx(static_cast<double>(expected[0])).epsilon(1e5 * epsilon));
      CHECK(b[2] / scale == Approx(static_cast<double>(expected[1])).epsilon(1e5 * epsilon));
      CHECK(report.covariance.empty());
    }
  }
}

TEMPLATE_TEST_CASE("data of any scale are fitted as those of scale 1 are", "[least_squares]", float, double) {
  using T = TestType;
  constexpr double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::vector<int> of_double{-300, -250, -200, -160, -120, 120, 150, 160, 200, 250, 300},
      of_float{-30, -19, 19, 30};
  std::vector<double> x;
  for (int i = 0; i < 40; ++i) x.push_back(0.1 * i - 1);
  for (const std::string& executor : executors()) {
    for (const double relative_noise : {0.01, 0.0}) {
      const auto fit = [&](double of_y, double of_x, std::vector<T>& b) {
        std::vector<double> times, y;
        for (int i = 0; i < 40; ++i) {
          const double at = x[static_cast<std::size_t>(i)];
          times.push_back(at * of_x);
          y.push_back(of_y * (2.5 * std::exp(-1.3 * at) + relative_noise * noise(i)));
        }
        b = {static_cast<T>(of_y), static_cast<T>(0.5 / of_x)};
        return curve_fit<T, decay>({}, times, y, {.executor = executor}).solve(b);
      };
      std::vector<T> expected;
      const least_squares_report at_one = fit(1, 1, expected);
      REQUIRE(at_one.converged());
      for (const int power : sizeof(T) == 4 ? of_float : of_double) {
        for (const bool of_data : {true, false}) {
          const double scale = std::pow(10.0, power), of_y = of_data ? scale : 1, of_x = of_data ? 1 : scale;
          if (!of_data && std::abs(power) > 250) continue;  // x b1 would be rounded to multiples of a denormal number
          std::vector<T> b;
          const least_squares_report report = fit(of_y, of_x, b);
          INFO(executor << ", " << (of_data ? "y" : "x") << " times 1e" << power << ", noise of " << relative_noise
                        << ": " << report.message());
          CHECK(report.converged());
          // Both stop where rounding hides f: a root of epsilon of the noise away.
          const double tolerance = 1000 * eps + (relative_noise > 0 ? 1e-2 * std::sqrt(eps) : 0);
          CHECK(static_cast<double>(b[0]) / of_y == Approx(static_cast<double>(expected[0])).epsilon(tolerance));
          CHECK(static_cast<double>(b[1]) * of_x == Approx(static_cast<double>(expected[1])).epsilon(tolerance));
          if (relative_noise == 0) continue;
          CHECK(report.residual_norm() / of_y == Approx(at_one.residual_norm()).epsilon(1000 * eps));
          REQUIRE(report.covariance.size() == 4);
          CHECK(report.standard_errors()[0] / of_y == Approx(at_one.standard_errors()[0]).epsilon(std::sqrt(eps)));
          CHECK(report.standard_errors()[1] * of_x == Approx(at_one.standard_errors()[1]).epsilon(std::sqrt(eps)));
        }
      }
    }
  }
}

TEST_CASE("a sum of an exponential and a line is found from ones", "[least_squares]") {
  for (const double span : {1.0, 2.0, 5.0, 10.0}) {
    std::vector<double> x, y;
    for (int i = 0; i <= 20; ++i) {
      x.push_back(span * i / 20);
      y.push_back(3 * std::exp(-2 * x.back()) + 4 + 5 * x.back());
    }
    for (const std::string& executor : executors()) {
      INFO(executor << ", from 0 to " << span);
      curve_fit<double, decay_on_a_slope> fit({}, x, y, {.executor = executor});
      std::vector<double> b{1, 1, 1, 1};
      const least_squares_report report = fit.solve(b);
      CHECK(report.converged());
      CHECK(report.iterations() < 50);  // MINPACK's lmder takes 16 to 27 evaluations
      const double truth[] = {3, 2, 4, 5};
      for (std::size_t j = 0; j < 4; ++j) CHECK(b[j] == Approx(truth[j]).epsilon(1e5 * epsilon));
    }
  }
}

TEST_CASE("a fit's message tells the norm of its residuals", "[least_squares]") {
  const polynomial_data<3> given(1990, 1, 31);
  curve_fit<double, polynomial<3>> fit({}, given.x, given.y, {.executor = "host"});
  std::vector<double> b(4, 0.0);
  const std::string message = fit.solve(b).message();
  CHECK_THAT(message, contains("converged: "));
  CHECK_THAT(message, contains("residual norm 0.2"));
  CHECK_THAT(message, !contains("inf"));
}

TEST_CASE("a batch fits cubics far from 0 and those of any scale", "[least_squares_batch]") {
  constexpr int sets = 40, points = 31, n = 4;
  std::vector<polynomial_data<3>> given;
  for (int k = 0; k < sets; ++k) given.emplace_back(1990, 1, points, 100 * k);
  const auto scale_of = [](int k) { return std::pow(10.0, 7 * (k - sets / 2)); };
  using problem = whilst::curve_residuals_of_many<double, polynomial<3>>;
  whilst::buffer<double> times, responses;
  const auto on = [&](whilst::place where) {
    std::vector<double> y;
    for (int k = 0; k < sets; ++k)
      for (const double value : given[static_cast<std::size_t>(k)].y) y.push_back(scale_of(k) * value);
    times = whilst::buffer<double>(where, points);
    responses = whilst::buffer<double>(where, points * sets);
    times.upload(given[0].x.data());
    responses.upload(y.data());
    return problem{{}, points, times.data(), responses.data(), 1, points};
  };
  const bool has_gpu = executors().size() > 1;
  for (const int lanes : has_gpu ? std::vector<int>{1, 4, 32, 64} : std::vector<int>{0}) {
    INFO(lanes << " lanes");
    whilst::least_squares_batch<double, problem> batch(on, sets,
                                                       {.executor = has_gpu ? "batch" : "host", .lanes = lanes});
    std::vector<double> b(sets * n, 0.0);
    const whilst::least_squares_batch_report report = batch.solve(b);
    CHECK(report.all_converged());
    for (int k = 0; k < sets; ++k) {
      const polynomial_data<3>& one = given[static_cast<std::size_t>(k)];
      for (int j = 0; j < n; ++j)
        REQUIRE(b[static_cast<std::size_t>(n * k + j)] / scale_of(k) ==
                Approx(static_cast<double>(one.b[j])).epsilon(one.tolerance()));
    }
  }
}

}  // namespace whilst_test
