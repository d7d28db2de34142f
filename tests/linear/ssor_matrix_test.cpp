// Preconditioner "ssor" as a matrix, against its closed form.
#include <cmath>
#include <limits>

#include <Eigen/Dense>

#include "solvers/linear/colouring/row_colours.hpp"
#include "solvers/linear/ssor/ssor.hpp"
#include "tests/catch.hpp"
#include "tests/linear/made_preconditioner.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::ssor_options;

using long_matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// A matrix with entries by chance, its diagonal larger than the rest of a row; symmetric, or nowhere.
template <class T>
csr_matrix<T> diagonally_dominant(int n, int entries_a_row, bool symmetric, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i)
    for (int e = 0; e < entries_a_row; ++e) {
      const auto j = static_cast<int>(generator() % static_cast<unsigned>(n));
      all(i, j) = value(generator);
      if (symmetric) all(j, i) = all(i, j);
    }
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    for (int j = n - 1; j >= 0; --j)  // not in order
      if (j != i && all(i, j) != 0) row.emplace_back(j, all(i, j));
    // In two parts.
    row.insert(row.begin(), {{i, 0.5}, {i, 0.5 + all.row(i).cwiseAbs().sum() + 0.1 * (i % 5)}});
    t.row(row);
  }
  return t.matrix();
}

/// The colour of each row, by the host, whose colours have a test of their own.
template <class T>
std::vector<int> colours(const csr_matrix<T>& A) {
  const whilst::place where = whilst::place::host();
  whilst::multigrid::level_memory kept(where, 4096), scratch(where, 4096);
  const auto found = whilst::colouring::colour_rows(
      "testing", "Use another", where,
      {A.rows(), A.rows(), A.nonzeros(), A.row_offsets_32().data(), A.column_indices().data()}, kept, scratch);
  return {found.colour, found.colour + A.rows()};
}

/// Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed. (2003), section 10.2, with D + L + U = factor A for
/// rows in the order of colours: M = omega (2 - omega) (D + omega U)^-1 D (D + omega L)^-1, and for k sweeps the sum of
/// (I - M A)^j M for j < k. The diagonal counts as 1 where it is 0, and if `absolute` by its sizes, and entries between
/// two negative ones with the other sign.
template <class T>
Eigen::MatrixXd exact_ssor(const csr_matrix<T>& A, double factor, const ssor_options& options, bool absolute) {
  const std::vector<int> colour = colours(A);
  const auto n = static_cast<Eigen::Index>(A.rows());
  long_matrix all = (factor * Eigen::MatrixXd(to_eigen(A))).cast<long double>();
  const long double omega = options.omega;
  if (absolute) {
    const auto negative = (all.diagonal().array() < 0).cast<long double>().matrix().eval();
    all = (all.array() * (1 - 2 * (negative * negative.transpose()).array())).matrix().eval();
  }
  long_matrix lower = long_matrix::Zero(n, n), upper = lower, D = lower;
  for (Eigen::Index i = 0; i < n; ++i) {
    long double& d = all(i, i);
    d = d == 0 ? 1 : absolute ? std::abs(d) : d;
    D(i, i) = d;
    for (Eigen::Index j = 0; j < n; ++j) {
      if (i == j) continue;
      const int of_row = colour[static_cast<std::size_t>(i)], of_column = colour[static_cast<std::size_t>(j)];
      (of_column < of_row ? lower : upper)(i, j) = all(i, j);
    }
  }
  const long_matrix identity = long_matrix::Identity(n, n);
  const long_matrix once =
      omega * (2 - omega) * (D + omega * upper).fullPivLu().solve(D) * (D + omega * lower).fullPivLu().solve(identity);
  long_matrix M = long_matrix::Zero(n, n);
  for (int k = 0; k < options.sweeps; ++k) M = once + (identity - once * all) * M;
  return M.cast<double>();
}

double distance_of(const Eigen::MatrixXd& M, const Eigen::MatrixXd& exact) {
  return (M - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff();
}
/// Sums of up to 40 entries, twice a sweep, each with what the sweeps before have lost; amplified little, since
/// diagonals are dominant.
template <class T>
double tolerance_of(int sweeps) {
  return 64 * sweeps * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
preconditioner_for_test<T> ssor_with(const ssor_options& options, bool symmetric) {
  return [=](const whilst::solve_request<T>& of) { return whilst::make_ssor<T>(of, symmetric, options); };
}

const std::vector<ssor_options> several_options{
    {}, {.omega = 1.6}, {.omega = 0.7, .sweeps = 2}, {.sweeps = 3}, {.omega = 1.2, .sweeps = 5}};

}  // namespace

TEMPLATE_TEST_CASE("ssor: by hand", "[linear][ssor][sanitizer]", float, double) {
  using T = TestType;
  // Row 1 waits for rows 0 and 2. For r = e_1: z_1 = 1/4 forward, then z_0 = z_2 = 1/2 1/4.
  triplets<T> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 4}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  for (const way& w : ways()) {
    const Eigen::MatrixXd M = matrix_of<T>(ssor_with<T>({}, true), t.matrix(), w);
    Eigen::MatrixXd exact(3, 3);
    exact << 0.5 + 1.0 / 16, 1.0 / 8, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 8, 0.5 + 1.0 / 16;
    INFO(w.name);
    CHECK(M == exact);  // powers of two
  }
}

