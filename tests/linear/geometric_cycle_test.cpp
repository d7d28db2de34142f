// Preconditioner "multigrid" as a matrix, against a textbook's cycle.
#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <Eigen/Sparse>

#include "solvers/linear/geometric_multigrid/geometric_multigrid.hpp"
#include "solvers/linear/geometric_multigrid/grid_steps.hpp"
#include "tests/catch.hpp"
#include "tests/linear/grid_matrices.hpp"
#include "tests/linear/made_preconditioner.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

using whilst::csr_matrix;
using whilst::multigrid_options;

/// An axis in absolute units: points at h, 2 h, ..., the boundary at `end`.
struct axis_of_grid {
  int points;
  double h, end;

  double to_next(int i) const { return i == points - 1 ? end - points * h : h; }
  Eigen::MatrixXd differences() const {
    Eigen::MatrixXd K = Eigen::MatrixXd::Zero(points, points);
    for (int i = 0; i < points; ++i) {
      K(i, i) = 1 / h + 1 / to_next(i);
      if (i > 0) K(i, i - 1) = K(i - 1, i) = -1 / h;
    }
    return K;
  }
  Eigen::MatrixXd cells() const {
    Eigen::MatrixXd D = Eigen::MatrixXd::Zero(points, points);
    for (int i = 0; i < points; ++i) D(i, i) = (h + to_next(i)) / 2;
    return D;
  }
  axis_of_grid coarser() const { return {points / 2, 2 * h, end}; }
  /// Hat functions of the coarser axis at the points of this one.
  Eigen::MatrixXd interpolation() const {
    const axis_of_grid coarse = coarser();
    Eigen::MatrixXd P(points, coarse.points);
    for (int i = 0; i < points; ++i)
      for (int j = 0; j < coarse.points; ++j) {
        const double distance = (i + 1) * h - (j + 1) * coarse.h;
        P(i, j) = std::max(0.0, 1 - std::fabs(distance) / (distance < 0 ? coarse.h : coarse.to_next(j)));
      }
    return P;
  }
};

Eigen::MatrixXd product(const std::array<Eigen::MatrixXd, 3>& of) {
  Eigen::MatrixXd all = Eigen::MatrixXd::Ones(1, 1);
  for (const Eigen::MatrixXd& one : of) {  // x, which runs fastest, first
    Eigen::MatrixXd next(one.rows() * all.rows(), one.cols() * all.cols());
    for (int i = 0; i < one.rows(); ++i)
      for (int j = 0; j < one.cols(); ++j)
        next.block(i * all.rows(), j * all.cols(), all.rows(), all.cols()) = one(i, j) * all;
    all = next;
  }
  return all;
}

class textbook_multigrid {
  using sparse = Eigen::SparseMatrix<double, Eigen::RowMajor>;

