// Preconditioners "ilu" and "ic": incomplete factors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

#include <Eigen/Dense>
#include <Eigen/SparseLU>

#include "solvers/linear/factorization/elimination.hpp"
#include "solvers/linear/factorization/triangle_levels.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::reason;
using whilst::report;
namespace factorization = whilst::factorization;
using factorization::elimination_rules;
using factorization::incomplete_factors;
using factorization::sparse_rows;

namespace {

/// Six entries in most rows, some of them beside a zero on the diagonal; strongest where the row is shifted.
template <class T>
csr_matrix<T> without_diagonal(int n, unsigned seed = 5) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{(i + 3) % n, 6 * std::pow(10.0, i % 5)}};
    for (int k = 0; k < 5; ++k)
      if (const int j = static_cast<int>(generator() % static_cast<unsigned>(n)); j != i)
        row.emplace_back(j, value(generator) * std::pow(10.0, i % 5));
    t.row(row);
  }
  return t.matrix();
}

/// Five points on a square grid, with a drift.
template <class T>
csr_matrix<T> grid(int side, double drift) {
  triplets<T> t(side * side);
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      const int k = i * side + j;
      std::vector<std::pair<int, double>> row{{k, 4}};
      if (i > 0) row.emplace_back(k - side, -1 - drift);
      if (i + 1 < side) row.emplace_back(k + side, -1 + drift);
      if (j > 0) row.emplace_back(k - 1, -1 - drift);
      if (j + 1 < side) row.emplace_back(k + 1, -1 + drift);
      t.row(row);
    }
  }
  return t.matrix();
}

Eigen::MatrixXd dense(const sparse_rows& A) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(A.rows(), A.rows());
  for (index_type i = 0; i < A.rows(); ++i)
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) result(i, A.columns[e]) = A.values[e];
  return result;
}
Eigen::MatrixXd product(const incomplete_factors& of) {
  Eigen::MatrixXd L = dense(of.L), U = dense(of.U);
  for (Eigen::Index k = 0; k < L.rows(); ++k) {
    L(k, k) += 1;
    U(k, k) += of.pivots[static_cast<std::size_t>(k)];
  }
  return L * U;
}
Eigen::MatrixXd with_columns(const Eigen::MatrixXd& A, const factorization::indices& column_at) {
  Eigen::MatrixXd result(A.rows(), A.cols());
  for (Eigen::Index k = 0; k < A.cols(); ++k) result.col(k) = A.col(column_at[static_cast<std::size_t>(k)]);
  return result;
}
template <class T>
sparse_rows rows_of(const csr_matrix<T>& A) {
  return factorization::sparse_rows_of(A, A.values_data());
}

template <class T>
std::vector<T> times_ones(const csr_matrix<T>& A) {
  const Eigen::VectorXd b = to_eigen(A) * Eigen::VectorXd::Ones(A.columns());
  std::vector<T> result;
  for (const double value : b) result.push_back(static_cast<T>(value));
  return result;
}

}  // namespace

TEST_CASE("without dropping, the factors' product is the matrix", "[linear][ilu]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const double pivoting : {0.0, 0.1, 1.0}) {
      const sparse_rows A = rows_of(pivoting > 0 ? without_diagonal<double>(40, seed) : grid<double>(6, 0.1 * seed));
      const incomplete_factors made = incomplete_lu(A, {.pivoting = pivoting});
      const Eigen::MatrixXd exact = with_columns(dense(A), made.column_at);
      INFO("seed " << seed << ", pivoting " << pivoting);
      CHECK(made.replaced_pivots == 0);
      CHECK((product(made) - exact).norm() <= 1e-10 * exact.norm());
    }
  }
  const sparse_rows A = rows_of(grid<double>(7, 0));
  CHECK((product(incomplete_cholesky(A, {})) - dense(A)).norm() <= 1e-13 * dense(A).norm());
}

