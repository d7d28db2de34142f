// Every method for systems of equations, on systems whose solutions are known or whose residuals are recomputed here.

#include "whilst/nonlinear_solver.hpp"

#include <Eigen/Dense>
#include <Eigen/SparseLU>

#include "tests/catch.hpp"
#include "tests/nonlinear/nonlinear_systems.hpp"
#include "whilst/called_equations.hpp"

namespace whilst_test {

using whilst::descent_record;
using whilst::index_type;
using whilst::nonlinear_report;
using whilst::nonlinear_solver_options;
using whilst::reason;

namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// A tolerance of ||F|| that rounding leaves within reach: of some thousand entries of sizes about 10.
template <class T>
constexpr double reachable = sizeof(T) == 4 ? 1e-3 : 1e-9;

template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

/// What must hold of every report, whatever became of the solve.
template <class T>
void check_report(const nonlinear_report& r, const nonlinear_solver_options& options) {
  CHECK(r.reason() != reason::running);
  CHECK(r.executor() == options.executor);
  CHECK(r.method() == options.method);
  CHECK(r.precision() == (sizeof(T) == 4 ? "float" : "double"));
  CHECK(r.message().find("||F|| = ") != std::string::npos);
  CHECK(r.evaluations <= (options.max_evaluations ? options.max_evaluations : 20 * options.max_iterations + 20));
  CHECK(r.iterations() <= options.max_iterations);
  CHECK((r.inner_iterations > 0) == (options.method == "newton-krylov" && r.iterations() > 0));
  REQUIRE(r.records.size() == r.history().size());
  for (std::size_t k = 0; k < r.records.size(); ++k) {
    const descent_record& now = r.records[k];
    CHECK(now.iteration == r.history()[k].iteration);
    CHECK(now.gradient_norm == r.history()[k].residual_norm);
    CHECK(now.value == Approx(0.5 * now.gradient_norm * now.gradient_norm));
    if (k == 0) continue;
    CHECK(now.evaluations > r.records[k - 1].evaluations);
    CHECK(now.step_length > 0);
    if (options.method.starts_with("newton")) CHECK(now.gradient_norm < r.records[k - 1].gradient_norm);
  }
}

template <class T>
nonlinear_report solved(problem what, const nonlinear_solver_options& options, std::vector<T>& x) {
  const nonlinear_report r = own_solver<T>(what, static_cast<index_type>(x.size()), options).solve(x);
  check_report<T>(r, options);
  return r;
}

/// Solves from the usual start, and holds the report against the residual in plain loops.
template <class T>
std::vector<T> solution_of(problem what, index_type n, nonlinear_solver_options options) {
  options.tolerances = {.atol = reachable<T>, .rtol = 0};
  std::vector<T> x = rounded<T>(start_of(what, n));
  const nonlinear_report r = solved<T>(what, options, x);
  CHECK(r.reason() == reason::converged_atol);
  // The rounding of F: of some ten operations on numbers up to ten an entry.
  const double rounding = 100 * epsilon<T> * std::sqrt(static_cast<double>(n));
  CHECK(std::abs(norm_of(residual_of(what, widened(x))) - r.residual_norm()) <= rounding);
  CHECK(r.rhs_norm() == Approx(norm_of(residual_of(what, start_of(what, n)))).epsilon(100 * epsilon<T>));
  CHECK(r.rows() == n);
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("two equations by hand", "[nonlinear][sanitizer]", float, double) {
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      INFO(executor << ", " << method);
      const auto x = solution_of<TestType>(problem::by_hand, 2, {.method = method, .executor = executor});
      // The Jacobian there is [3 -2; -1 8]: its inverse has a norm of 0.42.
      CHECK(std::abs(x[0] - 2) <= reachable<TestType>);
      CHECK(std::abs(x[1] - 2) <= reachable<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("every method on problems of the literature", "[nonlinear]", float, double) {
  struct one {
    problem what;
    index_type n;
    double mixing;  ///< about the inverse of the Jacobian's size
  };
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      for (const one& p :
           {one{problem::broyden_tridiagonal, 10, 0.25}, one{problem::broyden_tridiagonal, 1000, 0.25},
            one{problem::boundary_value, 10, 0.5}, one{problem::bratu, 100, 0.25}, one{problem::cosines, 33, 1},
            one{problem::linear, 5000, 1}, one{problem::logarithms, 6, 1}}) {
        if (method == "newton" && p.n > 100) continue;  // n^3
        INFO(executor << ", " << method << ", problem " << static_cast<int>(p.what) << ", " << p.n << " unknowns");
        const auto x = solution_of<TestType>(p.what, p.n, {.method = method, .mixing = p.mixing, .executor = executor});
        // By W. Kahan's calculators: press the cosine's key again and again.
        if (p.what == problem::cosines)
          for (const TestType value : x) REQUIRE(std::abs(value - 0.7390851332151607) <= reachable<TestType>);
        if (p.what == problem::logarithms)
          for (const TestType value : x) REQUIRE(std::abs(value - 1) <= 2 * reachable<TestType>);
        if (p.what == problem::bratu) {  // of the two solutions the lower one, and as symmetric as the square
          for (const TestType value : x) REQUIRE((value > 0 && value < 1));
          CHECK(std::abs(x[0] - x[99]) <= 100 * reachable<TestType>);
        }
      }
    }
  }
}

TEST_CASE("a band is solved as a sparse factorization solves it", "[nonlinear]") {
  constexpr int n = 2000;
  Eigen::SparseMatrix<double> A(n, n);
  std::vector<Eigen::Triplet<double>> entries;
  const std::vector<double> zero(n, 0);
  const Eigen::VectorXd b = -to_eigen(residual_of(problem::linear, zero));
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 1 + 0.25 * (i % 3));
    if (i > 0) entries.emplace_back(i, i - 1, -0.25);
    if (i + 1 < n) entries.emplace_back(i, i + 1, 0.125);
  }
  A.setFromTriplets(entries.begin(), entries.end());
  const Eigen::VectorXd exact = Eigen::SparseLU<Eigen::SparseMatrix<double>>(A).solve(b);
  for (const std::string& executor : recording_executors()) {
    for (const std::string method : {"newton-krylov", "broyden", "anderson"}) {
      INFO(executor << ", " << method);
      const auto x = solution_of<double>(problem::linear, n, {.method = method, .executor = executor});
      CHECK((to_eigen(x) - exact).norm() <= 2 * reachable<double>);  // the diagonal exceeds the rest by 5/8
    }
  }
}

