// Preconditioner "auto": what it solves by which pair, and that none claims what is not so.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "solvers/linear/factorization/elimination.hpp"
#include "solvers/linear/factorization/matching.hpp"
#include "solvers/linear/factorization/ordering.hpp"
#include "tests/catch.hpp"
#include "tests/linear/automatic_pairs.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// The tolerance, and what the last digit of a residual near it may add: 100 roundings of a sum.
template <class T>
double allowed(double rtol) {
  return rtol + 1e-6 * rtol + 100 * static_cast<double>(std::numeric_limits<T>::epsilon()) * rtol;
}

/// B B' + 1 with B = [1 2 3] on three diagonals, around a circle: symmetric definite, with positive entries.
template <class T>
csr_matrix<T> product_with_transpose(int n) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i)
    t.row({{i, 15}, {(i + 1) % n, 8}, {(i + n - 1) % n, 8}, {(i + 2) % n, 3}, {(i + n - 2) % n, 3}});
  return t.matrix();
}

/// A network of resistors of all sizes, ideal voltage sources between some nodes and ground: symmetric, with zeros on
/// the diagonal, and so ill-conditioned that a residual in double may be all rounding.
csr_matrix<double> network(int nodes, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> exponent(-9, 2);
  const int sources = nodes / 30;
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(nodes + sources));
  const auto add = [&](int i, int j, double value) { rows[static_cast<std::size_t>(i)].emplace_back(j, value); };
  for (int i = 0; i < nodes; ++i) add(i, i, 1e-12);
  for (int k = 0; k < 5 * nodes / 2; ++k) {
    const int i = static_cast<int>(generator() % static_cast<unsigned>(nodes));
    const int j = static_cast<int>((static_cast<unsigned>(i) + 1 + generator() % 50) % static_cast<unsigned>(nodes));
    const double g = std::pow(10.0, exponent(generator));
    add(i, i, g);
    add(j, j, g);
    add(i, j, -g);
    add(j, i, -g);
  }
  for (int k = 0; k < sources; ++k) {
    const int node = (k * 37 + static_cast<int>(seed)) % nodes;
    add(nodes + k, node, 1);
    add(node, nodes + k, 1);
  }
  triplets<double> t(nodes + sources);
  for (const auto& row : rows) t.row(row);
  return t.matrix();
}

}  // namespace

TEMPLATE_TEST_CASE("auto, auto solves by the pair that suits", "[linear][auto_M][sanitizer]", float, double) {
  using T = TestType;
  const double rtol = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
  struct example {
    const char* what;
    csr_matrix<T> A;
    const char *method, *preconditioner;
    index_type most_iterations;
  };
  for (const example& one :
       {example{"definite", whilst::make_gallery<T>("poisson2d:20").matrix, "cg", "ic", 20},
        example{"definite, no M-matrix", product_with_transpose<T>(200), "cg", complete_ic, 3},
        example{"indefinite", whilst::make_gallery<T>("helmholtz2d:20").matrix, "gmres", unmatched_ilu, 10},
        example{"unsymmetric", convection_diffusion<T>(50), "gmres", "ilu,drop=1e-5,fill=20,pivoting=0.1", 10},
        example{"scattered", scattered_entries<T>(600, 1), "gmres", matched_ilu, 3}}) {
    const std::vector<T> b = random_vector<T>(one.A.rows(), 3);
    for (const std::string& executor : executors_with_steps()) {
      INFO(one.what << ", " << executor);
      linear_solver<T> solver(one.A, {.method = "auto", .preconditioner = "auto", .rtol = rtol, .executor = executor});
      std::vector<T> x(b.size(), T(0));
      const report r = solver.solve(b, x);
      INFO(r.choice());
      CHECK(r.converged());
      CHECK(r.method() == one.method);
      CHECK(r.preconditioner() == one.preconditioner);
      CHECK(r.iterations() <= one.most_iterations);
      CHECK(true_residual(one.A, b, x) <= allowed<T>(rtol));
      CHECK_THAT(r.choice(), contains(", since the matrix is "));
      CHECK_THAT(r.preconditioner_choice(), contains(" nonzeros, "));
      CHECK(r.history().back().iteration == r.iterations());
      // What has converged begins the next solve, from its own start and at the solution.
      std::vector<T> again(b.size(), T(0.5));
      const report second = solver.solve(b, again);
      CHECK(second.converged());
      CHECK(second.preconditioner() == r.preconditioner());
      CHECK_THAT(second.choice(), !contains("; then"));
      CHECK(second.iterations() <= r.iterations() + 2);
      CHECK(solver.solve(b, again).iterations() == 0);
    }
  }
}

