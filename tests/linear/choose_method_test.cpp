// Method "auto": what it chooses, and what goes on where that fails. By hand, or by what a matrix is known to be.

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "solvers/linear/automatic/choose_method.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/prepared_solve.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

template <class T>
using rows_of = std::initializer_list<std::initializer_list<std::pair<int, double>>>;

template <class T>
csr_matrix<T> matrix_of(rows_of<T> rows) {
  triplets<T> t(static_cast<index_type>(rows.size()));
  for (const auto& row : rows) t.row(row);
  return t.matrix();
}

template <class T>
std::string chosen_for(const csr_matrix<T>& A) {
  return whilst::choose_method(A).method;
}
template <class T>
std::string chosen_for(rows_of<T> rows) {
  return chosen_for(matrix_of<T>(rows));
}

/// x[i + 1] = b[i], and x[0] = b[n - 1]. Of a b with one entry, (b, A b) = 0: bicgstab has no step. GMRES finds x in n.
template <class T>
csr_matrix<T> cycle(int n) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) t.row({{(i + 1) % n, 1}});
  return t.matrix();
}
template <class T>
std::vector<T> unit_vector(int n) {
  std::vector<T> b(static_cast<std::size_t>(n), T(0));
  b[0] = 1;
  return b;
}

/// [1 2; 2 1]: symmetric, its diagonal positive, its eigenvalues 3 and -1.
template <class T>
csr_matrix<T> hidden_indefinite() {
  return matrix_of<T>({{{0, 1}, {1, 2}}, {{0, 2}, {1, 1}}});
}