TEST_CASE("by levels of fill, the factors' product is the matrix on their pattern", "[linear][ilu]") {
  const sparse_rows A = rows_of(grid<double>(7, 0.3)), S = rows_of(grid<double>(7, 0));
  index_type before = 0;
  for (int levels = 0; levels < 4; ++levels) {
    INFO("levels " << levels);
    const incomplete_factors lu = incomplete_lu(A, {.levels = levels}), ic = incomplete_cholesky(S, {.levels = levels});
    // Both patterns are the same, as the matrices' are.
    CHECK(dense(lu.U).cwiseEqual(0) == dense(ic.U).cwiseEqual(0));
    CHECK(lu.U.nonzeros() > before);
    before = lu.U.nonzeros();
    if (levels == 0) CHECK(lu.L.nonzeros() + lu.U.nonzeros() + A.rows() == A.nonzeros());
    for (const auto& [made, of] : {std::pair(&lu, &A), std::pair(&ic, &S)}) {
      const Eigen::MatrixXd off = product(*made) - dense(*of), pattern = dense(made->L) + dense(made->U);
      double on_pattern = 0;
      for (Eigen::Index i = 0; i < off.rows(); ++i)
        for (Eigen::Index j = 0; j < off.cols(); ++j)
          if (i == j || pattern(i, j) != 0) on_pattern = std::max(on_pattern, std::fabs(off(i, j)));
      CHECK(on_pattern <= 1e-13);
      CHECK(off.norm() > 1e-3);
    }
  }
}

TEST_CASE("a threshold and a share of entries bound the factors", "[linear][ilu]") {
  const sparse_rows A = rows_of(grid<double>(12, 0.2));
  index_type before = std::numeric_limits<index_type>::max();
  for (const double drop : {0.0, 1e-3, 1e-2, 1e-1}) {
    const incomplete_factors made = incomplete_lu(A, {.drop = drop});
    CHECK(made.U.nonzeros() < before);
    before = made.U.nonzeros();
  }
  const incomplete_factors few = incomplete_lu(A, {.most_of_row = 3});
  for (index_type i = 0; i < A.rows(); ++i) {
    CHECK(few.L.end(i) - few.L.begin(i) <= 3);
    CHECK(few.U.end(i) - few.U.begin(i) <= 3);
  }
  // An M-matrix has an incomplete factorization without a shift: J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31.
  CHECK(incomplete_cholesky(rows_of(grid<double>(12, 0)), {.levels = 0}).shift == 0);
}

TEST_CASE("a diagonal is shifted where an incomplete pivot fails", "[linear][ilu]") {
  // Positive definite, yet IC(0) has a pivot below 0: D. S. Kershaw, J. Comput. Phys. 26 (1978) 43-65.
  triplets<double> t(4);
  t.row({{0, 3}, {1, -2}, {3, 2}});
  t.row({{0, -2}, {1, 3}, {2, -2}});
  t.row({{1, -2}, {2, 3}, {3, -2}});
  t.row({{0, 2}, {2, -2}, {3, 3}});
  const sparse_rows A = rows_of(t.matrix());
  const incomplete_factors made = incomplete_cholesky(A, {.levels = 0});
  CHECK(made.shift > 0);
  for (const double pivot : made.pivots) CHECK(pivot > 0);
  CHECK(incomplete_cholesky(A, {}).shift == 0);
}

TEST_CASE("rows of a triangle's level need earlier levels alone", "[linear][ilu]") {
  const incomplete_factors made = incomplete_lu(rows_of(grid<double>(9, 0.3)), {.drop = 1e-2});
  for (const bool upper : {false, true}) {
    const sparse_rows& triangle = upper ? made.U : made.L;
    const factorization::triangle_levels levels = in_levels(triangle, upper);
    std::vector<std::ptrdiff_t> level(levels.row_at.size());
    for (std::size_t k = 0; k < level.size(); ++k)
      level[k] = std::upper_bound(levels.level_offsets.begin(), levels.level_offsets.end(), k) -
                 levels.level_offsets.begin() - 1;
    const Eigen::MatrixXd exact = dense(triangle);
    index_type nonzeros = 0;
    for (index_type k = 0; k < levels.rows.rows(); ++k) {
      std::ptrdiff_t last = -1;
      for (std::size_t e = levels.rows.begin(k); e < levels.rows.end(k); ++e, ++nonzeros) {
        const auto column = static_cast<std::size_t>(levels.rows.columns[e]);
        CHECK(levels.rows.values[e] == exact(levels.row_at[static_cast<std::size_t>(k)], levels.row_at[column]));
        last = std::max(last, level[column]);
      }
      CHECK(level[static_cast<std::size_t>(k)] == last + 1);
    }
    CHECK(nonzeros == triangle.nonzeros());
    CHECK(levels.level_offsets.back() == 81);
  }
}

