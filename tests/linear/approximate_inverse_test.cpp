// Preconditioners "fsai" and "spai": M itself, against dense algebra.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include "solvers/linear/approximate_inverse/approximate_inverse.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::approximate_inverse_kind;
using whilst::buffer;
using whilst::csr_matrix;
using whilst::fsai_options;
using whilst::index_type;

namespace {

using long_matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using long_vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
constexpr auto fsai = approximate_inverse_kind::fsai, spai = approximate_inverse_kind::spai;

/// M for *factor A, as the library applies it to each unit vector.
template <class T>
long_matrix applied(const way& w, const csr_matrix<T>& A, approximate_inverse_kind kind, const fsai_options& options,
                    double factor = 1) {
  const index_type n = A.rows();
  const buffer<std::int32_t> offsets(w.where, n + 1, A.row_offsets_32().data()),
      columns(w.where, A.nonzeros(), A.column_indices().data());
  const buffer<T> values(w.where, A.nonzeros(), A.values_data());
  whilst::solve_request<T> matrix;
  matrix.where = w.where;
  matrix.rows = matrix.columns = n;
  matrix.nonzeros = A.nonzeros();
  matrix.row_offsets = offsets.data();
  matrix.column_indices = columns.data();
  matrix.values = values.data();
  const auto M = make_approximate_inverse(matrix, kind, options);
  const T* const first = values.data();
  const buffer<const T*> address(w.where, 1, &first);
  const buffer<double> factor_there(w.where, 1, &factor);
  buffer<T> r(w.where, n);
  const buffer<T> z(w.where, n);
  M->read_values_from({address.data()});
  whilst::workspace measured;
  M->take_memory(n, measured);
  const buffer<std::byte> memory(w.where, measured.used() + 1);
  whilst::workspace taken(memory.data());
  M->take_memory(n, taken);
  whilst::program_recorder record(w.where);
  M->prepare_by_itself(record, factor_there.data());
  M->apply(record, r.data(), z.data());
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  long_matrix all(n, n);
  for (index_type j = 0; j < n; ++j) {
    std::vector<T> unit(static_cast<std::size_t>(n), T(0));
    unit[static_cast<std::size_t>(j)] = 1;
    r.upload(unit.data());
    run(program);
    const std::vector<T> column = whilst_test::values(z);
    for (index_type i = 0; i < n; ++i) all(i, j) = column[static_cast<std::size_t>(i)];
  }
  return all;
}

template <class T>
long_matrix dense_of(const csr_matrix<T>& A) {
  return Eigen::MatrixXd(to_eigen(A)).template cast<long double>();
}

/// The rows within so many steps of i, along entries of A or A', those that do not pass left out.
template <class Passes>
std::vector<Eigen::Index> reached(const long_matrix& A, Eigen::Index i, int power, const Passes& passes) {
  std::vector<bool> in(static_cast<std::size_t>(A.rows()));
  in[static_cast<std::size_t>(i)] = true;
  for (int step = 0; step < power; ++step) {
    const std::vector<bool> before = in;
    for (Eigen::Index k = 0; k < A.rows(); ++k)
      for (Eigen::Index j = 0; j < A.rows(); ++j)
        if (before[static_cast<std::size_t>(k)] && (A(k, j) != 0 || A(j, k) != 0) && passes(j))
          in[static_cast<std::size_t>(j)] = true;
  }
  std::vector<Eigen::Index> result;
  for (Eigen::Index j = 0; j < A.rows(); ++j)
    if (in[static_cast<std::size_t>(j)]) result.push_back(j);
  return result;
}
long_matrix part(const long_matrix& A, const std::vector<Eigen::Index>& rows,
                 const std::vector<Eigen::Index>& columns) {
  long_matrix result(rows.size(), columns.size());
  for (std::size_t p = 0; p < rows.size(); ++p)
    for (std::size_t q = 0; q < columns.size(); ++q)
      result(static_cast<Eigen::Index>(p), static_cast<Eigen::Index>(q)) = A(rows[p], columns[q]);
  return result;
}

/// G'G by Kolotilina and Yeremin's formula, row by row, on the pattern of graph^power; before(j, i) is the order.
template <class Before>
long_matrix exact_fsai(const long_matrix& A, const long_matrix& graph, int power, const Before& before) {
  long_matrix G = long_matrix::Zero(A.rows(), A.rows());
  for (Eigen::Index i = 0; i < A.rows(); ++i) {
    const auto J = reached(graph, i, power, [&](Eigen::Index j) { return j == i || before(j, i); });
    const auto own = std::find(J.begin(), J.end(), i) - J.begin();
    const long_vector unit = long_vector::Unit(static_cast<Eigen::Index>(J.size()), own);
    const long_vector g = part(A, J, J).ldlt().solve(unit);
    for (std::size_t p = 0; p < J.size(); ++p) G(i, J[p]) = g[static_cast<Eigen::Index>(p)] / std::sqrt(g[own]);
  }
  return G.transpose() * G;
}
/// The rows of least ||m A - e_i'|| on the pattern of graph^power, by QR.
long_matrix exact_spai(const long_matrix& A, const long_matrix& graph, int power) {
  const Eigen::Index n = A.rows();
  std::vector<Eigen::Index> all;
  for (Eigen::Index i = 0; i < n; ++i) all.push_back(i);
  long_matrix M = long_matrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto J = reached(graph, i, power, [](Eigen::Index) { return true; });
    const long_vector unit = long_vector::Unit(n, i);
    const long_vector m = part(A, J, all).transpose().colPivHouseholderQr().solve(unit);
    for (std::size_t p = 0; p < J.size(); ++p) M(i, J[p]) = m[static_cast<Eigen::Index>(p)];
  }
  return M;
}

