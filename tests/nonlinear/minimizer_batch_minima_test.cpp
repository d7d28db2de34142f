// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Minima that are known by other means, found by batches.

#include <Eigen/Dense>

#include "kernels/problems/test_functions/test_functions.hpp"
#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_batch_problems.hpp"
#include "whilst/nonlinear/minimize/gradient_descent.hpp"
#include "whilst/nonlinear/minimize/nonlinear_conjugate_gradient.hpp"

namespace whilst_test {

using whilst::minimization_outcome;
using whilst::minimizer_batch;
using whilst::minimizer_batch_report;

namespace {

/// x' A x / 2 - b' x with A = C + 4, C_ij = cos(k + i + j), of three unknowns: A's eigenvalues are between 1 and 7.
struct quadratic {
  static constexpr int unknowns = 3;
  whilst::index_type k;
  WHILST_HD static double matrix(whilst::index_type k, int i, int j) {
    return cos(static_cast<double>(k + i + j)) + (i == j ? 4 : 0);
  }
  WHILST_HD static double right_hand_side(whilst::index_type k, int i) { return sin(static_cast<double>(3 * k + i)); }
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    S f = 0.0;
    for (int i = 0; i < unknowns; ++i) {
      for (int j = 0; j < unknowns; ++j) f += matrix(k, i, j) / 2 * (x[i] * x[j]);
      f -= right_hand_side(k, i) * x[i];
    }
    return f;
  }
};
struct quadratics {
  WHILST_HD quadratic of_problem(whilst::index_type k) const { return {k}; }
};

/// A whole function of More, Garbow and Hillstrom.
template <class Residuals>
struct squares {
  static constexpr int unknowns = static_cast<int>(Residuals::n);
  Residuals residuals;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    S f = 0.0;
    for (whilst::index_type i = 0; i < residuals.count(); ++i) {
      const S r = residuals.residual(i, x);
      f += r * r;
    }
    return f;
  }
};

template <class Residuals>
void check_published_minimum(double least, double relative) {
  using problem = all_alike<squares<Residuals>>;
  constexpr int n = squares<Residuals>::unknowns;
  const whilst::index_type problems = 65;
  std::vector<double> start;
  // From larger unknowns Newton's method follows Beale's function to minus infinity, where its infimum is
  // 0.452.
  for (whilst::index_type k = 0; k < problems; ++k)
    for (int j = 0; j < n; ++j)
      start.push_back(Residuals{}.start(j) * (1 - 0.01 * std::abs(noise(k * n + j)) * (k > 0)));
  for (const std::string method : {"bfgs", "newton"}) {
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : executor == "host" ? std::vector<int>{0} : std::vector<int>{1, 4, 64}) {
        INFO(Residuals::name << ", " << method << ", " << executor << ", " << lanes << " lanes");
        minimizer_batch<double, problem, whilst::method_list<whilst::bfgs, whilst::newton>> batch(
            [](whilst::place) { return problem{}; }, problems,
            {.method = method,
             .tolerances = {.gradient = 1e-9, .relative_gradient = 1e-12},
             .executor = executor,
             .lanes = lanes});
        std::vector<double> x = start;
        const minimizer_batch_report report = batch.solve(x);
        INFO(report.message());
        CHECK(report.all_converged());
        for (const minimization_outcome& one : report)
          REQUIRE(one.value == Approx(least).epsilon(relative).margin(1e-12));
      }
    }
  }
}

}  // namespace

TEST_CASE("batches find the minima of More, Garbow and Hillstrom", "[minimizer_batch]") {
  namespace problems = whilst::test_functions;
  // Values are flat there: they are right to the square of the gradient's tolerance, or to the paper's digits.
  check_published_minimum<problems::beale>(0, 0);
  check_published_minimum<problems::powell_singular>(0, 0);
  check_published_minimum<problems::helical_valley>(0, 0);
  check_published_minimum<problems::wood>(0, 0);
  check_published_minimum<problems::brown_and_dennis>(85822.2, 1e-6);
}

TEST_CASE("quadratic functions have the minima that a factorization finds", "[minimizer_batch][sanitizer]") {
  const whilst::index_type problems = 10'000;  // more than threads of a small GPU
  using all_methods = whilst::method_list<whilst::bfgs, whilst::newton, whilst::gradient_descent,
                                          whilst::conjugate_gradient_pr, whilst::conjugate_gradient_hz>;
  for (const std::string method :
       {"bfgs", "newton", "gradient-descent", "conjugate-gradient-pr", "conjugate-gradient-hz"}) {
    for (const std::string search : {"strong-wolfe", "approximate-wolfe", "backtracking"}) {
      // Conjugate gradients need lengths that satisfy the curvature condition.
      if (method.starts_with("conjugate") && search == "backtracking") continue;
      for (const std::string& executor : batch_executors()) {
        INFO(method << ", " << search << ", " << executor);
        const double tolerance = 1e-9;
        minimizer_batch<double, quadratics, all_methods> batch(
            [](whilst::place) { return quadratics{}; }, problems,
            {.method = method, .line_search = search, .tolerances = {.gradient = tolerance}, .executor = executor});
        std::vector<double> x(3 * static_cast<std::size_t>(problems), 1.0);
        const minimizer_batch_report report = batch.solve(x);
        INFO(report.message());
        CHECK(report.all_converged());
        for (whilst::index_type k = 0; k < problems; k += 37) {
          Eigen::Matrix3d A;
          Eigen::Vector3d b;
          for (int i = 0; i < 3; ++i) {
            b[i] = quadratic::right_hand_side(k, i);
            for (int j = 0; j < 3; ++j) A(i, j) = quadratic::matrix(k, i, j);
          }
          const Eigen::Vector3d expected = A.ldlt().solve(b);
          // Eigenvalues are 1 at least, so x is no further off than the gradient, and values half its square.
          for (int i = 0; i < 3; ++i)
            REQUIRE(std::abs(x[static_cast<std::size_t>(3 * k + i)] - expected[i]) <= tolerance + 50 * epsilon<double>);
          REQUIRE(report[k].value == Approx(-b.dot(expected) / 2).margin(tolerance * tolerance + 50 * epsilon<double>));
        }
      }
    }
  }
}

}  // namespace whilst_test
