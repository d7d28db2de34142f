// CI runs this in full
// Linear systems of every scale, and what is handed back where a solve fails.

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// ||b - A x|| / ||b|| in extended precision, whose exponents hold the squares of all doubles.
template <class T>
double true_residual(const csr_matrix<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
  long double rr = 0, bb = 0;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    long double r = b[static_cast<std::size_t>(i)];
    bb += r * r;
    for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      r -= static_cast<long double>(A.values()[entry]) * x[static_cast<std::size_t>(A.column_indices()[entry])];
    }
    rr += r * r;
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

template <class T>
csr_matrix<T> times(double factor, const csr_matrix<T>& A) {
  std::vector<std::int64_t> offsets;
  for (whilst::index_type i = 0; i <= A.rows(); ++i) offsets.push_back(A.row_offset(i));
  const std::vector<std::int32_t> columns(A.column_indices().begin(), A.column_indices().end());
  std::vector<T> values(A.values().begin(), A.values().end());
  for (T& value : values) value = static_cast<T>(value * factor);
  return csr_matrix<T>(A.rows(), A.columns(), offsets, columns, values);
}

double norm_of_vector(const std::vector<double>& v) {
  whilst::squares total{0, 0, 0};
  for (const double x : v) {
    const whilst::squares square = whilst::squares_of(x);
    total.ordinary += square.ordinary;
    total.great += square.great;
    total.small += square.small;
  }
  return whilst::norm_of(total);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a norm neither overflows nor underflows", "[linear]") {
  // Roundings of three operations each.
  const double epsilon = 4 * std::numeric_limits<double>::epsilon();
  for (int e = -1070; e <= 1020; ++e) {
    const double unit = std::ldexp(1.0, e);
    INFO("2^" << e);
    CHECK(norm_of_vector({unit}) == Approx(unit).epsilon(epsilon));
    CHECK(norm_of_vector({3 * unit, 0, -4 * unit}) == Approx(5 * unit).epsilon(epsilon));
    // The smaller of two is lost, or counts, as it does for a hypotenuse.
    for (const double other : {1.0, 1e-160, 1e160})
      CHECK(norm_of_vector({unit, other}) == Approx(std::hypot(unit, other)).epsilon(epsilon));
  }
  CHECK(norm_of_vector({}) == 0);
  CHECK(norm_of_vector({0, -0.0}) == 0);
  CHECK(norm_of_vector({1, infinity}) == infinity);
  CHECK(norm_of_vector({1e300, -infinity, 1e-300}) == infinity);
  for (const double other : {0.0, 1.0, 1e-300, 1e300, infinity})
    CHECK(std::isnan(norm_of_vector({other, std::nan("")})));
  CHECK(norm_of_vector(std::vector<double>(100, std::numeric_limits<double>::max())) == infinity);
  CHECK(norm_of_vector(std::vector<double>(4, std::numeric_limits<double>::denorm_min())) ==
        2 * std::numeric_limits<double>::denorm_min());
}

TEST_CASE("powers of two and exponents", "[linear]") {
  for (int e = -1022; e <= 1023; ++e) CHECK(whilst::power_of_two(e) == std::ldexp(1.0, e));
  for (int e = -1000; e <= 1000; ++e) {
    CHECK(whilst::binary_exponent(std::ldexp(1.0, e)) == e);
    CHECK(whilst::binary_exponent(-std::ldexp(1.9, e)) == e);
  }
  CHECK(whilst::binary_exponent(0) == -1000);
  CHECK(whilst::binary_exponent(5e-324) == -1000);
  CHECK(whilst::binary_exponent(infinity) == 1000);
}