/// Five points on a square grid with another weight in each direction, and a drift.
template <class T>
csr_matrix<T> weighted_grid(int side, double drift) {
  triplets<T> t(side * side);
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      const int k = i * side + j;
      std::vector<std::pair<int, double>> row{{k, 3 + 0.125 * (k % 3)}};
      if (i > 0) row.emplace_back(k - side, -0.5 - drift);
      if (i + 1 < side) row.emplace_back(k + side, -0.5 + drift);
      if (j > 0) row.emplace_back(k - 1, -1 - drift);
      if (j + 1 < side) row.emplace_back(k + 1, -1 + drift);
      t.row(row);  // not in the order of columns
    }
  }
  return t.matrix();
}
template <class T>
csr_matrix<T> line(int n) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i > 0) row.emplace_back(i - 1, -1);
    row.emplace_back(i, 2.25);
    if (i + 1 < n) row.emplace_back(i + 1, -1);
    t.row(row);
  }
  return t.matrix();
}

/// How exact M is: its entries are stored in float or in double, and made from systems of at most 32 unknowns with
/// condition numbers below 100.
double tolerance(const std::string& precision) {
  return precision == "float"    ? 10.0 * std::numeric_limits<float>::epsilon()
         : precision == "double" ? 1000 * std::numeric_limits<double>::epsilon()
                                 : 0x1p-7;  // bfloat16: each factor to 2^-9
}

}  // namespace

TEST_CASE("fsai: G by hand", "[linear][fsai]") {
  // A = [4 2; 2 5]: row 0 alone, 1/2; row 1 from [4 2; 2 5] g = e_1: g = [-1/8, 1/4], over sqrt(1/4). Stored in float,
  // which rounds each entry once.
  const double close = 4 * std::numeric_limits<float>::epsilon() * 0.4;
  triplets<double> t(2);
  t.row({{0, 4}, {1, 2}});
  t.row({{0, 2}, {1, 5}});
  long_matrix exact(2, 2);
  exact << 0.25 + 0.0625, -0.125, -0.125, 0.25;
  for (const way& w : ways()) {
    INFO(w.name);
    const fsai_options in_order{.order = "none"};
    CHECK((applied(w, t.matrix(), fsai, in_order) - exact).norm() <= close);
    CHECK((applied(w, t.matrix(), fsai, in_order, 2.0) - exact / 2).norm() <= close / 2);
    const csr_matrix<double> negative(2, 2, t.offsets, t.columns, std::vector<double>{-4, -2, -2, -5});
    CHECK((applied(w, negative, fsai, in_order) + exact).norm() <= close);
    const csr_matrix<double> one(1, 1, std::vector<int>{0, 1}, std::vector<int>{0}, std::vector<double>{8});
    for (const auto kind : {fsai, spai})
      CHECK(static_cast<double>(applied(w, one, kind, {.precision = "double"})(0, 0)) ==
            Approx(0.125).epsilon(4 * std::numeric_limits<double>::epsilon()));
  }
}

TEMPLATE_TEST_CASE("fsai: M is that of the formula", "[linear][fsai][sanitizer]", float, double) {
  const csr_matrix<TestType> A = weighted_grid<TestType>(6, 0);
  const long_matrix dense = dense_of(A);
  for (const way& w : ways())
    for (const std::string precision : {"float", "double", "bfloat16"})
      for (int power = 1; power <= 3; ++power) {
        const bool is_float = std::is_same_v<TestType, float>;
        if (is_float && precision == "double") continue;
        INFO(w.name << ", " << precision << ", power " << power);
        const double close = tolerance(is_float && precision == "double" ? "float" : precision);
        const auto near = [&](const char* order, const auto& before) {
          const long_matrix exact = exact_fsai(dense, dense, power, before);
          const long_matrix M = applied(w, A, fsai, {.power = power, .order = order, .precision = precision});
          CHECK((M - exact).norm() <= close * exact.norm());
          CHECK((M - M.transpose()).norm() <= 8 * std::numeric_limits<TestType>::epsilon() * exact.norm());
        };
        near("none", [](auto j, auto i) { return j < i; });
        // Red and black, as on a chessboard.
        near("alternating", [](auto j, auto i) {
          const auto of = [](auto k) { return (k / 6 + k % 6) % 2; };
          return of(j) < of(i) || (of(j) == of(i) && j < i);
        });
      }
}