TEST_CASE("Anderson ends a linear system in one step more than there are unknowns", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    for (const index_type n : {1, 4, 9}) {
      INFO(executor << ", " << n << " unknowns");
      std::vector<double> x(static_cast<std::size_t>(n), 0);
      const nonlinear_report r =
          solved<double>(problem::linear, {.method = "anderson", .depth = 10, .executor = executor}, x);
      CHECK(r.converged());
      CHECK(r.iterations() <= n + 1);
      CHECK(r.restarts == 0);
    }
  }
}

namespace {

/// The points after 0, 1, ... steps, each by a solve that ends there. All first lengths must have been accepted.
std::vector<Eigen::VectorXd> path(problem what, index_type n, nonlinear_solver_options options, index_type steps) {
  options.tolerances = {.atol = 0, .rtol = 0};
  own_solver<double> solver(what, n, options);
  std::vector<Eigen::VectorXd> points;
  for (index_type k = 0; k <= steps; ++k) {
    solver.by.set_max_iterations(k);
    std::vector<double> x = start_of(what, n);
    const nonlinear_report r = solver.solve(x);
    if (k > 0) CHECK(r.evaluations == k + 1);
    points.push_back(to_eigen(x));
  }
  return points;
}
Eigen::VectorXd residual_at(problem what, const Eigen::VectorXd& x) {
  return to_eigen(residual_of(what, {x.data(), x.data() + x.size()}));
}

}  // namespace

TEST_CASE("Broyden's steps are those of updates of a dense matrix", "[nonlinear]") {
  constexpr problem what = problem::broyden_tridiagonal;
  for (const std::string& executor : recording_executors()) {
    INFO(executor);
    // The first step tells the scale. Eight pairs are kept, so the ninth step is the last that knows all.
    const auto x = path(what, 12, {.method = "broyden", .executor = executor}, 9);
    Eigen::VectorXd before = x[0], at = x[1];
    Eigen::MatrixXd B;
    for (std::size_t k = 1; k < x.size(); ++k) {
      const Eigen::VectorXd F = residual_at(what, at), s = at - before, y = F - residual_at(what, before);
      if (k == 1) B = Eigen::MatrixXd::Identity(12, 12) * (y.squaredNorm() / s.dot(y));
      B += (y - B * s) * s.transpose() / s.squaredNorm();
      REQUIRE((at - x[k]).norm() <= 1e-9 * x[k].norm());
      before = at;
      at -= B.partialPivLu().solve(F);
    }
  }
}