TEMPLATE_TEST_CASE("right-hand sides and matrices of every scale", "[linear][sanitizer]", float, double) {
  const auto problem = whilst::make_gallery<TestType>("poisson2d:12");
  const bool is_float = sizeof(TestType) == 4;
  const double rtol = is_float ? 1e-4 : 1e-8;
  const std::vector<double> scales = is_float
                                         ? std::vector<double>{1e-30, 1e-20, 1, 1e20, 1e30}
                                         : std::vector<double>{1e-300, 1e-200, 1e-162, 1e-150, 1, 1e154, 1e200, 1e300};
  for (const std::string& executor : executors())
    for (const std::string& method : methods_on(executor))
      for (const char* preconditioner : {"none", "jacobi"})
        for (const double of_A : scales)
          for (const double of_b : scales) {
            const double of_x = of_b / of_A;  // entries of x are between this and some dozens of it
            const double range = is_float ? 1e36 : 1e305;
            if (!(of_x > 1 / range && of_x < range)) continue;
            const bool is_plain = of_A == 1 && preconditioner == std::string("none");
            if (under_sanitizers && !is_plain && of_b != 1) continue;
            INFO(executor << ", " << method << ", " << preconditioner << ", A " << of_A << ", b " << of_b);
            const csr_matrix<TestType> A = times(of_A, problem.matrix);
            std::vector<TestType> b(problem.rhs.size(), static_cast<TestType>(of_b)), x(b.size(), 0);
            linear_solver<TestType> solver(
                A, {.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
            const report r = solver.solve(b, x);
            CHECK(r.reason() == reason::converged_rtol);
            CHECK(true_residual(A, b, x) <= 1.01 * rtol);
            // Rounding of b - A x in TestType: |A| |x| is some dozens of |b|.
            const double rounding = 64 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
            CHECK(r.relative_residual() == Approx(true_residual(A, b, x)).margin(rounding));
            // The way there is that of the problem of scale 1, to rounding.
            CHECK(r.iterations() < 60);
            REQUIRE_FALSE(r.history().empty());
            CHECK(r.history().front().residual_norm == Approx(r.rhs_norm()));
          }
}

TEST_CASE("a solution beyond the range of the numbers has an honest end", "[linear]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:8");
  for (const std::string& executor : executors())
    for (const std::string& method : methods_on(executor))
      for (const auto& [of_A, of_b] : {std::pair(1e-300, 1e300), std::pair(1e300, 1e-300)}) {
        INFO(executor << ", " << method << ", A " << of_A << ", b " << of_b);
        const csr_matrix<double> A = times(of_A, problem.matrix);
        std::vector<double> b(problem.rhs.size(), of_b), x(b.size(), 0);
        const report r = whilst::linear_solver<double>(A, {.method = method, .executor = executor}).solve(b, x);
        CHECK_FALSE(r.converged());
        for (const double value : x) CHECK(std::isfinite(value));
        CHECK(true_residual(A, b, x) <= 1.01);
      }
}

TEST_CASE("a relative residual that is not a number has no sign", "[linear]") {
  const auto problem = whilst::make_gallery<double>("poisson1d:16");
  const std::vector<double> b(16, std::numeric_limits<double>::infinity());
  std::vector<double> x(16);
  const report r = linear_solver<double>(problem.matrix, {.executor = "host"}).solve(b, x);
  CHECK(r.reason() == reason::nan_or_infinity);
  CHECK(std::isnan(r.relative_residual()));
  CHECK_FALSE(std::signbit(r.relative_residual()));
  CHECK_THAT(r.message(), contains("relative residual nan"));
}

TEST_CASE("b = 0 has the solution 0, whatever x holds", "[linear]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b(400, 0.0);
  for (const std::string& executor : executors())
    for (const std::string& method : methods_on(executor)) {
      std::vector<double> x = random_vector<double>(400, 3);
      x[17] = std::nan("");
      const report r = linear_solver<double>(A, {.method = method, .executor = executor}).solve(b, x);
      INFO(executor << ", " << method);
      CHECK(r.converged());
      CHECK(r.iterations() == 0);
      CHECK(r.residual_norm() == 0);
      CHECK(x == std::vector<double>(400, 0.0));
    }
}

TEST_CASE("cg solves negative definite systems", "[linear]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:20");
  const csr_matrix<double> A = times(-1, problem.matrix);
  for (const std::string& executor : executors())
    for (const char* preconditioner : {"none", "jacobi"})
      for (const bool warm : {false, true}) {
        INFO(executor << ", " << preconditioner << (warm ? ", warm" : ""));
        std::vector<double> x(400, 0.0);
        if (warm)
          for (double& value : x) value = -10;  // of the solution's size
        const report r =
            linear_solver<double>(A, {.preconditioner = preconditioner, .executor = executor}).solve(problem.rhs, x);
        CHECK(r.reason() == reason::converged_rtol);
        CHECK(relative_residual(A, problem.rhs, x) <= 1.01e-8);
      }
}