TEST_CASE("fsai: with all entries of a factor, M is the inverse, in any order", "[linear][fsai]") {
  const int n = 30;
  const csr_matrix<double> A = line<double>(n);
  const long_matrix dense = dense_of(A);
  for (const char* order : {"none", "alternating", "random"}) {
    for (const way& w : ways()) {
      INFO(w.name << ", " << order);
      const long_matrix M = applied(w, A, fsai, {.power = 32, .order = order, .precision = "double"});
      CHECK((M * dense - long_matrix::Identity(n, n)).norm() <= tolerance("double"));
    }
  }
}

TEMPLATE_TEST_CASE("spai: M is that of least squares", "[linear][fsai][sanitizer]", float, double) {
  const csr_matrix<TestType> A = weighted_grid<TestType>(6, 0.25);
  const long_matrix dense = dense_of(A);
  for (const way& w : ways())
    for (int power = 1; power <= 2; ++power) {
      INFO(w.name << ", power " << power);
      const std::string precision = std::is_same_v<TestType, float> ? "float" : "double";
      const long_matrix exact = exact_spai(dense, dense, power),
                        M = applied(w, A, spai, {.power = power, .precision = precision});
      CHECK((M - exact).norm() <= tolerance(precision) * exact.norm());
    }
}

TEST_CASE("spai: the inverse of a permutation, and of rows that depend on each other", "[linear][fsai]") {
  // Zeros on the whole diagonal: what the inverse has is in the pattern of the transpose.
  triplets<double> shifted(7), dependent(3);
  for (int i = 0; i < 7; ++i) shifted.row({{(i + 3) % 7, 2.0 + i}});
  for (int i = 0; i < 3; ++i) dependent.row({{0, 1}, {1, 2}, {2, i == 2 ? 5.0 : 3.0}});
  for (const way& w : ways()) {
    INFO(w.name);
    const long_matrix A = dense_of(shifted.matrix()), M = applied(w, shifted.matrix(), spai, {.precision = "double"});
    CHECK((M * A - long_matrix::Identity(7, 7)).norm() <= tolerance("double"));
    const long_matrix B = dense_of(dependent.matrix()),
                      N = applied(w, dependent.matrix(), spai, {.precision = "double"});
    const long_matrix least = B * B.completeOrthogonalDecomposition().pseudoInverse();
    // Any m has the same residual as the pseudo-inverse's.
    CHECK(std::abs((N * B - long_matrix::Identity(3, 3)).norm() - (long_matrix::Identity(3, 3) - least).norm()) <=
          1000 * std::sqrt(std::numeric_limits<double>::epsilon()));
  }
}

TEST_CASE("fsai and spai: drop and most leave out the weak", "[linear][fsai]") {
  // Strong along lines of 8, weak across: with drop, the lines' inverses alone.
  const int side = 8;
  triplets<double> t(side * side), lines(side * side);
  for (int k = 0; k < side * side; ++k) {
    std::vector<std::pair<int, double>> row{{k, 2.5}}, strong = row;
    if (k % side > 0) strong.emplace_back(k - 1, -1);
    if (k % side + 1 < side) strong.emplace_back(k + 1, -1);
    row = strong;
    if (k >= side) row.emplace_back(k - side, -0.01);
    if (k + side < side * side) row.emplace_back(k + side, -0.01);
    t.row(row);
    lines.row(strong);
  }
  const long_matrix of_lines = dense_of(lines.matrix());
  for (const way& w : ways()) {
    INFO(w.name);
    const auto M_of = [&](const auto& A, approximate_inverse_kind kind, fsai_options options) {
      options.precision = "double";
      return applied(w, A.matrix(), kind, options);
    };
    const fsai_options all_of_a_line{.power = 8, .drop = 0.1};
    CHECK((M_of(t, fsai, all_of_a_line) * of_lines - long_matrix::Identity(64, 64)).norm() <= tolerance("double"));
    long_matrix strongest = of_lines;  // of those before a row; at the beginning of a line that is a weak one
    for (int k = side; k < side * side; k += side) strongest(k, k - side) = 1;
    const auto before = [](auto j, auto i) { return j < i; };
    CHECK(
        (M_of(t, fsai, {.most = 2, .order = "none"}) - exact_fsai(dense_of(t.matrix()), strongest, 1, before)).norm() <=
        tolerance("double"));
    CHECK((M_of(t, spai, {.drop = 0.1}) - exact_spai(dense_of(t.matrix()), of_lines, 1)).norm() <= tolerance("double"));
    const long_matrix diagonal = M_of(t, fsai, {.most = 1});
    CHECK((diagonal - long_matrix::Identity(64, 64) / 2.5L).norm() <= tolerance("double"));
  }
}