/// The same below diag(1, 2, 3, 4): from b = (1, 1, 1, 1, 1, 0.9), which hardly has a part along (1, -1), cg gets far.
csr_matrix<double> late_indefinite() {
  return matrix_of<double>({{{0, 1}}, {{1, 2}}, {{2, 3}}, {{3, 4}}, {{4, 1}, {5, 2}}, {{4, 2}, {5, 1}}});
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEMPLATE_TEST_CASE("auto chooses by symmetry and the diagonal", "[linear][auto]", float, double) {
  using T = TestType;
  CHECK(chosen_for(whilst::make_gallery<T>("poisson2d:30").matrix) == "cg");
  CHECK(chosen_for(whilst::make_gallery<T>("elasticity2d:8").matrix) == "cg");
  CHECK(chosen_for(whilst::make_gallery<T>("helmholtz2d:20").matrix) == "cg");  // indefinite behind a positive diagonal
  CHECK(chosen_for(convection_diffusion<T>(50)) == "bicgstab");
  CHECK(chosen_for(cycle<T>(5)) == "bicgstab");
  CHECK(chosen_for<T>({{{0, -2}, {1, 1}}, {{0, 1}, {1, -2}}}) == "cg");        // negative definite
  CHECK(chosen_for<T>({{{0, 2}, {1, 1}}, {{0, 1}, {1, -2}}}) == "minres");     // both signs
  CHECK(chosen_for<T>({{{0, 2}, {1, 1}}, {{0, 1}}}) == "minres");              // no entry on the diagonal
  CHECK(chosen_for<T>({{{1, 1}}, {{0, -1}}}) == "bicgstab");                   // skew
  CHECK(chosen_for<T>({{{0, 2}, {1, 1}}, {{1, 2}}}) == "bicgstab");            // an entry on one side
  CHECK(chosen_for<T>({{{0, 2}}, {{0, 1}, {1, 2}}}) == "bicgstab");            // on the other
  CHECK(chosen_for<T>({{{0, 2}, {1, 0}}, {{1, 2}}}) == "cg");                  // a 0 there is none
  CHECK(chosen_for<T>({{{1, 1}, {0, 2}}, {{1, 2}, {0, 1}}}) == "cg");          // unsorted
  CHECK(chosen_for<T>({{{1, 1}, {0, 2}}, {{1, 2}, {0, 3}}}) == "bicgstab");    // unsorted
  CHECK(chosen_for<T>({{{0, 2}, {1, 1}, {1, 2}}, {{0, 3}, {1, 2}}}) == "cg");  // two entries add up
  CHECK(chosen_for<T>({{{0, 2}, {1, 1}, {1, 2}}, {{0, 1}, {1, 2}}}) == "bicgstab");
}

TEMPLATE_TEST_CASE("auto and the smallest matrices", "[linear][auto]", float, double) {
  using T = TestType;
  CHECK(chosen_for<T>({}) == "cg");
  CHECK(chosen_for<T>({{{0, 3}}}) == "cg");
  CHECK(chosen_for<T>({{{0, -3}}}) == "cg");
  CHECK(chosen_for<T>({{{0, 0}}}) == "minres");
  CHECK(chosen_for(matrix_of<T>({{}})) == "minres");
  for (const std::string& executor : executors()) {
    INFO(executor);
    std::vector<T> x, none;
    CHECK(linear_solver<T>(matrix_of<T>({}), {.method = "auto", .executor = executor}).solve(none, x).converged());
    std::vector<T> one{0};
    CHECK(linear_solver<T>(matrix_of<T>({{{0, -4}}}), {.method = "auto", .executor = executor})
              .solve({8}, one)
              .converged());
    CHECK(one[0] == -2);
  }
}

TEMPLATE_TEST_CASE("auto forgives what adding in another order leaves, and no more", "[linear][auto]", float, double) {
  using T = TestType;
  const double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const auto with = [](double upper, double lower, double diagonal) {
    return matrix_of<T>({{{0, diagonal}, {1, upper}}, {{0, lower}, {1, diagonal}}});
  };
  CHECK(whilst::is_symmetric(with(1, 1 + 4 * epsilon, 4)));
  CHECK(whilst::is_symmetric(with(1, 1 + 4 * epsilon, 0)));
  CHECK_FALSE(whilst::is_symmetric(with(1, 1 + 20 * epsilon, 1)));
  CHECK_FALSE(whilst::is_symmetric(with(1, 1 + 1000 * epsilon, 4)));
  // What is left where nearly all cancels is measured by the diagonal.
  CHECK(whilst::is_symmetric(with(epsilon, -epsilon, 1)));
  CHECK_FALSE(whilst::is_symmetric(with(100 * epsilon, -100 * epsilon, 1)));
  CHECK_FALSE(whilst::is_symmetric(with(epsilon, -epsilon, 0)));
  // At the ends of the scale, too.
  const double great = static_cast<double>(std::numeric_limits<T>::max()) / 4;
  CHECK(whilst::is_symmetric(with(great, great * (1 + 4 * epsilon), great)));
  CHECK_FALSE(whilst::is_symmetric(with(great, great / 2, great)));
  // An infinite entry is as large as another infinite one only.
  CHECK(whilst::is_symmetric(with(INFINITY, INFINITY, 1)));
  CHECK_FALSE(whilst::is_symmetric(with(INFINITY, 1, 1)));
  CHECK_FALSE(whilst::is_symmetric(with(INFINITY, -INFINITY, 1)));
}

TEST_CASE("symmetry is seen at both widths of offsets, and by many threads", "[linear][auto]") {
  // Beyond half a million rows the rows are shared among threads. One entry decides, wherever it is.
  const int n = 600000;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    for (const int j : {i - 1, i, i + 1}) {
      if (j < 0 || j == n) continue;
      columns.push_back(j);
      values.push_back(i == j ? 2 : -1);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  CHECK(chosen_for(csr_matrix<double>::borrow(n, n, offsets, columns, values)) == "cg");
  for (const std::size_t k : {std::size_t{1}, values.size() / 2, values.size() - 2}) {
    const double before = std::exchange(values[k], values[k] + 0.5);
    const bool is_diagonal = before > 0;
    CHECK(chosen_for(csr_matrix<double>::borrow(n, n, offsets, columns, values)) == (is_diagonal ? "cg" : "bicgstab"));
    values[k] = before;
  }
}

TEMPLATE_TEST_CASE("auto solves by what it chose, and says so", "[linear][auto]", float, double) {
  using T = TestType;
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
  struct example {
    csr_matrix<T> A;
    std::string method, why;
  };
  triplets<T> saddle(40);
  for (int i = 0; i < 30; ++i) i < 10 ? saddle.row({{i, i + 1}, {30 + i, 1}}) : saddle.row({{i, i + 1}});
  for (int i = 0; i < 10; ++i) saddle.row({{i, 1}});
  for (const example& one :
       {example{whilst::make_gallery<T>("poisson2d:20").matrix, "cg", "symmetric and its diagonal has one sign"},
        example{saddle.matrix(), "minres", "symmetric and its diagonal does not have one sign"},
        example{convection_diffusion<T>(50), "bicgstab", "not symmetric"}}) {
    for (const std::string& executor : executors_with_steps()) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(one.method << ", " << executor << ", " << preconditioner);
        linear_solver<T> solver(
            one.A, {.method = "auto", .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
        const std::vector<T> b = random_vector<T>(one.A.rows(), 3);
        std::vector<T> x(b.size(), T(0));
        const report r = solver.solve(b, x);
        CHECK(r.converged());
        CHECK(r.method() == one.method);
        CHECK(r.choice() == one.method + ", since the matrix is " + one.why);
        CHECK(relative_residual(one.A, b, x) <= 1.01 * rtol);
      }
    }
  }
  // With a name there is nothing to say.
  std::vector<T> x(400, T(0));
  const report named = linear_solver<T>(whilst::make_gallery<T>("poisson2d:20").matrix, {.rtol = rtol})
                           .solve(std::vector<T>(400, T(1)), x);
  CHECK(named.method() == "cg");
  CHECK(named.choice().empty());
}

TEMPLATE_TEST_CASE("minres goes on where cg finds an indefinite matrix", "[linear][auto]", float, double) {
  using T = TestType;
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    {
      const auto A = hidden_indefinite<T>();
      linear_solver<T> solver(A, {.method = "auto", .rtol = rtol, .executor = executor});
      std::vector<T> x{0, 0};
      const report r = solver.solve({1, 0}, x);
      CHECK(r.converged());
      CHECK(r.method() == "minres");
      CHECK(contains(r.choice(),
                     "cg, since the matrix is symmetric and its diagonal has one sign; then minres, since cg "
                     "ended with indefinite_operator after "));
      CHECK(std::abs(x[0] + 1 / T(3)) <= 3 * rtol);  // the inverse is [-1 2; 2 -1] / 3, its norm 1
      CHECK(std::abs(x[1] - 2 / T(3)) <= 3 * rtol);
    }
    const auto A = whilst::make_gallery<T>("helmholtz2d:20").matrix;
    const std::vector<T> b = random_vector<T>(A.rows(), 8);
    for (const char* preconditioner : {"none", "jacobi"}) {
      linear_solver<T> solver(A,
                              {.method = "auto", .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
      std::vector<T> x(b.size(), T(0));
      const report r = solver.solve(b, x);
      CHECK(r.converged());
      CHECK(r.method() == "minres");
      CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
      // One count, over both.
      CHECK(r.history().back().iteration == r.iterations());
      for (std::size_t k = 1; k < r.history().size(); ++k)
        CHECK(r.history()[k - 1].iteration <= r.history()[k].iteration);  // equal where a method restarts
    }
  }
}

TEMPLATE_TEST_CASE("gmres goes on where bicgstab breaks down", "[linear][auto]", float, double) {
  using T = TestType;
  const int n = 8;
  for (const std::string& executor : executors()) {
    INFO(executor);
    std::vector<T> x(n, T(0));
    const report alone =
        linear_solver<T>(cycle<T>(n), {.method = "bicgstab", .executor = executor}).solve(unit_vector<T>(n), x);
    REQUIRE(alone.reason() == reason::breakdown);
    linear_solver<T> solver(cycle<T>(n), {.method = "auto", .rtol = 1e-6, .executor = executor});
    x.assign(n, T(0));
    const report r = solver.solve(unit_vector<T>(n), x);
    CHECK(r.converged());
    CHECK(r.method() == "gmres");
    CHECK(r.choice() ==
          "bicgstab, since the matrix is not symmetric; then gmres, since bicgstab ended with breakdown "
          "after " +
              std::to_string(r.iterations() - n) + " iterations");
    for (int i = 0; i < n; ++i) CHECK(std::abs(x[static_cast<std::size_t>(i)] - (i == 1)) <= 1e-6);
    // Again, with what was recorded, from a start of its own, and at the solution.
    const index_type bytes = solver.bytes();
    x.assign(n, T(0.5));
    CHECK(solver.solve(unit_vector<T>(n), x).converged());
    CHECK(solver.solve(unit_vector<T>(n), x).iterations() == 0);
    CHECK(solver.bytes() == bytes);
  }
}

TEST_CASE("what goes on has what is left of the limit", "[linear][auto]") {
  const int n = 8;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(cycle<double>(n), {.method = "auto", .max_iterations = 5, .executor = executor});
    std::vector<double> x(n, 0.0);
    const report few = solver.solve(unit_vector<double>(n), x);
    CHECK(few.reason() == reason::iteration_limit);
    CHECK(few.iterations() == 5);
    solver.set_max_iterations(100);
    CHECK(solver.solve(unit_vector<double>(n), x).converged());
    // Here cg makes four steps before it fails, and leaves minres one of five, which does not suffice.
    linear_solver<double> late(late_indefinite(), {.method = "auto", .max_iterations = 5, .executor = executor});
    const std::vector<double> right{1, 1, 1, 1, 1, 0.9}, solution{1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 0.8 / 3, 1.1 / 3};
    std::vector<double> y(6, 0.0);
    const report five = late.solve(right, y);
    CHECK(five.reason() == reason::iteration_limit);
    CHECK(five.iterations() == 5);
    CHECK(five.method() == "minres");
    // With x in b's memory, which cg has changed by then.
    late.set_max_iterations(50);
    std::vector<double> both = right;
    CHECK(late.solve(std::span<const double>(both), std::span<double>(both)).converged());
    for (std::size_t i = 0; i < 6; ++i) CHECK(both[i] == Approx(solution[i]).epsilon(1e-6));
    // A tolerance that changes counts for what goes on, too: x = 0 will do.
    solver.set_tolerances(0, 1);
    x.assign(n, 0.0);
    CHECK(solver.solve(unit_vector<double>(n), x).reason() == reason::converged_atol);
    CHECK(x == std::vector<double>(n, 0.0));
  }
}

TEST_CASE("a monitor sees one count, and a cancel reaches what goes on", "[linear][auto]") {
  const auto A = whilst::make_gallery<double>("helmholtz2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  linear_solver<double> solver(A, {.method = "auto", .executor = "host"});
  std::vector<double> x(b.size(), 0.0);
  std::vector<index_type> seen;
  solver.set_monitor([&](const whilst::progress& now) {
    seen.push_back(now.iteration);
    CHECK(solver.progress().iteration == now.iteration);
  });
  const report r = solver.solve(b, x);
  REQUIRE(r.method() == "minres");
  REQUIRE(!seen.empty());
  CHECK(seen.front() == 1);
  CHECK(seen.back() == r.iterations());
  for (std::size_t k = 1; k < seen.size(); ++k) CHECK(seen[k - 1] < seen[k]);

  const index_type all = r.iterations();
  solver.set_monitor([&](const whilst::progress& now) {
    if (now.iteration == all / 2) solver.cancel();
  });
  x.assign(b.size(), 0.0);
  const report cancelled = solver.solve(b, x);
  CHECK(cancelled.reason() == reason::cancelled);
  CHECK(cancelled.method() == "minres");
  solver.set_monitor({});
  x.assign(b.size(), 0.0);
  CHECK(solver.solve(b, x).converged());
}

TEST_CASE("a cancel reaches a method that is about to go on", "[linear][auto]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  const whilst::matrix_on_place<double> matrix(A, whilst::place::host(), true);
  const linear_solver_options options{.executor = "host"};
  whilst::prepared_solve<double> solve(matrix.request(),
                                       whilst::conjugate_gradient_method<double>().record(matrix.request()),
                                       whilst::executor::host, options, std::chrono::steady_clock::now());
  const auto reason_of_next = [&] {
    std::vector<double> x(b.size(), 0.0);
    return whilst::ticket(solve.solve(b, x)).wait().reason();
  };
  solve.desk().announce_launch(true);
  solve.desk().cancel_all();
  CHECK(reason_of_next() == reason::cancelled);
  CHECK(reason_of_next() == reason::converged_rtol);  // the announced one alone
  solve.desk().announce_launch(true);
  solve.desk().cancel_all();
  solve.desk().announce_launch(false);
  CHECK(reason_of_next() == reason::converged_rtol);
  solve.desk().announce_launch(true);
  solve.desk().announce_launch(false);
  solve.desk().cancel_all();
  CHECK(reason_of_next() == reason::converged_rtol);
}

TEMPLATE_TEST_CASE("NaN is an outcome under auto, too", "[linear][auto]", float, double) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& A : {matrix_of<TestType>({{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}}),
                        matrix_of<TestType>({{{0, 2}, {1, nan}}, {{0, nan}, {1, 2}}})}) {
    CHECK(chosen_for(A) == "bicgstab");
    std::vector<TestType> x{0, 0};
    const report r = linear_solver<TestType>(A, {.method = "auto"}).solve({1, 1}, x);
    CHECK(r.reason() == reason::nan_or_infinity);
    CHECK(r.method() == "bicgstab");
  }
}

TEST_CASE("other values change what auto chooses, and record only what is new", "[linear][auto]") {
  const std::vector<double> symmetric{2, 1, 1, 3}, unsymmetric{2, 1, 0, 3}, indefinite{2, 1, 1, -3};
  const auto A = matrix_of<double>({{{0, 2}, {1, 1}}, {{0, 1}, {1, 3}}});
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(A, {.method = "auto", .rtol = 1e-12, .executor = executor});
    solver.set_max_iterations(50);
    const auto check = [&](const std::vector<double>& values, const std::string& method) {
      std::vector<double> x{0, 0};
      const report r = solver.solve({1, 2}, x);
      CHECK(r.method() == method);
      CHECK(r.choice().rfind(method + ", since", 0) == 0);
      CHECK(r.converged());
      CHECK(values[0] * x[0] + values[1] * x[1] == Approx(1));
      CHECK(values[2] * x[0] + values[3] * x[1] == Approx(2));
    };
    check(symmetric, "cg");
    solver.update_values(std::vector<double>{4, 1, 1, 3});
    check({4, 1, 1, 3}, "cg");
    solver.update_values(unsymmetric);
    check(unsymmetric, "bicgstab");
    solver.update_values(indefinite);
    check(indefinite, "minres");
    const index_type bytes = solver.bytes();
    solver.update_values(symmetric);
    check(symmetric, "cg");
    solver.update_values(matrix_of<double>({{{0, 2}, {1, 1}}, {{0, 0}, {1, 3}}}));
    check(unsymmetric, "bicgstab");
    solver.update_values(A);
    check(symmetric, "cg");
    CHECK(solver.bytes() == bytes);  // nothing was recorded anew
    if (executor == "host") {
      // Bound values are not looked at.
      solver.bind_values(unsymmetric.data());
      std::vector<double> x{0, 0};
      CHECK(solver.solve({1, 2}, x).method() != "bicgstab");
      solver.update_values(A);
      check(symmetric, "cg");
    }
  }
}