TEST_CASE("Anderson's steps are those of least squares by QR", "[nonlinear]") {
  constexpr problem what = problem::boundary_value;
  constexpr double mixing = 0.5;
  for (const std::string& executor : recording_executors()) {
    for (const int depth : {1, 3, 10}) {
      INFO(executor << ", depth " << depth);
      const auto x = path(what, 36, {.method = "anderson", .depth = depth, .mixing = mixing, .executor = executor}, 8);
      std::vector<Eigen::VectorXd> S, Y;
      for (std::size_t k = 0; k + 1 < x.size(); ++k) {
        const Eigen::VectorXd F = residual_at(what, x[k]);
        if (k > 0) {
          S.push_back(x[k] - x[k - 1]);
          Y.push_back(F - residual_at(what, x[k - 1]));
        }
        const auto used = static_cast<Eigen::Index>(std::min<std::size_t>(S.size(), static_cast<std::size_t>(depth)));
        Eigen::VectorXd next = x[k] - mixing * F;
        if (used > 0) {
          Eigen::MatrixXd newest_Y(36, used), newest_S(36, used);
          for (Eigen::Index j = 0; j < used; ++j) {
            newest_Y.col(j) = Y[Y.size() - 1 - static_cast<std::size_t>(j)];
            newest_S.col(j) = S[S.size() - 1 - static_cast<std::size_t>(j)];
          }
          next -= (newest_S - mixing * newest_Y) * newest_Y.colPivHouseholderQr().solve(F);
        }
        // Normal equations have the square of QR's condition.
        REQUIRE((next - x[k + 1]).norm() <= 1e-6 * x[k + 1].norm());
      }
    }
  }
}

TEST_CASE("Newton's steps double the digits and a linear system takes one", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    INFO(executor);
    std::vector<double> x = start_of(problem::broyden_tridiagonal, 40);
    const nonlinear_report r =
        solved<double>(problem::broyden_tridiagonal, {.method = "newton", .executor = executor}, x);
    CHECK(r.converged());
    const double last = r.records[r.records.size() - 1].gradient_norm;
    const double before = r.records[r.records.size() - 2].gradient_norm;
    CHECK(last <= 10 * before * before);  // half the second derivatives times the inverse's square
    // Longer than a block has threads, and not without exchanges.
    for (const problem what : {problem::linear, problem::upside_down}) {
      x = std::vector<double>(300, 0);
      CHECK(solved<double>(what, {.method = "newton", .executor = executor}, x).iterations() == 1);
      CHECK(norm_of(residual_of(what, x)) <= 1e-12);
    }
    x = start_of(problem::rosenbrock, 2);
    const nonlinear_report rosenbrock =
        solved<double>(problem::rosenbrock, {.method = "newton", .executor = executor}, x);
    CHECK(rosenbrock.converged());
    CHECK(std::abs(x[0] - 1) <= 1e-8);
    CHECK(std::abs(x[1] - 1) <= 1e-8);
  }
}

TEST_CASE("a singular Jacobian at the solution makes Newton slow, and no liar", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    for (const std::string method : {"newton", "newton-krylov"}) {
      INFO(executor << ", " << method);
      std::vector<double> x = start_of(problem::powell_singular, 4);
      const nonlinear_report r = solved<double>(
          problem::powell_singular, {.method = method, .tolerances = {.atol = 1e-10}, .executor = executor}, x);
      CHECK(r.converged());
      CHECK(norm_of(residual_of(problem::powell_singular, x)) == Approx(r.residual_norm()).epsilon(1e-6));
      // Errors are halved, their squares quartered: 1e-8 of 15 takes 14 steps.
      CHECK(r.iterations() >= 10);
      CHECK(norm_of(x) <= 1e-2);
    }
  }
}

TEST_CASE("a warm start at the solution takes no step", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      INFO(executor << ", " << method);
      std::vector<double> x{1, 1, 1};
      const nonlinear_report r = solved<double>(
          problem::logarithms, {.method = method, .tolerances = {.atol = 0, .rtol = 0}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_atol);
      CHECK(r.iterations() == 0);
      CHECK(r.evaluations == 1);
      CHECK((x == std::vector<double>{1, 1, 1}));
    }
  }
}

