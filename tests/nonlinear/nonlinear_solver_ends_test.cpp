// What a solver of equations hands back, and how large or small F may be.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/nonlinear/nonlinear_systems.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::nonlinear_report;
using whilst::nonlinear_solver_options;
using whilst::reason;

namespace {

/// scale * (x_i - cos(x_i + x_(i+1)) / 4 - 1), or as `what` says, on the host, with its Jacobian.
class small_equations final : public whilst::equations<double> {
 public:
  enum kind { contraction, expansion, decaying };
  static constexpr int n = 3;
  small_equations(kind what, double scale) : what_(what), scale_(scale) {}

  whilst::place where() const override { return whilst::place::host(); }
  index_type unknowns() const override { return n; }
  template <class Number>
  Number value(const double* x, int i) const {
    const Number a = x[i], b = x[(i + 1) % n];
    switch (what_) {
      case contraction:
        return scale_ * (a - std::cos(a + b) / 4 - 1);
      case expansion:  // no root
        return scale_ * (4 + a * a + 3 * std::sin(5 * b));
      default:  // none but at infinity
        return scale_ * std::exp(-a);
    }
  }
  whilst::gathered<double> evaluate(whilst::recorder& run, const double* x) const override {
    run.call("F", [this, x](CUstream_st*) {
      for (int i = 0; i < n; ++i) F_[i] = value<double>(x, i);
    });
    return {F_};
  }
  bool has_jacobian() const override { return true; }
  whilst::jacobian_view<double> jacobian() const override { return {n, 2 * n, offsets_, columns_, J_}; }
  void make_jacobian(whilst::recorder& run, const double* x, const int* wanted) const override {
    run.call("J", [this, x, wanted](CUstream_st*) {
      if (!*wanted) return;
      for (int i = 0; i < n; ++i) {
        const double a = x[i], b = x[(i + 1) % n], sine = std::sin(a + b) / 4;
        const double of_a = what_ == contraction ? 1 + sine : what_ == expansion ? 2 * a : -std::exp(-a);
        const double of_b = what_ == contraction ? sine : what_ == expansion ? 15 * std::cos(5 * b) : 0;
        const int at_a = i == n - 1 ? 1 : 0;  // columns in order
        J_[2 * i + at_a] = scale_ * of_a;
        J_[2 * i + 1 - at_a] = scale_ * of_b;
      }
    });
  }
  long double norm(const std::vector<double>& x) const {
    long double square = 0;
    for (int i = 0; i < n; ++i) {
      const long double Fi = value<long double>(x.data(), i);
      square += Fi * Fi;
    }
    return std::sqrt(square);
  }

 private:
  kind what_;
  double scale_;
  mutable double F_[n] = {}, J_[2 * n] = {};
  std::int32_t offsets_[n + 1] = {0, 2, 4, 6}, columns_[2 * n] = {0, 1, 1, 2, 0, 2};
};

const std::vector<std::string> all_equation_methods{"newton", "newton-krylov", "broyden", "anderson"};
const std::vector<double> scales{1e-300, 1e-250, 1e-170, 1e-120, 1e-80, 1.0, 1e80, 1e120, 1e160, 1e250, 1e300};

/// Solves three equations whose F is about `scale`. norm(x): ||F||, computed in long double.
template <class Norm>
void check_root(const std::string& executor, const std::string& method, double scale,
                const whilst::equations<double>& F, const Norm& norm) {
  constexpr double asked = 1e-8;
  // A fixed point of x - F: where F is no multiple of 1, that of mixing.
  whilst::nonlinear_solver<double> solver(F, {.method = method,
                                              .tolerances = {.atol = 0, .rtol = asked},
                                              .max_iterations = 200,
                                              .mixing = 1 / scale,
                                              .executor = executor});
  std::vector<double> x{3, -2, 0.5};
  const long double before = norm(x);
  const nonlinear_report r = solver.solve(x);
  CAPTURE(executor, method, scale, r.message());
  // An F that rounds to 0 is within any atol.
  CHECK(r.reason() == (r.residual_norm() == 0 ? reason::converged_atol : reason::converged_rtol));
  constexpr long double roundings = 10 * std::numeric_limits<double>::epsilon();
  CHECK(norm(x) <= (asked + roundings) * before);
  CHECK(std::abs(r.rhs_norm() / before - 1) <= roundings);
  REQUIRE(!r.records.empty());
  CHECK(r.records.front().gradient_norm == r.rhs_norm());
  const auto value = static_cast<double>(before * before / 2);
  if (std::isnormal(value)) CHECK(r.records.front().value == Approx(value).epsilon(roundings));
}

}  // namespace