TEST_CASE("settings and a monitor stay when auto changes its choice", "[linear][auto]") {
  int calls = 0;
  linear_solver<double> triangle(matrix_of<double>({{{0, 1}, {1, 5}}, {{1, 2}}}),
                                 {.method = "auto", .executor = "host"});
  triangle.set_monitor([&](const whilst::progress&) { ++calls; });
  triangle.set_max_iterations(0);
  triangle.update_values(std::vector<double>{1, 0, 2});
  std::vector<double> x{0, 0};
  const report none = triangle.solve({1, 1}, x);
  CHECK(none.method() == "cg");
  CHECK(none.reason() == reason::iteration_limit);
  CHECK(calls == 0);
  triangle.set_max_iterations(10);
  CHECK(triangle.solve({1, 1}, x).converged());
  CHECK(calls > 0);
}

TEST_CASE("auto without a matrix to look at begins with bicgstab", "[linear][auto]") {
  const int n = 8;
  const auto shift = [](whilst::stream_handle, index_type n, const double* x, double* y) {
    for (index_type i = 0; i < n; ++i) y[i] = x[(i + 1) % n];
  };
  linear_solver<double> solver(n, shift, {.method = "auto", .callback_memory = "host"});
  std::vector<double> x(n, 0.0);
  const report r = solver.solve(unit_vector<double>(n), x);
  CHECK(r.converged());
  CHECK(r.method() == "gmres");
  CHECK(contains(r.choice(), "bicgstab, since the matrix is known only by its products; then gmres"));
  CHECK(x[1] == Approx(1));

  const auto line = [](whilst::stream_handle, index_type n, const double* x, double* y) {
    for (index_type i = 0; i < n; ++i) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  };
  linear_solver<double> symmetric(n, line, {.method = "auto", .callback_memory = "host"});
  x.assign(n, 0.0);
  CHECK(symmetric.solve(std::vector<double>(n, 1.0), x).method() == "bicgstab");
}

