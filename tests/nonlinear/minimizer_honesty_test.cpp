// Some thousand small random minimizations, most of them unkind: whatever a minimizer claims must be true of its x, as
// far as another arithmetic can tell.

#include <algorithm>
#include <cmath>
#include <Eigen/Eigenvalues>
#include <random>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/dual.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::reason;

namespace {

/// A function of a few unknowns, x_i about 1, times `scale`.
struct random_function {
  enum kind : int { quadratic, quartic, exponential, conic, waves, walled, kinds };
  static constexpr int most = 5;
  kind what = quadratic;
  int n = 1;
  double scale = 1, offset = 0, matrix[most][most] = {}, centre[most] = {}, pull[most] = {};

  template <class S>
  S value(const S* x) const {
    using std::exp, std::sqrt, std::cos;
    S sum = 0.0;
    for (int i = 0; i < n; ++i) {
      const S d = x[i] - centre[i];
      switch (what) {
        case quartic:
          sum += (d * d) * (d * d);
          break;
        case exponential:  // least at infinity
          sum += exp(S(-d));
          break;
        case conic:
          sum += sqrt(S(1.0 + d * d)) + pull[i] * d;
          break;
        case waves:  // falls for ever
          sum += x[i] + 0.5 * cos(S(2.0 * x[i] - x[0]));
          break;
        default:
          for (int j = 0; j < n; ++j) sum += matrix[i][j] * (d * (x[j] - centre[j])) / 2.0;
          sum += pull[i] * d;
      }
    }
    if (what == walled && x[0] > centre[0] + 0.25) sum += S(std::nan(""));
    return scale * (sum + offset);
  }
  /// Whether it certainly falls for ever: along a direction of negative curvature, or of none and a slope.
  bool falls_for_ever() const {
    if (what == waves) return true;
    if (what == conic) return std::any_of(pull, pull + n, [](double slope) { return std::abs(slope) > 1.001; });
    if (what != quadratic) return false;
    const Eigen::MatrixXd A = Eigen::Map<const Eigen::Matrix<double, most, most>>(&matrix[0][0]).topLeftCorner(n, n);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> of(A);
    for (int k = 0; k < n; ++k) {
      const double along = of.eigenvectors().col(k).dot(Eigen::Map<const Eigen::VectorXd>(pull, n));
      if (of.eigenvalues()[k] < -1e-6 || (of.eigenvalues()[k] < 1e-10 && std::abs(along) > 1e-3)) return true;
    }
    return false;
  }
  /// A bound of what the terms of f are at x, for what rounding may do to it, and of those of its gradient.
  long double size(const std::vector<long double>& x) const {
    long double sum = std::abs(offset);
    for (int i = 0; i < n; ++i) {
      const long double d = std::abs(x[i]) + std::abs(centre[i]);
      sum += 1 + (1 + std::abs(pull[i])) * d +
             (what == quartic       ? d * d * d * d
              : what == exponential ? std::exp(d)
                                    : 0);
      for (int j = 0; j < n; ++j) sum += std::abs(matrix[i][j]) * d * (std::abs(x[j]) + std::abs(centre[j]));
    }
    return std::abs(static_cast<long double>(scale)) * sum;
  }
  long double size_of_gradient(const std::vector<long double>& x) const {
    long double sum = 0;
    for (int i = 0; i < n; ++i) {
      const long double d = std::abs(x[i]) + std::abs(centre[i]);
      sum += 1 + std::abs(pull[i]) + (what == quartic ? 4 * d * d * d : what == exponential ? std::exp(d) : 0);
      for (int j = 0; j < n; ++j) sum += 2 * std::abs(matrix[i][j]) * d;
    }
    return std::abs(static_cast<long double>(scale)) * sum;
  }
};

/// For the host: derivatives by duals, all of them at once.
template <class T>
class random_objective final : public whilst::objective<T> {
 public:
  static constexpr int K = random_function::most;
  explicit random_objective(const random_function& f) : f_(f), n_(f.n), g_(f.n), H_(f.n * f.n), Hv_(f.n), at_(f.n) {
    for (int i = 0; i <= f.n; ++i) rows_.push_back(i * f.n);
    for (int k = 0; k < f.n * f.n; ++k) columns_.push_back(k % f.n);
  }
  whilst::place where() const override { return whilst::place::host(); }
  index_type unknowns() const override { return n_; }
  whilst::evaluated<T> evaluate(whilst::recorder& run, const T* x) const override {
    run.call("f and g", [this, x](CUstream_st*) {
      whilst::dual<T, K> at[K];
      for (int k = 0; k < K; ++k) at[k] = k < n_ ? whilst::dual<T, K>::variable(x[k], k) : whilst::dual<T, K>(0);
      const auto value = f_.value(static_cast<const whilst::dual<T, K>*>(at));
      value_ = value.value;
      for (int k = 0; k < n_; ++k) g_[k] = value.gradient[k];
    });
    return {&value_, 1, {g_.data()}};
  }
  bool has_values_along() const override { return true; }
  void values_along(whilst::recorder& run, const T* x, const T* d, const double* lengths,
                    double* values) const override {
    run.call("f along d", [this, x, d, lengths, values](CUstream_st*) {
      for (int l = 0; l < whilst::objective<T>::points_of_line; ++l) {
        T at[K] = {};
        for (int k = 0; k < n_; ++k) at[k] = x[k] + static_cast<T>(lengths[l]) * d[k];
        values[l] = f_.value(static_cast<const T*>(at));
      }
    });
  }
  bool has_hessian() const override { return true; }
  whilst::hessian_view<T> hessian() const override { return {n_, n_ * n_, rows_.data(), columns_.data(), H_.data()}; }
  void make_hessian(whilst::recorder& run, const T* x, const int* wanted, bool positive) const override {
    run.call("H", [this, x, wanted, positive](CUstream_st*) {
      using number = whilst::second_order_dual<T, K>;
      if (!*wanted) return;
      number at[K];
      for (int k = 0; k < K; ++k) at[k] = k < n_ ? number::variable(x[k], k) : number(0);
      const number value = f_.value(static_cast<const number*>(at));
      for (int i = 0, k = 0; i < K; ++i) {
        for (int j = i; j < K; ++j, ++k) {
          if (i >= n_ || j >= n_) continue;
          // A positive semi-definite matrix with the diagonal's sizes.
          const T entry = !positive ? value.hessian[k] : i == j ? std::abs(value.hessian[k]) : T(0);
          H_[i * n_ + j] = H_[j * n_ + i] = entry;
        }
      }
    });
  }