TEST_CASE("large grids get amg under auto, and dominant diagonals jacobi", "[linear][auto_M]") {
  const auto cube = whilst::make_gallery<double>("poisson3d:22").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const std::vector<double> b(static_cast<std::size_t>(cube.rows()), 1.0);
    std::vector<double> x(b.size(), 0.0);
    const report r =
        linear_solver<double>(cube, {.method = "auto", .preconditioner = "auto", .executor = executor}).solve(b, x);
    CHECK(r.converged());
    CHECK(r.preconditioner() == "amg");
    CHECK(r.method() == "cg");
    const auto heavy = line_with_drift<double>(10'000, 2);
    std::vector<double> y(10'000, 0.0);
    const report s = linear_solver<double>(heavy, {.method = "auto", .preconditioner = "auto", .executor = executor})
                         .solve(std::vector<double>(10'000, 1.0), y);
    CHECK(s.converged());
    CHECK(s.preconditioner() == "jacobi");
  }
}

TEST_CASE("auto never claims a residual that rounding hides", "[linear][auto_M]") {
  int doubtful = 0;
  for (unsigned seed = 1; seed <= (under_sanitizers ? 3u : 12u); ++seed) {
    const auto A = network(1000, seed);
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    std::vector<double> x(b.size(), 0.0), y(x);
    const report r =
        linear_solver<double>(A, {.method = "auto", .preconditioner = "auto", .executor = "host"}).solve(b, x);
    INFO(seed << ": " << r.message() << ", " << r.choice());
    const double residual = true_residual(A, b, x);
    for (const double one : x) CHECK(std::isfinite(one));
    if (r.converged()) CHECK(residual <= allowed<double>(1e-8));
    // Without a look in extended precision, as with names, some are above the tolerance.
    const report named =
        linear_solver<double>(A, {.method = "gmres", .preconditioner = matched_ilu, .executor = "host"}).solve(b, y);
    doubtful += named.converged() && true_residual(A, b, y) > allowed<double>(1e-8);
  }
  if (!under_sanitizers) CHECK(doubtful > 0);
}

namespace {

/// A pair that fails comes first: amg, since nodes are said to be known, which an indefinite matrix is not for.
struct solve_that_goes_on {
  csr_matrix<double> A = whilst::make_gallery<double>("helmholtz2d:100").matrix;
  std::vector<double> b = random_vector<double>(A.rows(), 3), x{std::vector<double>(b.size(), 0.0)};
  linear_solver_options options{
      .method = "auto", .preconditioner = "auto", .amg = {.unknowns_a_node = 2}, .executor = "host"};
};

}  // namespace

TEST_CASE("auto's attempts have the solve's limits together", "[linear][auto_M]") {
  auto [A, b, x, options] = solve_that_goes_on();
  options.max_iterations = 0;
  linear_solver<double> solver(A, options);
  CHECK(solver.solve(b, x).reason() == reason::iteration_limit);
  solver.set_max_iterations(1000);
  std::vector<index_type> seen;
  solver.set_monitor([&](const whilst::progress& now) { seen.push_back(now.iteration); });
  x.assign(b.size(), 0.0);
  const report r = solver.solve(b, x);
  INFO(r.choice());
  CHECK(r.converged());
  CHECK_THAT(r.choice(), contains("cg with amg ended with indefinite_operator after"));
  CHECK_THAT(r.choice(), contains("; not cg with ic,drop=1e-11"));
  CHECK(true_residual(A, b, x) <= allowed<double>(1e-8));
  REQUIRE(!seen.empty());
  for (std::size_t k = 1; k < seen.size(); ++k) CHECK(seen[k - 1] < seen[k]);
  // What did most begins, and what was refused is not tried again.
  x.assign(b.size(), 0.0);
  const report second = solver.solve(b, x);
  CHECK(second.preconditioner() == unmatched_ilu);
  CHECK_THAT(second.choice(), !contains("; not"));
  CHECK_THAT(second.choice(), contains("since it has taken most digits off before"));
  // A limit that was set holds for the pair that begins now, too.
  solver.set_max_iterations(0);
  x.assign(b.size(), 0.0);
  CHECK(solver.solve(b, x).reason() == reason::iteration_limit);
  // A cancel ends all of it.
  const auto cube = whilst::make_gallery<double>("poisson3d:22").matrix;
  options.max_iterations = 1000;
  linear_solver<double> cancelled(cube, options);
  cancelled.set_monitor([&](const whilst::progress& now) {
    if (now.iteration == 2) cancelled.cancel();
  });
  std::vector<double> y(static_cast<std::size_t>(cube.rows()), 0.0);
  const report two = cancelled.solve(std::vector<double>(y.size(), 1.0), y);
  CHECK(two.reason() == reason::cancelled);
  CHECK_THAT(two.choice(), !contains("; then"));
}

TEST_CASE("a deadline ends auto while it makes factors", "[linear][auto_M]") {
  auto [A, b, x, options] = solve_that_goes_on();
  linear_solver<double> solver(A, options);
  // amg takes some milliseconds to find out that it does not suit, factors take longer.
  solver.set_deadline(1e-4);
  const report late = solver.solve(b, x);
  INFO(late.choice());
  CHECK(late.reason() == reason::deadline);
  // Nothing was refused for good.
  solver.set_deadline(std::numeric_limits<double>::infinity());
  CHECK(solver.solve(b, x).converged());

  namespace factorization = whilst::factorization;
  const factorization::sparse_rows rows = factorization::sparse_rows_of(A, A.values_data());
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const factorization::factorization_bounds bounds{.until = &past};
  CHECK_FALSE(factorization::maximum_product_matching(rows, bounds));
  CHECK_FALSE(factorization::minimum_degree(rows, bounds));
  factorization::elimination_rules rules;
  rules.bounds = bounds;
  CHECK_THROWS_WITH(factorization::incomplete_lu(rows, rules), contains("when the deadline came"));
  CHECK_THROWS_WITH(factorization::incomplete_cholesky(rows, rules), contains("when the deadline came"));
}

TEST_CASE("enqueue runs the pair that was chosen, alone", "[linear][auto_M]") {
  auto [A, b, x, options] = solve_that_goes_on();
  linear_solver<double> solver(A, options);
  CHECK(solver.enqueue(nullptr, b.data(), x.data()).wait().preconditioner() == "amg");
  x.assign(b.size(), 0.0);
  REQUIRE(solver.solve(b, x).converged());
  x.assign(b.size(), 0.0);
  const report r = solver.enqueue(nullptr, b.data(), x.data()).wait();
  CHECK(r.converged());
  CHECK(r.preconditioner() == unmatched_ilu);
  CHECK(true_residual(A, b, x) <= allowed<double>(1e-8));
}

TEST_CASE("new values under auto are looked at, and factors made of them", "[linear][auto_M]") {
  const auto definite = line_with_drift<double>(200, 0), unsymmetric = line_with_drift<double>(200, 0, 3);
  const std::vector<double> b = random_vector<double>(200, 4);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver<double> solver(definite, {.method = "auto", .preconditioner = "auto", .executor = executor});
    const auto check = [&](const csr_matrix<double>& A, const std::string& preconditioner) {
      std::vector<double> x(200, 0.0);
      const report r = solver.solve(b, x);
      INFO(r.choice());
      CHECK(r.converged());
      CHECK(r.preconditioner().rfind(preconditioner, 0) == 0);
      CHECK(r.iterations() <= 10);  // of factors of other values: many
      CHECK(true_residual(A, b, x) <= allowed<double>(1e-8));
    };
    check(definite, "ic");
    solver.update_values(unsymmetric.values());
    check(unsymmetric, "ilu");
    const auto other = line_with_drift<double>(200, 0.5);
    solver.update_values(other);
    check(other, "ic");
    const index_type bytes = solver.bytes();
    solver.update_values(definite);
    check(definite, "ic");
    CHECK(solver.bytes() <= bytes + bytes / 2);
    CHECK(solver.memory().items.front().name == "what was made for auto");
    if (executor == "host") {
      // Bound values are not looked at, but factored.
      solver.bind_values(other.values_data());
      check(other, "ic");
    }
  }
}

TEST_CASE("auto begins anew where a matrix becomes another kind", "[linear][auto_M]") {
  const auto A = scattered_entries<double>(600, 2, true);
  const std::vector<double> b = random_vector<double>(600, 4);
  linear_solver<double> solver(A, {.method = "auto", .preconditioner = "auto", .executor = "host"});
  std::vector<double> x(600, 0.0);
  REQUIRE(solver.solve(b, x).preconditioner() == matched_ilu);
  // The same matrix: what has converged remains.
  solver.update_values(A.values());
  x.assign(600, 0.0);
  CHECK_THAT(solver.solve(b, x).choice(), !contains("; then"));
  std::vector<double> values;
  for (index_type i = 0; i < A.rows(); ++i) {
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto e = static_cast<std::size_t>(k);
      values.push_back(A.column_indices()[e] == i ? 20 : 0.1 * A.values()[e]);
    }
  }
  solver.update_values(values);
  x.assign(600, 0.0);
  const report r = solver.solve(b, x);
  CHECK(r.converged());
  CHECK(r.method() == "cg");
  CHECK(r.preconditioner() == "ic");
}

TEST_CASE("factors that take too much are refused where auto has others", "[linear][auto_M]") {
  const auto A = scattered_entries<double>(40, 1);
  const whilst::factorization::sparse_rows rows = whilst::factorization::sparse_rows_of(A, A.values_data());
  whilst::factorization::elimination_rules rules;
  const auto made = whilst::factorization::incomplete_lu(rows, rules);
  const index_type nonzeros = made.L.nonzeros() + made.U.nonzeros();
  rules.bounds.most_nonzeros = nonzeros;
  CHECK(whilst::factorization::incomplete_lu(rows, rules).L.nonzeros() == made.L.nonzeros());
  rules.bounds.most_nonzeros = nonzeros - 1;
  CHECK_THROWS_WITH(whilst::factorization::incomplete_lu(rows, rules), contains("40 of 40 rows took "));
  rules.bounds = {.most_operations = 100};
  CHECK_THROWS_WITH(whilst::factorization::incomplete_lu(rows, rules), contains("Set a smaller fill or a larger drop"));
}

TEST_CASE("where auto has no choice, it is the diagonal", "[linear][auto_M]") {
  const auto A = line_with_drift<double>(60, 0.1);
  const std::vector<double> b(60, 1.0);
  const auto taken = [&](linear_solver_options options) {
    options.preconditioner = "auto";
    if (options.executor == "auto") options.executor = "host";
    std::vector<double> x(60, 0.0);
    const report r = linear_solver<double>(A, options).solve(b, x);
    CHECK(r.converged());
    return r.preconditioner();
  };
  CHECK(taken({.method = "cg"}) == "ic");
  CHECK(taken({.method = "lsqr"}) == "jacobi");
  CHECK(taken({.method = "auto", .scaling = "equilibrate"}) == "jacobi");
  CHECK(taken({.method = "auto", .null_space = "none"}) == "ic");
  for (const std::string& executor : executors())
    if (executor == "resident") {
      CHECK(taken({.method = "auto", .executor = "resident"}) == "jacobi");
      std::vector<double> x(60, 0.0);
      CHECK(whilst::solve(A, b, x, {.method = "auto", .preconditioner = "auto", .executor = "resident"}).converged());
    }
  const auto products = [](whilst::stream_handle, index_type n, const double* x, double* y) {
    for (index_type i = 0; i < n; ++i) y[i] = 2 * x[i];
  };
  std::vector<double> x(60, 0.0);
  CHECK(linear_solver<double>(60, products, {.method = "auto", .preconditioner = "auto", .executor = "host"})
            .solve(b, x)
            .preconditioner() == "none");
  // A caller's own counts.
  x.assign(60, 0.0);
  const auto half = [](whilst::stream_handle, index_type n, const double* r, double* z) {
    for (index_type i = 0; i < n; ++i) z[i] = r[i] / 2;
  };
  CHECK(linear_solver<double>(A, half, {.method = "auto", .preconditioner = "auto", .executor = "host"})
            .solve(b, x)
            .preconditioner() == "user");
  CHECK_THROWS_WITH(linear_solver<double>(A, {.preconditioner = "auto,drop=1"}), contains("auto,drop=1"));
}

TEMPLATE_TEST_CASE("auto and hostile matrices", "[linear][auto_M][sanitizer]", float, double) {
  using T = TestType;
  const auto of = [](std::vector<std::vector<std::pair<int, double>>> rows) {
    triplets<T> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    return t.matrix();
  };
  struct example {
    const char* what;
    csr_matrix<T> A;
    bool is_solvable;
  };
  for (const example& one :
       {example{"none", of({}), true}, example{"one", of({{{0, -4}}}), true}, example{"a zero", of({{{0, 0}}}), false},
        example{"an empty row", of({{{0, 1}, {1, 1}}, {}}), false},
        example{"no diagonal", of({{{1, 3}}, {{2, 5}}, {{0, 7}}}), true},
        example{"equal rows", of({{{0, 1}, {1, 2}}, {{0, 1}, {1, 2}}}), true},
        example{"opposite rows", of({{{0, 1}, {1, 2}}, {{0, -1}, {1, -2}}}), false},
        example{"NaN", of({{{0, NAN}, {1, 1}}, {{0, 1}, {1, 2}}}), false},
        example{"infinity", of({{{0, 2}, {1, INFINITY}}, {{0, 1}, {1, 2}}}), false},
        example{"twice", of({{{0, 1}, {0, 1}, {1, 1}}, {{1, 2}, {0, 1}}}), true},
        example{"graded", of({{{0, 1e15}, {1, 10}}, {{0, 10}, {1, 1}}}), true}}) {
    const std::vector<T> b(static_cast<std::size_t>(one.A.rows()), T(1));
    for (const std::string& executor : executors_with_steps()) {
      for (const char* method : {"auto", "cg", "gmres"}) {
        INFO(one.what << ", " << method << ", " << executor);
        std::vector<T> x(b.size(), T(0));
        linear_solver<T> solver(
            one.A,
            {.method = method, .preconditioner = "auto", .rtol = 1e-4, .max_iterations = 200, .executor = executor});
        const report r = solver.solve(b, x);
        for (const T value : x) CHECK(std::isfinite(value));
        if (method == std::string("auto")) CHECK(r.converged() == one.is_solvable);
        if (r.converged() && !b.empty()) CHECK(true_residual(one.A, b, x) <= allowed<T>(1e-4));
        std::vector<T> nan(b.size(), T(NAN));
        if (!b.empty()) CHECK_FALSE(solver.solve(nan, x).converged());
      }
    }
  }
}

TEST_CASE("two solvers with auto at once, the same bits each time", "[linear][auto_M]") {
  const auto A = scattered_entries<double>(600, 1), B = whilst::make_gallery<double>("poisson2d:20").matrix;
  const auto solution = [](const csr_matrix<double>& of) {
    std::vector<double> x(static_cast<std::size_t>(of.rows()), 0.0);
    linear_solver<double>(of, {.method = "auto", .preconditioner = "auto", .executor = "host"})
        .solve(random_vector<double>(of.rows(), 3), x);
    return x;
  };
  const std::vector<double> of_A = solution(A), of_B = solution(B);
  std::vector<double> again_A, again_B;
  std::thread one([&] { again_A = solution(A); }), other([&] { again_B = solution(B); });
  one.join();
  other.join();
  CHECK(again_A == of_A);
  CHECK(again_B == of_B);
}

TEST_CASE("auto, auto solves matrices from practice", "[linear][data][auto_M]") {
  const char* const folder = std::getenv("WHILST_DATA_DIR");
  if (!folder) {
    WARN("skipped: WHILST_DATA_DIR is not set");
    return;
  }
  for (const std::string name :
       {"1138_bus", "ani1_nonsymm", "ani4", "bayer10", "bcsstk13", "lap3D_7pt_n20", "west0479"}) {
    if (under_sanitizers && name != "west0479") continue;
    const auto A = whilst::read_matrix<double>(std::string(folder) + "/mtx/" + name + ".mtx");
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    for (const std::string& executor : executors_with_steps()) {
      INFO(name << ", " << executor);
      std::vector<double> x(b.size(), 0.0);
      const report r =
          linear_solver<double>(A, {.method = "auto", .preconditioner = "auto", .executor = executor}).solve(b, x);
      INFO(r.choice());
      CHECK(r.converged());
      CHECK(r.iterations() <= 100);
      CHECK(true_residual(A, b, x) <= allowed<double>(1e-8));
    }
  }
}

TEST_CASE("auto_M: a pair that comes twice tells a monitor once", "[linear][auto_M]") {
  // So dominant that the diagonal comes first, so like an M-matrix that amg comes next, and so unsymmetric that minres
  // fails by both, and tries the first at last again.
  constexpr int n = 10'500;
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 1 + 0.3 * std::sin(0.1 * i * i)}};
    if (i > 0) row.emplace_back(i - 1, -0.33);
    if (i + 1 < n) row.emplace_back(i + 1, -0.01);
    t.row(row);
  }
  linear_solver<double> solver(t.matrix(), {.method = "minres", .preconditioner = "auto", .executor = "host"});
  solver.set_max_iterations(1000);  // 300 by the diagonal and 500 by amg come first
  std::vector<whilst::index_type> seen;
  solver.set_monitor([&](const whilst::progress& now) { seen.push_back(now.iteration); });
  std::vector<double> b = random_vector<double>(n, 3), x(b.size(), 0);
  const report told = solver.solve(b, x);
  CHECK_THAT(told.choice(), contains("; then minres with jacobi, since minres with amg ended"));
  CHECK(!seen.empty());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK((seen.empty() || seen.back() <= told.iterations()));
}

}  // namespace whilst_test