TEST_CASE("equations from 1e-300 to 1e300 lead to the root", "[nonlinear][honesty]") {
  for (const std::string& method : all_equation_methods)
    for (const double scale : scales) {
      const small_equations F(small_equations::contraction, scale);
      check_root("host", method, scale, F, [&](const std::vector<double>& x) { return F.norm(x); });
    }
}

TEST_CASE("equations from 1e-300 to 1e300 lead to the root on every executor", "[nonlinear][honesty]") {
  for (const std::string& executor : recording_executors())
    for (const std::string& method : all_equation_methods)
      for (const double scale : scales) {
        // scale (x_i - x_(i+1) / 4 - 1), whose arrays any place can have.
        triplets<double> A(3);
        A.row({{0, scale}, {1, -scale / 4}});
        A.row({{1, scale}, {2, -scale / 4}});
        A.row({{0, -scale / 4}, {2, scale}});
        const given_equations<double> F(whilst::place_of_executor(executor), A, A, {-scale, -scale, -scale});
        check_root(executor, method, scale, F, [&](const std::vector<double>& x) {
          long double square = 0;
          for (std::size_t i = 0; i < 3; ++i)
            square += std::pow(scale * (static_cast<long double>(x[i]) - x[(i + 1) % 3] / 4.0L - 1), 2.0L);
          return std::sqrt(square);
        });
      }
}

TEST_CASE("a solve of equations that ends at its start reports it at every scale", "[nonlinear][honesty]") {
  for (const std::string& method : all_equation_methods) {
    // The squares of these norms are numbers.
    for (const double scale : {1e-140, 1e-80, 1.0, 1e80, 1e140}) {
      CAPTURE(method, scale);
      const small_equations F(small_equations::contraction, scale);
      // The start would be evaluated again, multiplied, but for the deadline.
      whilst::nonlinear_solver<double> solver(
          F, {.method = method, .tolerances = {.atol = 0, .rtol = 0}, .deadline = 1e-9, .executor = "host"});
      constexpr long double roundings = 10 * std::numeric_limits<double>::epsilon();
      const std::vector<double> start{3, -2, 0.5};
      const long double norm = F.norm(start);

      std::vector<double> x = start;
      const nonlinear_report late = solver.solve(x);
      CAPTURE(late.message());
      CHECK(late.reason() == reason::deadline);
      CHECK(late.evaluations == 1);
      CHECK(x == start);
      CHECK(std::abs(late.residual_norm() / norm - 1) <= roundings);
      CHECK(late.rhs_norm() == late.residual_norm());
    }
  }
}

TEST_CASE("after a failure x is the best that was found", "[nonlinear][honesty]") {
  for (const std::string& method : all_equation_methods) {
    for (index_type limit = 1; limit <= 40; ++limit) {
      CAPTURE(method, limit);
      const small_equations F(small_equations::expansion, 1);
      whilst::nonlinear_solver<double> solver(F, {.method = method, .max_iterations = limit, .executor = "host"});
      std::vector<double> x{0.3, -0.7, 1.1};
      const nonlinear_report r = solver.solve(x);
      CAPTURE(r.message());
      CHECK_FALSE(r.converged());
      long double lowest = HUGE_VALL;
      for (const auto& record : r.records) lowest = std::min(lowest, static_cast<long double>(record.gradient_norm));
      constexpr long double roundings = 100 * std::numeric_limits<double>::epsilon();
      CHECK(F.norm(x) <= lowest * (1 + roundings));
      CHECK(std::abs(F.norm(x) / r.residual_norm() - 1) <= roundings);
    }
  }
}

TEST_CASE("x that converged is finite where F vanishes at infinity", "[nonlinear][honesty]") {
  for (const std::string& method : all_equation_methods) {
    for (const double atol : {1e-10, 1e-300, 0.0}) {
      CAPTURE(method, atol);
      const small_equations F(small_equations::decaying, 1);
      whilst::nonlinear_solver<double> solver(
          F, {.method = method, .tolerances = {.atol = atol, .rtol = 0}, .max_iterations = 3000, .executor = "host"});
      std::vector<double> x{0, 1, -1};
      const nonlinear_report r = solver.solve(x);
      CAPTURE(r.message());
      for (const double value : x) CHECK(std::isfinite(value));
      if (r.converged()) CHECK(F.norm(x) <= static_cast<long double>(atol) * (1 + 1e-15L));
    }
  }
}

}  // namespace whilst_test