TEST_CASE("converged means that x is finite", "[linear]") {
  // Columns without an entry, which A cannot see x in; found among random singular systems.
  triplets<double> t(14);
  for (int i = 0; i < 7; ++i) t.row({{3, 1.125}, {3, 1.125}, {3, 1.125}});
  t.row({{13, 1.125}, {13, 1.125}, {6, 1.125}});
  for (int i = 8; i < 12; ++i) t.row({});
  t.row({{13, 1.125}});
  t.row({{13, 1.125}});
  const csr_matrix<double> A = t.matrix();
  const std::vector<double> b(14, -1.0);
  for (const std::string& executor : executors()) {
    INFO(executor);
    std::vector<double> x(14, 0.0);
    std::fill(x.begin(), x.begin() + 8, 1.125);
    linear_solver<double> solver(A,
                                 {.method = "bicgstab", .preconditioner = "jacobi", .rtol = 1, .executor = executor});
    const report r = solver.solve(b, x);
    for (const double value : x) CHECK(std::isfinite(value));
    CHECK((!r.converged() || true_residual(A, b, x) <= 1));

    // One that is brought in.
    std::vector<double> bad(14, 0.0);
    bad[0] = std::nan("");  // column 0 is empty
    CHECK(solver.solve(b, bad).reason() == reason::nan_or_infinity);
    CHECK(std::isnan(bad[0]));
  }
}

TEST_CASE("a cancelled solve hands back the x of the residual that it reports", "[linear]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:20");
  for (const std::string& executor : executors_with_steps()) {
    if (executor == "graph") continue;  // where the monitor sees no iterations
    for (const std::string& method : methods_on(executor))
      for (const char* preconditioner : {"none", "jacobi"})
        for (const whilst::index_type last : {1, 2, 5, 8, 9}) {
          INFO(executor << ", " << method << ", " << preconditioner << ", iteration " << last);
          linear_solver<double> solver(problem.matrix,
                                       {.method = method, .preconditioner = preconditioner, .executor = executor});
          solver.set_monitor([&](const whilst::progress& now) {
            if (now.iteration >= last) solver.cancel();
          });
          std::vector<double> x(problem.rhs.size(), 0.0);
          const report r = solver.solve(problem.rhs, x);
          CHECK(r.reason() == reason::cancelled);
          CHECK(r.relative_residual() == Approx(true_residual(problem.matrix, problem.rhs, x)).epsilon(1e-6));
        }
  }
}

TEST_CASE("where a solve fails, x is no worse than it was", "[linear]") {
  // Singular and inconsistent: bicgstab wanders.
  triplets<double> t(60);
  for (int i = 0; i < 60; ++i) t.row({{(7 * i + 3) % 50, 1.0 + i % 5}, {(11 * i + 1) % 50, -2.0}, {i % 50, 0.5}});
  const csr_matrix<double> A = t.matrix();
  const std::vector<double> b = random_vector<double>(60, 8);
  for (const std::string& executor : executors())
    for (const std::string& method : methods_on(executor))
      for (const whilst::index_type limit : {1, 10, 100, 1000}) {
        INFO(executor << ", " << method << ", " << limit);
        std::vector<double> x(60, 0.0);
        linear_solver_options options{.method = method, .max_iterations = limit, .executor = executor};
        const report r = linear_solver<double>(A, options).solve(b, x);
        CHECK_FALSE(r.converged());
        const bool lowers_error = method == "cg" || method == "flexible-cg";
        if (!lowers_error || r.reason() != reason::iteration_limit) {
          CHECK(true_residual(A, b, x) <= 1 + 1e-12);
          CHECK(r.relative_residual() == Approx(true_residual(A, b, x)));
        }
        options.keep_best = false;
        std::vector<double> last(60, 0.0);
        const report of_last = linear_solver<double>(A, options).solve(b, last);
        CHECK(of_last.reason() == r.reason());
        CHECK(of_last.relative_residual() == Approx(true_residual(A, b, last)));
      }
}