TEMPLATE_TEST_CASE("exact factors solve in a few iterations, on every executor", "[linear][ilu]", double, float) {
  using T = TestType;
  const double rtol = sizeof(T) == 4 ? 1e-4 : 1e-8;
  for (const std::string& executor : executors_with_steps()) {
    const std::string exact = ",drop=0,fill=0,pivoting=0.1";
    for (const std::string& settings :
         {exact, exact + ",order=none", exact + ",order=degree", exact + ",order=blocks", exact + ",matching=false"}) {
      for (const char* method : {"gmres", "bicgstab"}) {
        for (const int n : {1, 2, 33, 500}) {
          const csr_matrix<T> A = n < 33 ? grid<T>(n, 0.1) : without_diagonal<T>(n);
          const std::vector<T> b = times_ones(A);
          std::vector<T> x(b.size(), 0);
          INFO(method << ", " << executor << settings << ", n = " << n);
          linear_solver<T> solver(
              A, {.method = method, .preconditioner = "ilu" + settings, .rtol = rtol, .executor = executor});
          const report r = solver.solve(b, x);
          CHECK(r.converged());
          CHECK(r.iterations() <= 2);
          CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
          CHECK(r.preconditioner_choice().substr(0, 5) == "ilu, ");
        }
      }
    }
    const csr_matrix<T> S = grid<T>(20, 0);
    for (const double sign : {1.0, -1.0}) {
      std::vector<T> values(S.values().begin(), S.values().end());
      for (T& value : values) value = static_cast<T>(sign * static_cast<double>(value));
      linear_solver<T> solver(S, {.method = "cg", .preconditioner = "ic,drop=0,fill=0", .executor = executor});
      solver.set_tolerances(rtol, 0);
      solver.update_values(values);
      std::vector<T> b = random_vector<T>(S.rows(), 3), x(b.size(), 0);
      const report r = solver.solve(b, x);
      INFO(executor << ", sign " << sign << ": " << name(r.reason()));
      CHECK(r.converged());
      CHECK(r.iterations() <= 2);
    }
  }
}

TEST_CASE("ilu solves what a direct solver solves", "[linear][ilu]") {
  const auto A = without_diagonal<double>(300);
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  const Eigen::SparseMatrix<double> oracle = to_eigen(A);
  const Eigen::SparseLU<Eigen::SparseMatrix<double>> factors(oracle);
  const Eigen::VectorXd exact = factors.solve(to_eigen(b));
  for (const std::string& executor : executors_with_steps()) {
    for (const char* method : {"gmres", "fgmres", "bicgstab", "bicgstabl", "idr", "tfqmr", "auto"}) {
      std::vector<double> x(b.size(), 0);
      linear_solver<double> solver(A, {.method = method, .preconditioner = "ilu", .rtol = 1e-12, .executor = executor});
      const report r = solver.solve(b, x);
      INFO(method << ", " << executor << ": " << name(r.reason()) << ", " << r.preconditioner_choice());
      CHECK((r.converged() || r.reason() == reason::attainable_accuracy));
      CHECK(r.iterations() < 60);
      CHECK((to_eigen(x) - exact).norm() <= 1e-8 * exact.norm());
    }
  }
}