 public:
  textbook_multigrid(const std::array<axis_of_grid, 3>& axes, const std::array<double, 3>& of, double shift,
                     const multigrid_options& options)
      : axes_(axes), options_(options), size_(axes[0].points * axes[1].points * axes[2].points) {
    std::array<Eigen::MatrixXd, 3> cells;
    for (std::size_t d = 0; d < 3; ++d) cells[d] = axes[d].cells();
    A_ = shift * product(cells);
    for (std::size_t d = 0; d < 3; ++d) {
      auto parts = cells;
      parts[d] = axes[d].differences();
      A_ += of[d] * product(parts);
    }
    rows_of_A_ = A_.sparseView();
    if (size_ <= options.coarsest_rows) return;
    double strongest = 0;
    const auto strength = [&](std::size_t d) { return axes[d].points > 1 ? of[d] / (axes[d].h * axes[d].h) : 0; };
    for (std::size_t d = 0; d < 3; ++d) strongest = std::max(strongest, strength(d));
    auto coarse = axes;
    std::array<Eigen::MatrixXd, 3> P;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool coarsens = strength(d) >= strongest / 2;
      P[d] = coarsens ? axes[d].interpolation() : Eigen::MatrixXd::Identity(axes[d].points, axes[d].points);
      if (coarsens) coarse[d] = axes[d].coarser();
      red_ ^= coarsens;
    }
    P_ = product(P).sparseView();
    coarser_ = std::make_unique<textbook_multigrid>(coarse, of, shift, options);
  }

  Eigen::VectorXd solve(const Eigen::VectorXd& b) const {
    if (!coarser_) return A_.lu().solve(b);
    Eigen::VectorXd u = Eigen::VectorXd::Zero(size_);
    for (int sweep = 0; sweep < options_.sweeps; ++sweep)
      for (const int colour : {0, 1}) relax(colour, b, u);
    const Eigen::VectorXd coarse_b = P_.transpose() * (b - rows_of_A_ * u);
    Eigen::VectorXd e = coarser_->solve(coarse_b);
    if (options_.cycle == "W") e += coarser_->solve(coarse_b - coarser_->rows_of_A_ * e);
    u += P_ * e;
    for (int sweep = 0; sweep < options_.sweeps; ++sweep)
      for (const int colour : {1, 0}) relax(colour, b, u);
    return u;
  }
  Eigen::MatrixXd matrix() const {
    Eigen::MatrixXd M(size_, size_);
    for (int j = 0; j < size_; ++j) M.col(j) = solve(Eigen::VectorXd::Unit(size_, j));
    return M;
  }

 private:
  void relax(int colour, const Eigen::VectorXd& b, Eigen::VectorXd& u) const {
    for (int i = 0; i < size_; ++i) {
      const int nx = axes_[0].points, ny = axes_[1].points;
      if ((i % nx + i / nx % ny + i / (nx * ny) + red_) % 2 != colour) continue;
      double r = b[i];
      for (sparse::InnerIterator entry(rows_of_A_, i); entry; ++entry) r -= entry.value() * u[entry.col()];
      u[i] += r / A_(i, i);
    }
  }
  std::array<axis_of_grid, 3> axes_;
  multigrid_options options_;
  int size_, red_ = 0;
  Eigen::MatrixXd A_;
  sparse rows_of_A_, P_;
  std::unique_ptr<textbook_multigrid> coarser_;
};

struct grid_case {
  extents points;
  std::array<double, 3> of;
  double shift;
};

template <class T>
Eigen::MatrixXd cycle_matrix(const grid_case& one, const multigrid_options& options, const way& w, double factor = 1) {
  const csr_matrix<T> A = grid_matrix<T>(one.points, one.of, one.shift);
  return matrix_of<T>(
      [&](const whilst::solve_request<T>& of) { return whilst::make_multigrid_of_matrix<T>(of, options); }, A, w,
      factor);
}

}  // namespace