TEMPLATE_TEST_CASE("another solve from x does not reach what attainable_accuracy gave up", "[linear]", float, double) {
  int ended = 0;
  for (const char* name : {"poisson1d:16", "poisson2d:8", "poisson2d:16", "anisotropic2d:12", "elasticity2d:6"}) {
    const auto problem = whilst::make_gallery<TestType>(name);
    if (under_sanitizers && problem.matrix.rows() > 64) continue;
    for (const std::string& method : methods_on("host"))
      for (const char* preconditioner : {"none", "jacobi"})
        for (double rtol = std::numeric_limits<TestType>::epsilon() * 128; rtol > 1e-17;
             rtol /= under_sanitizers ? 1024 : 64) {
          linear_solver<TestType> solver(problem.matrix, {.method = method,
                                                          .preconditioner = preconditioner,
                                                          .rtol = rtol,
                                                          .max_iterations = 1000,
                                                          .executor = "host"});
          std::vector<TestType> x(problem.rhs.size(), 0);
          if (solver.solve(problem.rhs, x).reason() != reason::attainable_accuracy) continue;
          ++ended;
          INFO(name << ", " << method << ", " << preconditioner << ", " << rtol);
          for (int again = 0; again < 3; ++again) CHECK_FALSE(solver.solve(problem.rhs, x).converged());
          if (rtol < 1e-3 * std::numeric_limits<TestType>::epsilon()) break;
        }
  }
  CHECK(ended >= (under_sanitizers ? 10 : 50));
}

TEST_CASE("nothing is small compared to a right-hand side whose norm is beyond the range", "[linear]") {
  // x0 and its residual have norms, and any tolerance times an infinite one is more.
  const whilst::csr_matrix<double> tenfold(2, 2, std::vector<std::int32_t>{0, 1, 2}, std::vector<std::int32_t>{0, 1},
                                           std::vector<double>{10, 10});
  const std::vector<double> x0{1.4e307, 1.4e307}, b{1.5e308, 1.5e308};
  for (const std::string& executor : executors()) {
    for (const std::string method : {"cg", "bicgstab", "gmres", "lsqr", "lsmr", "cgls"}) {
      const bool least_squares = method == "lsqr" || method == "lsmr" || method == "cgls";
      if (executor == "resident" && least_squares) continue;
      INFO(executor << " " << method);
      std::vector<double> x = x0;
      const whilst::linear_solver_options options{.method = method, .executor = executor};
      CHECK(whilst::linear_solver<double>(tenfold, options).solve(b, x).reason() == whilst::reason::nan_or_infinity);
      CHECK(x == x0);
    }
    if (executor == "resident") continue;
    INFO(executor << ", two columns");
    std::vector<double> B = b, X = x0;
    for (const double entry : {1.0, 1.0}) B.push_back(entry), X.push_back(0);
    const whilst::columns_report r =
        whilst::columns_linear_solver<double>(tenfold, 2, {.method = "cg", .executor = executor}).solve(B, X);
    CHECK(r[0].reason == whilst::reason::nan_or_infinity);
    CHECK(converged(r[1].reason));
    CHECK((std::vector<double>(X.begin(), X.begin() + 2) == x0));
  }
}

}  // namespace whilst_test