TEST_CASE("bicgstab goes on where a preconditioner of the caller's is not positive definite", "[linear][auto]") {
  const auto A = whilst::make_gallery<double>("poisson1d:20").matrix;
  const auto negate = [](whilst::stream_handle, index_type n, const double* r, double* z) {
    for (index_type i = 0; i < n; ++i) z[i] = i % 2 ? -r[i] : r[i];
  };
  linear_solver<double> solver(A, negate, {.method = "auto", .executor = "host"});
  std::vector<double> x(20, 0.0);
  const report r = solver.solve(std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, x);
  CHECK(contains(r.choice(), "then bicgstab, since cg ended with indefinite_preconditioner"));
  CHECK(r.method() != "cg");
}

TEST_CASE("enqueue under auto runs what was chosen, and nothing after it", "[linear][auto]") {
  linear_solver<double> solver(cycle<double>(8), {.method = "auto", .executor = "host"});
  const std::vector<double> b = unit_vector<double>(8);
  std::vector<double> x(8, 0.0);
  const report r = solver.enqueue(nullptr, b.data(), x.data()).wait();
  CHECK(r.method() == "bicgstab");
  CHECK(r.reason() == reason::breakdown);
  CHECK(r.choice() == "bicgstab, since the matrix is not symmetric");
}