 private:
  random_function f_;
  int n_;
  mutable double value_ = 0;
  mutable std::vector<T> g_, H_, Hv_, at_;
  std::vector<std::int32_t> rows_, columns_;
};

using numbers = std::mt19937;
double uniform(numbers& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}
int one_of(numbers& random, int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }

template <class T>
random_function draw_function(numbers& random) {
  random_function f;
  f.n = 1 + one_of(random, random_function::most);
  f.what = static_cast<random_function::kind>(one_of(random, random_function::kinds));
  const double decades = sizeof(T) == 4 ? 30 : 300;
  f.scale = std::pow(10.0, one_of(random, 2) ? uniform(random, -decades, decades) : uniform(random, -3, 3));
  if (one_of(random, 8) == 0 && std::abs(std::log10(f.scale)) < decades / 2) f.offset = uniform(random, -1e8, 1e8);
  // A sum of squares of a few combinations: of rank 0 to n, and of n + 1 rarely singular.
  const int rank = one_of(random, f.n + 2);
  for (int r = 0; r < rank; ++r) {
    double of[random_function::most];
    for (int i = 0; i < f.n; ++i) of[i] = std::round(uniform(random, -4, 4));
    for (int i = 0; i < f.n; ++i)
      for (int j = 0; j < f.n; ++j) f.matrix[i][j] += of[i] * of[j];
  }
  for (int i = 0; i < f.n; ++i) f.centre[i] = uniform(random, -2, 2);
  const bool is_quadratic = f.what == random_function::quadratic || f.what == random_function::walled;
  const int turn = is_quadratic ? one_of(random, 3) : f.what == random_function::conic ? 1 : 0;
  if (turn == 1)  // conic: of a slope below 1 or above
    for (int i = 0; i < f.n; ++i) f.pull[i] = uniform(random, -1.5, 1.5);
  if (turn == 2) f.matrix[0][0] -= 50;
  return f;
}

template <class T>
whilst::minimizer_options draw_options(numbers& random) {
  whilst::minimizer_options o;
  o.method = all_methods[static_cast<std::size_t>(one_of(random, static_cast<int>(all_methods.size())))];
  o.line_search = all_searches[static_cast<std::size_t>(one_of(random, static_cast<int>(all_searches.size())))];
  const double gradients[] = {0, 1e-8, 1e-200, 1e-300, 1e-3, 1e200};
  o.tolerances.gradient = gradients[one_of(random, 6)];
  o.tolerances.relative_gradient = one_of(random, 2) ? std::pow(10.0, uniform(random, -12, -1)) : 0;
  if (one_of(random, 4) == 0) o.tolerances.step = std::pow(10.0, uniform(random, -16, -3));
  if (one_of(random, 4) == 0) o.tolerances.function = std::pow(10.0, uniform(random, -16, -3));
  o.max_iterations = 100;
  o.max_evaluations = 400;
  o.executor = "host";
  return o;
}

template <class T>
struct exact {
  long double value, gradient_norm, gx, x_norm;
  bool finite = true;

