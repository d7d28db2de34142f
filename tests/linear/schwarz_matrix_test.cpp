// Preconditioner "schwarz" as a matrix, against inverses in extended precision of subdomains that are known by hand.
#include <cmath>
#include <limits>
#include <random>

#include "solvers/linear/schwarz/schwarz.hpp"
#include "tests/catch.hpp"
#include "tests/linear/made_preconditioner.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::schwarz_options;

using wide_matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// Row i is joined to the rows around i in a path, ever less. Dominated by the diagonal, some entries there twice,
/// columns in no order.
template <class T>
csr_matrix<T> path(int n, bool symmetric) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> value(0.5, 1);
  std::vector<double> forward, backward;
  for (int i = 0; i < n; ++i) {
    forward.push_back(value(generator));
    backward.push_back(symmetric ? forward.back() : value(generator));
  }
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i + 1 < n) row.emplace_back(i + 1, -forward[static_cast<std::size_t>(i)]);
    row.emplace_back(i, 1);
    if (i > 0) row.emplace_back(i - 1, -backward[static_cast<std::size_t>(i) - 1]);
    row.emplace_back(i, 1.5);
    t.row(row);
  }
  return t.matrix();
}
/// Pieces of a path of n rows, and how far they reach into their neighbours.
struct pieces {
  int n, rows, overlap;

  /// Calls use(first row of a piece, one beyond its last, the same of its own ones).
  template <class Use>
  void each(const Use& use) const {
    for (int first = 0; first < n; first += rows) {
      const int end = std::min(n, first + rows);
      use(std::max(0, first - overlap), std::min(n, end + overlap), first, end);
    }
  }
};
template <class T>
wide_matrix oracle(const csr_matrix<T>& A, const pieces& of, bool symmetric, double factor) {
  const wide_matrix all = static_cast<long double>(factor) * Eigen::MatrixXd(to_eigen(A)).cast<long double>();
  Eigen::Matrix<long double, Eigen::Dynamic, 1> times(A.rows());
  times.setZero();
  of.each([&](int first, int end, int, int) { times.segment(first, end - first).array() += 1; });
  wide_matrix M = wide_matrix::Zero(A.rows(), A.rows());
  of.each([&](int first, int end, int own, int own_end) {
    const int size = end - first;
    const wide_matrix inverse = all.block(first, first, size, size).inverse();
    if (symmetric) {
      const auto weights = times.segment(first, size).cwiseSqrt().cwiseInverse().eval();
      M.block(first, first, size, size) += weights.asDiagonal() * inverse * weights.asDiagonal();
    } else {
      M.block(own, first, own_end - own, size) = inverse.middleRows(own - first, own_end - own);
    }
  });
  return M;
}

template <class T>
preconditioner_for_test<T> schwarz_with(bool symmetric, const schwarz_options& options) {
  return [=](const whilst::solve_request<T>& of) { return whilst::make_schwarz<T>(of, symmetric, options); };
}

}  // namespace

TEMPLATE_TEST_CASE("schwarz: the inverses of overlapping pieces", "[linear][schwarz]", float, double) {
  using T = TestType;
  for (const way& w : ways())
    for (const bool symmetric : {false, true})
      for (const std::string precision : {"auto", "double"})
        for (const pieces& of :
             std::vector<pieces>{{1, 4, 1}, {7, 2, 1}, {7, 2, 3}, {60, 5, 0}, {61, 5, 2}, {70, 16, 1}, {80, 30, 4}}) {
          INFO(w.name << ", " << of.n << " rows, pieces of " << of.rows << " and " << of.overlap << ", symmetric "
                      << symmetric << ", " << precision);
          const csr_matrix<T> A = path<T>(of.n, symmetric);
          const double factor = of.n % 2 ? 0.5 : -4;
          const Eigen::MatrixXd M =
              matrix_of(schwarz_with<T>(symmetric, {.rows = of.rows, .overlap = of.overlap, .precision = precision}), A,
                        w, factor, /*wide_offsets=*/of.n == 61);
          wide_matrix exact = oracle(A, of, symmetric, factor);
          if (symmetric && factor < 0) exact = -exact;  // M is positive definite
          // Inverted in double, rounded once, weights twice; a row adds up what up to 5 subdomains contribute, in T.
          const bool in_float = sizeof(T) == 4 || precision == "auto";
          const double roundings = in_float ? 8 * static_cast<double>(std::numeric_limits<float>::epsilon())
                                            : 64 * std::numeric_limits<double>::epsilon();
          CHECK(static_cast<double>((M.cast<long double>() - exact).cwiseAbs().maxCoeff()) <=
                roundings * static_cast<double>(exact.cwiseAbs().maxCoeff()));
          if (symmetric) CHECK((M == M.transpose()));
        }
}