TEST_CASE("whilst::solve and batches know auto", "[linear][auto]") {
  std::vector<double> x(8, 0.0);
  whilst::program_cache cache;
  CHECK(cache.solve(cycle<double>(8), unit_vector<double>(8), x, {.method = "auto"}).method() == "gmres");
  const auto A = matrix_of<double>({{{0, 2}, {1, 1}}, {{0, 1}, {1, 3}}});
  std::vector<double> y(2, 0.0);
  CHECK(cache.solve(A, std::vector<double>{1, 2}, y, {.method = "auto"}).method() == "cg");
  // The same pattern, and so the same recording.
  const auto B = matrix_of<double>({{{0, 2}, {1, 1}}, {{0, 0}, {1, 3}}});
  y = {0, 0};
  CHECK(cache.solve(B, std::vector<double>{1, 2}, y, {.method = "auto"}).method() == "bicgstab");
  CHECK(y[1] == Approx(2.0 / 3));
  CHECK(cache.counters().hits == 1);

  whilst::batch_linear_solver<double> batch(A, 2, {.method = "auto"});
  std::vector<double> both(4, 0.0);
  const auto report = batch.solve(std::vector<double>{2, 1, 1, 3, 2, 1, 0, 3}, std::vector<double>{1, 2, 1, 2}, both);
  CHECK(report.method() == "bicgstab");
  CHECK(both[0] == Approx(0.2));
  CHECK(both[3] == Approx(2.0 / 3));
}

