// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Thousands of random fits of any scale, from wild starts, some of them singular: none may say that it converged where
// long double shows that it did not.

#include <Eigen/QR>

#include <algorithm>
#include <random>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst_test {

namespace {

constexpr int n = 3, points = 8, kinds = 8;

/// One of some curves of three parameters, at points t: a residual.
template <class T>
struct random_fit {
  static constexpr int unknowns = n;
  int kind;
  const T *t, *y;

  WHILST_HD whilst::index_type count() const { return points; }
  template <class S>
  WHILST_HD S operator()(whilst::index_type i, const S* b) const {
    using std::exp, std::log, std::sin;
    const T at = t[i];
    switch (kind) {
      case 0:
        return b[0] + b[1] * at + b[2] * (at * at) - y[i];
      case 1:
        return b[0] * exp(b[1] * (-at)) + b[2] - y[i];
      case 2:
        return b[0] * at / (1 + b[1] * at) + b[2] - y[i];
      case 3:
        return (b[0] + b[1]) * at + b[2] * (at * at) - y[i];  // singular
      case 4:
        return b[0] * b[1] * at + b[2] - y[i];  // singular
      case 5:
        return b[0] * sin(b[1] * at) + b[2] * at - y[i];
      case 6:
        return b[0] * at + b[1] * (at + static_cast<T>(1e-9) * (at * at)) + b[2] - y[i];  // nearly singular
      default:
        return b[0] * log(b[1] + at) + b[2] * 0 - y[i];  // singular, and finite on one side alone
    }
  }
};
template <class T>
struct random_fits {
  whilst::index_type fits;
  const T *t, *y;
  WHILST_HD whilst::index_type count() const { return points; }
  WHILST_HD random_fit<T> of_problem(whilst::index_type k) const {
    return {static_cast<int>(k % kinds), t + points * k, y + points * k};
  }
};

template <class T>
struct made_fits {
  std::vector<T> t, y, start;

  made_fits(int fits, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    // Of one fit in three of any scale, data alone or times as well.
    const double largest = sizeof(T) == 4 ? 24 : 300;
    for (int k = 0; k < fits; ++k) {
      const double of_y = k % 3 == 0 ? std::pow(10.0, largest * uniform(generator)) : 1;
      const double of_t = k % 9 == 0 ? std::pow(10.0, largest / 2 * uniform(generator)) : 1;
      const double spread = 3 * uniform(generator);
      const double truth = uniform(generator), noise = k % 5 == 0 ? 0 : 0.1;
      for (int i = 0; i < points; ++i) {
        t.push_back(static_cast<T>(of_t * (0.5 + 0.3 * i)));
        y.push_back(static_cast<T>(of_y * (truth + 0.2 * i + noise * uniform(generator))));
      }
      if (k % 97 == 0) y.back() = std::numeric_limits<T>::quiet_NaN();
      for (int j = 0; j < n; ++j)
        start.push_back(static_cast<T>((k % 2 ? 1 : of_y) * uniform(generator) * std::pow(10.0, spread)));
    }
  }
};

using matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// What is known in long double of a point.
template <class T>
struct checked_point {
  bool finite = true;
  bool in_range = true;     ///< no derivative is so small that T has it with few digits
  long double size = 0;     ///< of what residuals are differences of
  long double r = 0;        ///< the length of the residuals
  long double largest = 0;  ///< of the projections of r on a column that is not held
  long double inside = 0;   ///< the length of what is in the span of these columns