TEST_CASE("ilu follows new values, of another size and pattern of fill", "[linear][ilu]") {
  const auto A = grid<double>(15, 0.1);
  const std::vector<double> b = times_ones(A);
  for (const std::string& executor : executors_with_steps()) {
    linear_solver<double> solver(A,
                                 {.method = "gmres", .preconditioner = "ilu,drop=1e-2,fill=0", .executor = executor});
    std::vector<double> x(b.size(), 0);
    const std::string first = solver.solve(b, x).preconditioner_choice();
    const index_type bytes = solver.bytes();
    // Every second entry beside the diagonal becomes small, and all change their sign.
    std::vector<double> values(A.values().begin(), A.values().end());
    for (std::size_t k = 0; k < values.size(); ++k) values[k] *= values[k] < 0 && k % 2 == 0 ? -1e-3 : -2;
    solver.update_values(values);
    const csr_matrix<double> other(A.rows(), A.columns(),
                                   std::vector<int>(A.row_offsets_32().begin(), A.row_offsets_32().end()),
                                   std::vector<int>(A.column_indices().begin(), A.column_indices().end()), values);
    const std::vector<double> of_other = times_ones(other);
    x.assign(b.size(), 0);
    const report r = solver.solve(of_other, x);
    INFO(executor << ": " << first << "; then " << r.preconditioner_choice());
    CHECK(r.converged());
    CHECK(r.iterations() <= 8);
    CHECK(relative_residual(other, of_other, x) <= 1.01e-8);
    CHECK(r.preconditioner_choice() != first);
    CHECK(solver.bytes() != bytes);

    solver.update_values(A);
    x.assign(b.size(), 0);
    const report again = solver.solve(b, x);
    CHECK(again.converged());
    CHECK(again.preconditioner_choice() == first);
  }
}

TEST_CASE("ilu follows the values of matrices that whilst::solve gets, and those bound", "[linear][ilu]") {
  whilst::program_cache cache;
  const auto A = grid<double>(10, 0.1), B = grid<double>(10, -0.4);
  for (const auto* of : {&A, &A, &B, &A}) {
    const auto solver = cache.borrow(*of, {.method = "gmres", .preconditioner = "ilu,drop=0,fill=0"});
    const std::vector<double> b = times_ones(*of);
    std::vector<double> x(b.size(), 0);
    const report r = solver->solve(b, x);
    CHECK(r.converged());
    CHECK(r.iterations() <= 2);
  }
  CHECK(cache.counters().records == 1);

  linear_solver<double> solver(A, {.method = "gmres", .preconditioner = "ilu,drop=0,fill=0", .executor = "host"});
  const std::vector<double> bound(B.values().begin(), B.values().end()), b = times_ones(B);
  solver.bind_values(bound.data());
  std::vector<double> x(b.size(), 0);
  CHECK(solver.solve(b, x).iterations() <= 2);
  CHECK(relative_residual(B, b, x) <= 1.01e-8);
}

TEST_CASE("ilu and ic take any matrix", "[linear][ilu]") {
  constexpr double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<std::string, csr_matrix<double>>> matrices;
  const auto add = [&](const char* what, const std::vector<std::vector<std::pair<int, double>>>& rows) {
    triplets<double> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    matrices.emplace_back(what, t.matrix());
  };
  add("empty", {});
  add("one entry", {{{0, -3}}});
  add("a zero", {{{0, 0}}});
  add("nothing", {{}, {}, {}});
  add("a row without entries", {{{0, 1}, {1, 2}, {2, 1}}, {}, {{0, 3}, {1, 1}, {2, 5}}});
  add("a column without entries", {{{0, 1}, {2, 2}}, {{0, 4}, {2, 1}}, {{0, 3}, {2, 5}}});
  add("structurally singular", {{{0, 1}}, {{0, 2}}, {{0, 1}, {1, 2}, {2, 3}}});
  add("singular", {{{0, 1}, {1, 2}}, {{0, 2}, {1, 4}}});
  add("a NaN", {{{0, nan}, {1, 1}}, {{0, 1}, {1, 2}}});
  add("infinity", {{{0, infinite}, {1, 1}}, {{0, 1}, {1, -infinite}}});
  add("far apart", {{{0, 1e-300}, {1, 1e300}}, {{0, 1e200}, {1, 1e-200}}});
  add("entries twice", {{{0, 1}, {1, 3}, {0, 2}}, {{1, 1}, {1, 4}, {0, 1}}});
  add("entries that cancel", {{{0, 1}, {0, -1}, {1, 1}}, {{1, 1}, {0, 1}}});
  add("skew", {{{1, 1}}, {{0, -1}}});
  std::vector<std::vector<std::pair<int, double>>> arrow(60);
  for (int i = 0; i < 60; ++i) {
    arrow[0].emplace_back(i, 1 + i);
    if (i > 0) arrow[static_cast<std::size_t>(i)] = {{0, 1}, {i, 3}};
  }
  add("a full row", arrow);
  for (const auto& [what, A] : matrices) {
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    for (const char* M : {"ilu", "ilu,pivoting=1", "ilu,levels=0", "ilu,matching=false,order=none", "ilu,order=degree",
                          "ic", "ic,levels=1,order=degree"}) {
      for (const char* method : {"gmres", "bicgstab", "cg"}) {
        for (const std::string& executor : executors_with_steps()) {
          INFO(what << ", " << M << ", " << method << ", " << executor);
          std::vector<double> x(b.size(), 0);
          linear_solver<double> solver(
              A, {.method = method, .preconditioner = M, .max_iterations = 50, .executor = executor});
          const report r = solver.solve(b, x);
          for (const double value : x) CHECK(std::isfinite(value));
          if (r.converged() && !b.empty()) CHECK(relative_residual(A, b, x) <= 1.01e-8);
          const bool is_solvable = what == "one entry" || what == "entries twice" || what == "a full row";
          if (is_solvable && M[1] == 'l' && method == std::string("gmres")) CHECK(r.converged());
        }
      }
    }
  }
}