  exact(const random_function& f, const std::vector<T>& x) {
    constexpr int K = random_function::most;
    using number = whilst::dual<long double, K>;
    number at[K];
    for (int k = 0; k < K; ++k) at[k] = k < f.n ? number::variable(x[static_cast<std::size_t>(k)], k) : number(0.0L);
    const number of = f.value(static_cast<const number*>(at));
    value = of.value;
    long double gg = 0, xx = 0;
    gx = 0;
    for (int k = 0; k < f.n; ++k) {
      const long double xk = x[static_cast<std::size_t>(k)];
      gg += of.gradient[k] * of.gradient[k];
      gx += of.gradient[k] * xk;
      xx += xk * xk;
      finite = finite && std::isfinite(xk);
    }
    gradient_norm = std::sqrt(gg);
    x_norm = std::sqrt(xx);
  }
};

template <class T>
void check_one(unsigned seed) {
  numbers random(seed);
  const random_function f = draw_function<T>(random);
  const whilst::minimizer_options options = draw_options<T>(random);
  std::vector<T> x;
  for (int i = 0; i < f.n; ++i) x.push_back(static_cast<T>(uniform(random, -3, 3)));
  const std::vector<T> start = x;
  random_objective<T> objective(f);
  whilst::minimizer<T> minimizer(objective, options);
  const whilst::minimize_report r = minimizer.solve(x);

  CAPTURE(seed, options.method, options.line_search, static_cast<int>(f.what), f.n, f.scale, f.offset,
          options.tolerances.gradient, options.tolerances.relative_gradient, options.tolerances.step,
          options.tolerances.function, r.message(), static_cast<int>(sizeof(T)));
  const exact<T> before(f, start), now(f, x);
  // Whatever the reason: a start that is finite leads to a point that is.
  CHECK(now.finite);
  const bool starts = std::isfinite(static_cast<T>(before.value)) && r.reason() != reason::nan_or_infinity;
  // A rounding of T for each operation on the largest terms.
  constexpr long double roundings = 100 * static_cast<long double>(std::numeric_limits<T>::epsilon());
  constexpr long double smallest = 100 * static_cast<long double>(std::numeric_limits<T>::denorm_min());
  const std::vector<long double> wide(x.begin(), x.end());
  const long double of_f =
      std::max({std::abs(before.value), std::abs(now.value), std::abs(static_cast<long double>(f.scale) * f.offset)});
  if (starts) {
    // The paper's slack of approximate-wolfe is a millionth a step.
    const long double slack = options.line_search == "approximate-wolfe" ? 1e-4L : 100 * roundings;
    CHECK(now.value <= before.value + slack * of_f + roundings * f.size(wide) + smallest);
  }
  if (!r.converged()) return;
  const long double blur = roundings * f.size_of_gradient(wide) + smallest;
  const whilst::descent_tolerances& t = options.tolerances;
  switch (r.reason()) {
    case reason::converged_gradient: {
      const long double asked =
          std::max(static_cast<long double>(t.gradient), t.relative_gradient * before.gradient_norm);
      CHECK(now.gradient_norm <= asked * (1 + roundings) + blur);
      break;
    }
    case reason::converged_step:
      REQUIRE(r.records.size() > 1);
      CHECK(t.step > 0);
      CHECK(r.records.back().step_length <= t.step * now.x_norm * (1 + roundings));
      break;
    case reason::converged_function: {
      const std::size_t records = r.records.size();
      const bool as_asked = records > 1 && t.function > 0 &&
                            std::abs(r.records[records - 2].value - r.records[records - 1].value) <=
                                t.function * std::abs(r.records[records - 1].value) * (1 + 1e-12);
      if (as_asked) break;
      // Beside a large constant nothing can be seen.
      if (f.offset == 0) CHECK_FALSE(f.falls_for_ever());
      // Sizes of late may be larger than f.
      CHECK(std::abs(now.gx) <= 0.5L * of_f * (1 + roundings) + blur * now.x_norm);
      break;
    }
    default:
      FAIL("a reason that minimizers do not have");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("what random minimizations claim is true", "[minimizer][honesty]", float, double) {
  constexpr unsigned seeds = 2500;
  for (unsigned seed = 1; seed <= seeds; ++seed) check_one<TestType>(seed);
}

namespace {

/// Two unknowns, a matrix and a centre that are told, and gradients about as large as `scale`.
random_function scaled_quadratic(double scale) {
  random_function f;
  f.n = 2;
  f.scale = scale;
  f.matrix[0][0] = 2;
  f.matrix[1][1] = 3;
  f.matrix[0][1] = f.matrix[1][0] = 1;
  f.centre[0] = 1;
  f.centre[1] = -2;
  return f;
}

/// Minimizes that, and computes in long double what the report claims.
void check_minimum(const std::string& executor, const std::string& method, const std::string& search, double scale) {
  constexpr double asked = 1e-6;
  own_minimizer<double> minimizer([scale](whilst::place where) { return make_scaled_quadratic(where, scale); },
                                  {.method = method,
                                   .line_search = search,
                                   .tolerances = {.gradient = 0, .relative_gradient = asked},
                                   .max_iterations = 200,
                                   .executor = executor});
  const random_function f = scaled_quadratic(scale);
  std::vector<double> x{3, 3};
  const exact<double> before(f, x);
  const whilst::minimize_report r = minimizer.solve(x);
  const exact<double> now(f, x);
  CAPTURE(executor, method, search, scale, r.message());
  CHECK(r.reason() == reason::converged_gradient);
  constexpr long double roundings = 10 * std::numeric_limits<double>::epsilon();
  CHECK(now.gradient_norm <= asked * before.gradient_norm * (1 + roundings));
  CHECK(std::abs(r.rhs_norm() / before.gradient_norm - 1) <= roundings);
  CHECK(std::abs(r.residual_norm() - now.gradient_norm) <= roundings * before.gradient_norm);
  CHECK(std::abs(r.value - now.value) <= roundings * before.value);
  REQUIRE(!r.records.empty());
  CHECK(r.records.front().gradient_norm == r.rhs_norm());
}

}  // namespace

TEST_CASE("gradients from 1e-300 to 1e300 lead to the minimum", "[minimizer][honesty]") {
  const std::vector<double> all{1e-300, 1e-250, 1e-170, 1e-120, 1e-80, 1e80, 1e120, 1e160, 1e250, 1e300};
  // Fewer: a GPU's programs take longer to make.
  const std::vector<double> on_gpu{1e-300, 1e-170, 1e160, 1e300};
  for (const std::string& executor : recorded_executors())
    for (const std::string& method : all_methods)
      for (const std::string& search : all_searches)
        for (const double scale : executor == "host" ? all : on_gpu) check_minimum(executor, method, search, scale);
}

TEST_CASE("a minimization that ends at its start reports it at every scale", "[minimizer][honesty]") {
  for (const std::string& method : all_methods) {
    // The start would be evaluated again, multiplied, but for the deadline. The squares of these gradients are numbers.
    for (const double scale : {1e-140, 1e-80, 1.0, 1e80, 1e140}) {
      const random_function f = scaled_quadratic(scale);
      random_objective<double> objective(f);
      whilst::minimizer<double> minimizer(
          objective, {.method = method, .tolerances = {.gradient = 0}, .deadline = 1e-9, .executor = "host"});
      std::vector<double> x{3, 3};
      const exact<double> start(f, x);
      const whilst::minimize_report r = minimizer.solve(x);
      CAPTURE(method, scale, r.message());
      CHECK(r.reason() == reason::deadline);
      CHECK(r.evaluations == 1);
      CHECK((x == std::vector<double>{3, 3}));
      constexpr long double roundings = 10 * std::numeric_limits<double>::epsilon();
      CHECK(std::abs(r.value / start.value - 1) <= roundings);
      CHECK(std::abs(r.residual_norm() / start.gradient_norm - 1) <= roundings);
      CHECK(r.rhs_norm() == r.residual_norm());
    }
  }
}

}  // namespace whilst_test