TEMPLATE_TEST_CASE("ssor: M is that of the formula", "[linear][ssor]", float, double) {
  using T = TestType;
  struct shape {
    int rows, entries_a_row;
  };
  for (const way& w : ways())
    for (const shape& of : {shape{1, 0}, {5, 0}, {12, 1}, {40, 3}, {33, 12}})
      for (const bool symmetric : {true, false})
        for (const ssor_options& options : several_options) {
          INFO(w.name << ", " << of.rows << " rows, omega " << options.omega << ", " << options.sweeps << " sweeps");
          const csr_matrix<T> A = diagonally_dominant<T>(of.rows, of.entries_a_row, symmetric, 3);
          const double factor = of.rows == 40 ? 0.25 : 1;
          const Eigen::MatrixXd M = matrix_of(ssor_with<T>(options, symmetric), A, w, factor);
          CHECK(distance_of(M, exact_ssor(A, factor, options, symmetric)) <= tolerance_of<T>(options.sweeps));
        }
}

TEMPLATE_TEST_CASE("ssor: definite for every symmetric matrix", "[linear][ssor][sanitizer]", float, double) {
  using T = TestType;
  triplets<T> t(7);  // negative entries on the diagonal, a zero, none at all
  t.row({{0, 2}, {1, -1}, {5, 0.5}});
  t.row({{0, -1}, {1, -3}, {2, 1}, {6, -0.5}});
  t.row({{1, 1}, {2, 0}, {3, 2}});
  t.row({{2, 2}, {4, 1}});
  t.row({{3, 1}, {4, 4}});
  t.row({{0, 0.5}, {5, 1}});
  t.row({{1, -0.5}, {6, -2}});
  const csr_matrix<T> A = t.matrix();
  for (const way& w : ways())
    for (const ssor_options& options : several_options) {
      const Eigen::MatrixXd M = matrix_of(ssor_with<T>(options, true), A, w);
      INFO(w.name << ", omega " << options.omega << ", " << options.sweeps << " sweeps");
      // Nothing dominates here: the largest entry of I - M A is 3, and so it may grow by that in each sweep.
      const double tolerance = tolerance_of<T>(options.sweeps) * std::pow(3, options.sweeps);
      CHECK(distance_of(M, exact_ssor(A, 1, options, true)) <= tolerance);
      CHECK(distance_of(M, M.transpose()) <= tolerance);
      CHECK(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(M + M.transpose()).eigenvalues().minCoeff() > 0);
      // Under a method for any matrix the diagonal keeps its signs.
      CHECK(distance_of(matrix_of(ssor_with<T>(options, false), A, w), exact_ssor(A, 1, options, false)) <= tolerance);
    }
}

TEMPLATE_TEST_CASE("ssor: -A has the M of A where M is to be definite", "[linear][ssor][sanitizer]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = diagonally_dominant<T>(40, 3, true, 3);
  for (const way& w : ways())
    for (const ssor_options& options : several_options) {
      INFO(w.name << ", omega " << options.omega << ", " << options.sweeps << " sweeps");
      const Eigen::MatrixXd M = matrix_of(ssor_with<T>(options, true), A, w);
      CHECK(M == matrix_of(ssor_with<T>(options, true), A, w, -1));  // signs alone differ
      CHECK(M == -matrix_of(ssor_with<T>(options, false), A, w, -1));
    }
}

TEST_CASE("ssor: larger than a block, with many colours", "[linear][ssor]") {
  for (const way& w : ways())
    for (const int entries_a_row : {2, 20}) {
      if (under_sanitizers && entries_a_row == 2) continue;  // of few colours
      const csr_matrix<double> A = diagonally_dominant<double>(300, entries_a_row, true, 7);
      const ssor_options options{.omega = 1.3, .sweeps = 2};
      CHECK(distance_of(matrix_of(ssor_with<double>(options, true), A, w), exact_ssor(A, 1, options, true)) <=
            tolerance_of<double>(options.sweeps));
    }
}

}  // namespace whilst_test