TEST_CASE("settings of ilu and ic, and what excludes them", "[linear][ilu]") {
  const auto A = grid<double>(5, 0.1);
  const auto made = [&](whilst::linear_solver_options options) {
    if (options.executor == "auto") options.executor = "host";
    linear_solver<double> solver(A, std::move(options));
    std::vector<double> b(25, 1), x(25, 0);
    return solver.solve(b, x).preconditioner_choice();
  };
  CHECK_THAT(made({.method = "gmres", .preconditioner = "ilu"}), contains("; matched; rcm"));
  CHECK_THAT(made({.method = "gmres", .preconditioner = "ilu,matching=false,order=none"}), !contains("matched"));
  CHECK_THAT(made({.method = "gmres", .preconditioner = "ilu,levels=0"}), contains("105 nonzeros, 1.0 of"));
  CHECK(made({.method = "gmres", .preconditioner = "ilu,levels=2"}) ==
        made({.method = "gmres", .preconditioner = "ilu", .ilu = {.levels = 2}}));
  CHECK(made({.method = "cg", .preconditioner = "ic,levels=0"}).substr(0, 4) == "ic, ");

  const auto refused = [&](whilst::linear_solver_options options, const char* what) {
    CHECK_THROWS_WITH(made(std::move(options)), contains(what));
  };
  refused({.preconditioner = "ilu,fil=3"}, "no setting called 'fil'. Use some of drop, fill, levels, matching");
  refused({.preconditioner = "ic,matching=true"}, "no setting called 'matching'");
  refused({.preconditioner = "ilu,matching=yes"}, "Use true or false");
  refused({.preconditioner = "ilu,drop=x"}, "Give a number");
  refused({.preconditioner = "ilu,drop=2"}, "drop is 2");
  refused({.preconditioner = "ilu,drop=nan"}, "drop is nan");
  refused({.preconditioner = "ilu,fill=-1"}, "fill is -1");
  refused({.preconditioner = "ilu,levels=-2"}, "levels is -2");
  refused({.preconditioner = "ilu,order=amd"}, "order is 'amd'");
  refused({.preconditioner = "ic,order=blocks"}, "Use one of none, rcm, degree");
  refused({.preconditioner = "ilu,pivoting=1.5"}, "pivoting is 1.5");
  refused({.preconditioner = "ilu,pivoting=1,levels=1"}, "leave out levels");
  refused({.preconditioner = "ilut"}, "no preconditioner called 'ilut'");
  refused({.method = "lsqr", .preconditioner = "ilu"}, "preconditioner ilu is for A");
  refused({.method = "gmres", .preconditioner = "ilu", .scaling = "rows"},
          "changes the matrix that preconditioner ilu");
  refused({.preconditioner = "ic", .executor = "resident"}, "preconditioner ic records steps of its own");
  const auto products = [](whilst::stream_handle, index_type, const double*, double*) {};
  CHECK_THROWS_WITH(linear_solver<double>(5, products, {.preconditioner = "ilu", .executor = "host"}),
                    contains("preconditioner ilu is made from a matrix"));
}