TEST_CASE("fsai: a row keeps its strongest neighbours", "[linear][fsai]") {
  triplets<double> t(5);
  const double beside[4] = {-0.2, -0.1, -0.4, -0.3};
  std::vector<std::pair<int, double>> last;
  for (int i = 0; i < 4; ++i) {
    t.row({{i, 1}, {4, beside[i]}});
    last.emplace_back(i, beside[i]);
  }
  last.emplace_back(4, 1);
  t.row(last);
  const long_matrix A = dense_of(t.matrix());
  long_matrix graph = long_matrix::Zero(5, 5);
  graph(4, 2) = graph(4, 3) = 1;
  const long_matrix exact = exact_fsai(A, graph, 1, [](auto j, auto i) { return j < i; });
  for (const way& w : ways()) {
    INFO(w.name);
    const long_matrix M = applied(w, t.matrix(), fsai, {.most = 3, .order = "none", .precision = "double"});
    CHECK((M - exact).norm() <= tolerance("double"));
  }
}

TEST_CASE("fsai: a neighbour that fails is left out, and no other", "[linear][fsai]") {
  // Without row 1, the matrix of "G by hand".
  for (const double failing : {std::numeric_limits<double>::quiet_NaN(), 0.0, -1.0}) {
    triplets<double> t(3);
    t.row({{0, 4}, {2, 2}});
    t.row({{1, failing}, {2, failing}});
    t.row({{0, 2}, {1, failing}, {2, 5}});
    for (const way& w : ways()) {
      INFO(w.name << ", " << failing);
      const long_matrix M = applied(w, t.matrix(), fsai, {.order = "none", .precision = "double"});
      CHECK(std::abs(M(0, 0) - 0.3125L) <= tolerance("double"));
      CHECK(std::abs(M(2, 0) + 0.125L) <= tolerance("double"));
      CHECK(std::abs(M(2, 2) - 0.25L) <= tolerance("double"));
      CHECK(M(1, 1) > 0);
      CHECK(M(1, 0) == 0);
      CHECK(M(1, 2) == 0);
    }
  }
}

TEST_CASE("fsai: M is positive definite, whatever A is", "[linear][fsai]") {
  std::vector<std::pair<std::string, csr_matrix<double>>> matrices;
  const auto add = [&](const char* what, const std::vector<std::vector<std::pair<int, double>>>& rows) {
    triplets<double> t(static_cast<index_type>(rows.size()));
    for (const auto& row : rows) t.row(row);
    matrices.emplace_back(what, t.matrix());
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  add("indefinite", {{{0, 1}, {1, 2}}, {{0, 2}, {1, 1}}});
  add("zeros on the diagonal", {{{1, 1}}, {{0, 1}}});
  add("a row of zeros", {{{0, 4}}, {{1, 0}}, {}});
  add("either sign", {{{0, 2}, {1, 1}}, {{0, 1}, {1, -3}, {2, 1}}, {{1, 1}, {2, 4}}});
  add("a NaN", {{{0, 2}, {1, nan}}, {{0, nan}, {1, 2}}, {{2, nan}}});
  add("far apart", {{{0, 1e-300}, {1, 1}}, {{0, 1}, {1, 1e300}}});
  add("entries twice", {{{0, 1}, {1, 1}, {0, 2}}, {{1, 1}, {0, 1}, {1, 4}}});
  for (const auto& [what, A] : matrices)
    for (const way& w : ways())
      for (const char* order : {"none", "alternating", "random"}) {
        INFO(what << ", " << w.name << ", " << order);
        const long_matrix M = applied(w, A, fsai, {.power = 2, .order = order});
        CHECK(M.allFinite());
        // "either sign" has a positive trace, as the others have.
        CHECK(Eigen::SelfAdjointEigenSolver<long_matrix>(M).eigenvalues().minCoeff() > 0);
        CHECK(applied(w, A, spai, {.power = 2}).allFinite());
        if (what == "entries twice")
          CHECK((M * dense_of(A) - long_matrix::Identity(2, 2)).norm() <= tolerance("float"));
      }
}

}  // namespace whilst_test