TEMPLATE_TEST_CASE("a cycle of multigrid is that of textbooks", "[linear][multigrid][sanitizer]", float, double) {
  using T = TestType;
  const std::vector<grid_case> grids{
      {{1, 1, 1}, {1, 0, 0}, 0},     {{2, 1, 1}, {1, 0, 0}, 0},         {{11, 1, 1}, {1, 0, 0}, 0.25},
      {{70, 1, 1}, {1, 0, 0}, 0},    {{5, 4, 1}, {1, 1, 0}, 0},         {{8, 7, 1}, {1, 0.01, 0}, 0},
      {{2, 9, 1}, {1, 1, 0}, 0},     {{4, 5, 6}, {1, 1, 1}, 0},         {{7, 3, 2}, {1, 1, 1}, 1},
      {{6, 5, 4}, {0.1, 1, 0.6}, 0}, {{3, 4, 11}, {1, 1, 0.001}, 0.01},
  };
  const std::vector<multigrid_options> settings{{.precision = "double", .coarsest_rows = 1},
                                                {.precision = "double", .sweeps = 2, .coarsest_rows = 1},
                                                {.precision = "double", .cycle = "W", .sweeps = 3, .coarsest_rows = 3},
                                                {.precision = "float", .cycle = "W", .coarsest_rows = 9}};
  for (const way& w : ways())
    for (const grid_case& one : grids)
      for (multigrid_options options : settings) {
        if (std::is_same_v<T, float>) options.precision = "float";
        const double factor = 0.5;
        const Eigen::MatrixXd M = cycle_matrix<T>(one, options, w, factor);
        std::array<axis_of_grid, 3> axes;
        for (std::size_t d = 0; d < 3; ++d) axes[d] = {one.points[d], 1, one.points[d] + 1.0};
        const Eigen::MatrixXd expected = textbook_multigrid(axes, one.of, one.shift, options).matrix() / factor;
        INFO(w.name << ", " << one.points[0] << " x " << one.points[1] << " x " << one.points[2] << ", "
                    << options.cycle << ", sweeps " << options.sweeps << ", " << options.precision);
        // The condition of these operators is below 2000; rounding grows with its root and with a dozen of sums.
        const double epsilon = options.precision == "float" ? std::numeric_limits<float>::epsilon()
                                                            : std::numeric_limits<double>::epsilon();
        CHECK((M - expected).norm() <= 64 * epsilon * expected.norm());
      }
}

TEST_CASE("multigrid divides by multiplication", "[linear][multigrid]") {
  constexpr int most = std::numeric_limits<int>::max();
  for (const int divisor : {1, 2, 3, 5, 7, 50, 64, 65, 641, 65535, 65537, 1000003, 1 << 30, (1 << 30) + 1, most})
    for (const int times : {0, 1, 2, 99, most / divisor - 1, most / divisor})
      for (const std::int64_t beyond : {-1, 0, 1}) {
        const std::int64_t number = std::int64_t{times} * divisor + beyond;
        if (number < 0 || number > most) continue;
        INFO(number << " / " << divisor);
        CHECK(whilst::geometric_multigrid::quick_divisor(divisor).quotient(static_cast<int>(number)) ==
              number / divisor);
      }
}

TEST_CASE("multigrid: M is symmetric and definite, and close to the inverse", "[linear][multigrid]") {
  const std::vector<grid_case> grids{
      {{15, 15, 1}, {1, 1, 0}, 0},   {{16, 16, 1}, {1, 1, 0}, 0},     {{12, 30, 1}, {1, 1, 0}, 0},
      {{7, 7, 7}, {1, 1, 1}, 0},     {{8, 8, 8}, {1, 1, 1}, 0},       {{5, 9, 12}, {1, 1, 1}, 0},
      {{10, 10, 1}, {1, 0.3, 0}, 0}, {{16, 16, 1}, {1, 0.001, 0}, 0}, {{8, 9, 6}, {1, 0.1, 0.01}, 0}};
  for (const std::string cycle : {"V", "W"})
    for (const grid_case& one : grids) {
      if (under_sanitizers && one.points[0] * one.points[1] * one.points[2] > 350) continue;
      const Eigen::MatrixXd M =
          cycle_matrix<double>(one, {.precision = "double", .cycle = cycle, .coarsest_rows = 1}, ways().front());
      INFO(cycle << ", " << one.points[0] << " x " << one.points[1] << " x " << one.points[2] << ", " << one.of[1]);
      CHECK((M - M.transpose()).norm() <= 16 * std::numeric_limits<double>::epsilon() * M.norm());
      const Eigen::MatrixXd A = to_eigen(grid_matrix<double>(one.points, one.of, one.shift));
      const Eigen::MatrixXd L = A.llt().matrixL();
      const Eigen::VectorXd values = (L.transpose() * M * L).selfadjointView<Eigen::Lower>().eigenvalues();
      CHECK(values.minCoeff() > 0.55);
      CHECK(values.maxCoeff() < 1.05);
      UNSCOPED_INFO(values.minCoeff());
    }
}

}  // namespace whilst_test