#if WHILST_WITH_CUDA

TEST_CASE("auto looks at a matrix in device memory", "[linear][auto][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto where = whilst::place::gpu(0);
  const auto on_gpu = [&]<class T>(const std::vector<T>& from) {
    whilst::buffer<T> there(where, static_cast<index_type>(from.size()));
    there.upload(from.data());
    return there;
  };
  const auto offsets = on_gpu(std::vector<std::int32_t>{0, 2, 4}),
             columns = on_gpu(std::vector<std::int32_t>{0, 1, 0, 1});
  const auto symmetric = on_gpu(std::vector<double>{2, 1, 1, 3}), unsymmetric = on_gpu(std::vector<double>{2, 1, 0, 3});
  const auto matrix_with = [&](const whilst::buffer<double>& values) {
    return csr_matrix<double>::on_device(2, 2, 4, offsets.data(), columns.data(), values.data());
  };
  const auto method_of = [](linear_solver<double>& solver) {
    std::vector<double> x{0, 0};
    const report r = solver.solve({3, 3}, x);
    CHECK(r.converged());
    return r.method();
  };
  const linear_solver_options options{.method = "auto", .rtol = 1e-12, .executor = "graph"};
  linear_solver<double> from_device(matrix_with(symmetric), options);
  CHECK(method_of(from_device) == "cg");
  from_device.update_values(matrix_with(unsymmetric));
  CHECK(method_of(from_device) == "bicgstab");
  from_device.update_values(matrix_with(symmetric));
  CHECK(method_of(from_device) == "cg");
  linear_solver<double> from_host(matrix_of<double>({{{0, 2}, {1, 1}}, {{0, 1}, {1, 3}}}), options);
  from_host.update_values(matrix_with(unsymmetric));
  CHECK(method_of(from_host) == "bicgstab");
}

#endif

}  // namespace whilst_test