  checked_point(const random_fit<T>& fit, const T* x, double lower, double upper) {
    using dual = whilst::dual<long double, n>;
    dual b[n];
    std::vector<long double> t, y;
    for (int i = 0; i < points; ++i) t.push_back(fit.t[i]), y.push_back(fit.y[i]);
    for (int j = 0; j < n; ++j) {
      finite &= std::isfinite(x[j]);
      b[j] = dual::variable(x[j], j);
    }
    const random_fit<long double> exact{fit.kind, t.data(), y.data()};
    matrix J(points, n);
    vector residuals(points);
    for (int i = 0; i < points; ++i) {
      const dual at = exact(i, b);
      residuals[i] = at.value;
      for (int j = 0; j < n; ++j) {
        J(i, j) = at.gradient[j];
        size += std::pow(at.gradient[j] * x[j], 2.0L);
      }
      size += y[static_cast<std::size_t>(i)] * y[static_cast<std::size_t>(i)];
    }
    size = std::sqrt(size);
    r = residuals.norm();
    finite &= std::isfinite(r) && J.allFinite();
    if (!finite) return;
    for (int j = 0; j < n; ++j) {
      const long double length = J.col(j).norm(), along = length > 0 ? J.col(j).dot(residuals) / length : 0;
      const bool held = (x[j] <= lower && along > 0) || (x[j] >= upper && along < 0);
      in_range &= length == 0 || length > std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
      if (held || !(length > 0)) {
        J.col(j).setZero();
      } else {
        largest = std::max(largest, std::abs(along));
        J.col(j) /= length;
      }
    }
    Eigen::ColPivHouseholderQR<matrix> qr(J);
    qr.setThreshold(1e3L * std::numeric_limits<T>::epsilon());
    inside = (qr.householderQ().adjoint() * residuals).head(qr.rank()).norm();
  }
};

template <class T>
void check_honesty(int fits, unsigned seed, double bound) {
  const made_fits<T> made(fits, seed);
  whilst::buffer<T> t, y;
  const bool bounded = std::isfinite(bound);
  const std::vector<double> lower(bounded ? n : 0, -bound), upper(bounded ? n : 0, bound);
  const whilst::least_squares_tolerances tolerances;
  const bool has_gpu = executors().size() > 1;
  for (const std::string executor : {"host", "batch"}) {
    if (executor == "batch" && !has_gpu) continue;
    whilst::least_squares_batch<T, random_fits<T>> batch(
        [&](whilst::place where) {
          t = whilst::buffer<T>(where, points * fits);
          y = whilst::buffer<T>(where, points * fits);
          t.upload(made.t.data());
          y.upload(made.y.data());
          return random_fits<T>{fits, t.data(), y.data()};
        },
        fits, {.tolerances = tolerances, .lower = lower, .upper = upper, .max_iterations = 200, .executor = executor});
    std::vector<T> x = made.start;
    for (T& value : x)
      if (bounded) value = std::clamp(value, static_cast<T>(-bound), static_cast<T>(bound));
    const whilst::least_squares_batch_report report = batch.solve(x);
    const random_fits<T> given{fits, made.t.data(), made.y.data()};
    int converged = 0, dishonest = 0, out_of_range = 0, lost = 0;
    std::string first;
    const auto describe = [&](int k) {
      const T* const at = x.data() + n * k;
      std::ostringstream text;
      text << "fit " << k << " of kind " << k % kinds << ", " << name(report[k].reason) << " after "
           << report[k].iterations << " at " << at[0] << " " << at[1] << " " << at[2];
      return text.str();
    };
    for (int k = 0; k < fits; ++k) {
      const T* const at = x.data() + n * k;
      // Whatever the reason: a start that is finite, as all are, leads to a point that is.
      if (!std::all_of(at, at + n, [](T value) { return std::isfinite(value); }) && ++lost <= 8)
        first += describe(k) + "\n";
      if (!report[k].converged()) continue;
      ++converged;
      const checked_point<T> found(given.of_problem(k), at, -bound, bound);
      // r is known to some epsilon of what it is the difference of, sines and logarithms at their arguments included.
      constexpr long double epsilon = std::numeric_limits<T>::epsilon();
      const long double rounding = 100 * epsilon * found.size;
      bool honest = found.finite && found.largest <= tolerances.gradient * found.r + rounding;
      // Of a function the end is where no step promises more than rounding does to it, neither one of the whole model
      // nor, where J is singular and the model no good, one along a column.
      const long double hidden = rounding * (found.r + rounding) + 100 * epsilon * found.r * found.r;
      if (report[k].reason == whilst::reason::converged_function)
        honest = found.finite && (found.inside * found.inside <= hidden || found.largest * found.largest <= hidden);
      for (int j = 0; j < n && bounded; ++j) honest &= std::abs(static_cast<double>(at[j])) <= bound;
      if (!honest && !found.in_range) ++out_of_range;
      if (honest || !found.in_range) continue;
      if (++dishonest <= 8) {
        std::ostringstream text;
        text << describe(k) << ": r " << found.r << ", its projection " << found.largest << ", inside " << found.inside
             << ", rounding " << rounding;
        first += text.str() + "\n";
      }
    }
    INFO(executor << ", " << converged << " of " << fits << " converged, dishonest " << dishonest << ", not finite "
                  << lost << "; the first: " << first);
    CHECK(lost == 0);
    CHECK(dishonest == 0);
    CHECK(converged > fits / 2);
    CHECK(out_of_range < fits / 100);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("no fit says that it converged where it did not", "[least_squares][least_squares_batch]", float,
                   double) {
  check_honesty<TestType>(1600, 1, HUGE_VAL);
  check_honesty<TestType>(1000, 2, 2);
}

}  // namespace whilst_test