TEST_CASE("tolerances are those that were asked for", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      INFO(executor << ", " << method);
      nonlinear_solver_options options{.method = method, .mixing = 0.25, .executor = executor};
      options.tolerances = {.atol = 0, .rtol = 1e-3};
      std::vector<double> x = start_of(problem::broyden_tridiagonal, 50);
      const nonlinear_report r = solved<double>(problem::broyden_tridiagonal, options, x);
      CHECK(r.reason() == reason::converged_rtol);
      CHECK(r.residual_norm() <= 1e-3 * r.rhs_norm());
      CHECK(r.records[r.records.size() - 2].gradient_norm > 1e-3 * r.rhs_norm());
      options.tolerances = {.atol = 0, .rtol = 0, .step = 1e-3};
      x = start_of(problem::broyden_tridiagonal, 50);
      const nonlinear_report by_step = solved<double>(problem::broyden_tridiagonal, options, x);
      CHECK(by_step.reason() == reason::converged_step);
      CHECK(by_step.records.back().step_length <= 1e-3 * norm_of(x));
    }
  }
}

TEST_CASE("limits of a nonlinear solve are respected exactly", "[nonlinear]") {
  constexpr index_type n = 20;
  const std::vector<double> start = start_of(problem::bratu, 16);
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      nonlinear_solver_options options{.method = method, .tolerances = {0, 0}, .mixing = 0.25, .executor = executor};
      own_solver<double> limited(problem::bratu, 16, options);
      for (const index_type limit : {0, 1, 2}) {
        INFO(executor << ", " << method << ", " << limit << " iterations at most");
        limited.by.set_max_iterations(limit);
        std::vector<double> x = start;
        const nonlinear_report r = limited.solve(x);
        CHECK(r.reason() == reason::iteration_limit);
        CHECK(r.iterations() == limit);
        if (limit == 0) {
          CHECK((x == start));
        } else {
          CHECK(norm_of(residual_of(problem::bratu, x)) == Approx(r.residual_norm()).epsilon(1e-8).margin(1e-14));
        }
      }
      for (const index_type limit : {1, 2, 3}) {
        INFO(executor << ", " << method << ", " << limit << " evaluations at most");
        options.max_evaluations = limit;
        std::vector<double> x = start;
        const nonlinear_report r = solved<double>(problem::bratu, options, x);
        CHECK(r.reason() == reason::iteration_limit);
        CHECK(r.evaluations == limit);
        CHECK(norm_of(residual_of(problem::bratu, x)) == Approx(r.residual_norm()).epsilon(1e-8).margin(1e-14));
      }
    }
    // A linear solve that is cut short gives a worse step, and one that leads down all the same.
    for (const index_type limit : {1, 3}) {
      INFO(executor << ", " << limit << " inner iterations at most");
      std::vector<double> x = start_of(problem::boundary_value, n);
      const nonlinear_report r =
          solved<double>(problem::boundary_value, {.max_inner_iterations = limit, .executor = executor}, x);
      CHECK(r.inner_iterations <= limit * r.iterations());
      CHECK((r.converged() || r.reason() == reason::line_search_failed || r.reason() == reason::breakdown ||
             r.reason() == reason::iteration_limit));
      CHECK(r.residual_norm() < r.rhs_norm());
    }
  }
}

TEST_CASE("equations that somebody else evaluates", "[nonlinear]") {
  int calls = 0;
  const whilst::called_equations<double> F(
      whilst::place::host(), 10, [&](whilst::stream_handle, index_type n, const double* x, double* residual) {
        const std::vector<double> values = residual_of(problem::broyden_tridiagonal, {x, x + n});
        std::copy(values.begin(), values.end(), residual);
        ++calls;
      });
  for (const std::string& method : all_nonlinear_methods) {
    INFO(method);
    const nonlinear_solver_options options{.method = method, .mixing = 0.25, .executor = "host"};
    if (method.starts_with("newton")) {
      std::string message;
      try {
        whilst::nonlinear_solver<double> made(F, options);
      } catch (const whilst::error& e) {
        message = e.what();
      }
      CHECK_THAT(message, contains("'" + method + "'") && contains("broyden"));
      continue;
    }
    whilst::nonlinear_solver<double> solver(F, options);
    std::vector<double> x = start_of(problem::broyden_tridiagonal, 10);
    calls = 0;
    const nonlinear_report r = solver.solve(x);
    CHECK(r.converged());
    CHECK(r.evaluations == calls);
    CHECK(norm_of(residual_of(problem::broyden_tridiagonal, x)) == r.residual_norm());
  }
}

}  // namespace whilst_test