TEST_CASE("an exchange of columns stays within its block", "[linear][ilu]") {
  // Two blocks of two rows; the largest entries are right of the first.
  factorization::sparse_rows A;
  for (const auto& row : {std::vector<std::pair<int, double>>{{0, 1e-3}, {1, 1}, {3, 100}},
                          {{0, 1}, {1, 1e-3}, {2, 50}},
                          {{2, 1}, {3, 10}},
                          {{2, 3}, {3, 1}}}) {
    for (const auto& [column, value] : row) A.append(column, value);
    A.end_row();
  }
  factorization::elimination_rules rules;
  rules.pivoting = 1;
  CHECK(factorization::incomplete_lu(A, rules).column_at[0] == 3);
  rules.block_ends = {2, 2, 4, 4};
  CHECK(factorization::incomplete_lu(A, rules).column_at == factorization::indices{1, 0, 3, 2});
}

TEST_CASE("the first shift of ic follows drop, and a large one is refused where it is bounded", "[linear][ilu]") {
  // Indefinite by little: eigenvalues 2 and -1e-8.
  const double a = 1, c = 1 + 1e-8;
  factorization::sparse_rows A;
  for (const auto& row : {std::array{a, c}, {c, a}}) {
    A.append(0, row[0]);
    A.append(1, row[1]);
    A.end_row();
  }
  const double small = factorization::incomplete_cholesky(A, {.drop = 1e-11}).shift;
  CHECK(small >= 1e-8);
  CHECK(small <= 1e-7 * (1 + 1e-6));
  CHECK(factorization::incomplete_cholesky(A, {.drop = 1e-3}).shift == 1e-3);
  factorization::elimination_rules bounded;
  bounded.drop = 1e-11;
  bounded.bounds.most_shift = 1e-9;
  CHECK_THROWS_WITH(factorization::incomplete_cholesky(A, bounded), contains("Use ilu"));
}

TEST_CASE("how much a solve with factors grows", "[linear][ilu]") {
  // L U = [1 0; 2 1] [4 1; 0 0.5]: U^-1 L^-1 (1, 1) = ((1 + 2) / 4, -2).
  factorization::incomplete_factors made;
  made.L.end_row();
  made.L.append(0, 2);
  made.L.end_row();
  made.U.append(1, 1);
  made.U.end_row();
  made.U.end_row();
  made.pivots = {4, 0.5};
  CHECK(factorization::growth_of_solves(made) == 2);
  made.pivots = {4, 1e-320};
  CHECK(std::isinf(factorization::growth_of_solves(made)));
}

TEST_CASE("ilu and ic solve matrices from practice", "[linear][data][ilu]") {
  const char* const folder = std::getenv("WHILST_DATA_DIR");
  if (!folder) {
    WARN("skipped: WHILST_DATA_DIR is not set");
    return;
  }
  struct one {
    const char *matrix, *method, *preconditioner;
    index_type most_iterations;
  };
  for (const one& m : {one{"west0479", "gmres", "ilu", 60},
                       {"west0479", "bicgstab", "ilu", 60},
                       {"bayer10", "gmres", "ilu", 200},
                       {"bayer10", "bicgstab", "ilu", 200},
                       {"ani1_nonsymm", "bicgstab", "ilu", 60},
                       {"1138_bus", "cg", "ic", 60},
                       {"bcsstk13", "cg", "ic", 1000}}) {
    if (under_sanitizers && m.matrix != std::string("west0479")) continue;
    const auto A = whilst::read_matrix<double>(std::string(folder) + "/mtx/" + m.matrix + ".mtx");
    const std::vector<double> b = times_ones(A);
    for (const std::string& executor : executors_with_steps()) {
      std::vector<double> x(b.size(), 0);
      linear_solver<double> solver(
          A, {.method = m.method, .preconditioner = m.preconditioner, .rtol = 1e-8, .executor = executor});
      const report r = solver.solve(b, x);
      const double residual = relative_residual(A, b, x);
      std::cout << m.matrix << ", " << m.method << ", " << executor << ": " << name(r.reason()) << " after "
                << r.iterations() << " iterations, relative residual " << residual << ", set-up " << r.setup_seconds()
                << " s, solve " << r.solve_seconds() << " s; " << r.preconditioner_choice() << "\n";
      INFO(m.matrix << ", " << m.method << ", " << executor);
      CHECK(r.converged());
      CHECK(residual <= 1.01e-8);
      CHECK(r.iterations() <= m.most_iterations);
    }
  }
}

}  // namespace whilst_test