TEST_CASE("schwarz: a subdomain that holds all is the inverse", "[linear][schwarz]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:8").matrix;
  const Eigen::MatrixXd exact = Eigen::MatrixXd(to_eigen(A)).inverse();
  for (const way& w : ways())
    for (const bool symmetric : {false, true}) {
      const Eigen::MatrixXd M = matrix_of(schwarz_with<double>(symmetric, {.rows = 64, .precision = "double"}), A, w);
      CHECK((M - exact).cwiseAbs().maxCoeff() <= 256 * std::numeric_limits<double>::epsilon());  // condition 33
    }
}

TEST_CASE("schwarz: the largest subdomain", "[linear][schwarz]") {
  // 128 rows, with the elimination's pivots: a dense block of 64 own rows and 64 beside, each joined to all.
  constexpr int n = 131;  // no full blocks of 2 x 2 to 6 x 6
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> value(-1, 1);
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    for (int j = 0; j < n; ++j) row.emplace_back(j, i == j ? 2 * n : value(generator));
    t.row(row);
  }
  const csr_matrix<double> A = t.matrix();
  for (const way& w : ways()) {
    std::string made;
    const auto make = [&](const whilst::solve_request<double>& of) {
      auto M = whilst::make_schwarz<double>(of, false, {.rows = 64, .overlap = 1, .precision = "double"});
      made = M->description();
      return M;
    };
    const Eigen::MatrixXd M = matrix_of(preconditioner_for_test<double>(make), A, w);
    CHECK(made == "3 subdomains of 128 rows");
    // A row of M A has the row of the unit matrix where the row's subdomain is.
    const Eigen::MatrixXd all = Eigen::MatrixXd(to_eigen(A));
    for (int i = 0; i < n; ++i) {
      std::vector<int> in;
      for (int j = 0; j < n; ++j)
        if (M(i, j) != 0) in.push_back(j);
      CHECK(in.size() == 128);
      for (const int j : in) {
        double product = 0;
        for (const int k : in) product += M(i, k) * all(k, j);
        CHECK(std::abs(product - (i == j)) <= 64 * std::numeric_limits<double>::epsilon());
      }
    }
  }
}

TEST_CASE("schwarz: what has no inverse counts as its diagonal", "[linear][schwarz]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const way& w : ways()) {
    // Rows 0 and 1 are one subdomain, and row 2 another, which reaches to row 1.
    triplets<double> singular(3);
    singular.row({{0, 2}, {1, 2}});
    singular.row({{0, 2}, {1, 2}});
    singular.row({{1, 1}, {2, 4}});
    Eigen::MatrixXd exact(3, 3);
    exact << 0.5, 0, 0, 0, 0.5, 0, 0, -0.125, 0.25;
    CHECK((matrix_of(schwarz_with<double>(false, {.rows = 2}), singular.matrix(), w) == exact));

    triplets<double> hostile(4);  // a NaN, a zero row, a diagonal of both signs
    hostile.row({{0, nan}, {1, 1}});
    hostile.row({});
    hostile.row({{2, 2}, {3, 4}});
    hostile.row({{2, 4}, {3, -8}});
    for (const bool symmetric : {false, true}) {
      const Eigen::MatrixXd M =
          matrix_of(schwarz_with<double>(symmetric, {.rows = 2, .overlap = 0}), hostile.matrix(), w);
      CHECK((M.topLeftCorner(2, 2) == Eigen::MatrixXd::Identity(2, 2)));
      if (symmetric) CHECK((M.diagonal().tail(2) == Eigen::Vector2d(0.5, 0.125)));
      CHECK(M.allFinite());
    }
  }
}

}  // namespace whilst_test
