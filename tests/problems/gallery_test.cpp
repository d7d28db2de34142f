#include "whilst/gallery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "solvers/problems/gallery_elasticity.hpp"
#include "solvers/problems/gallery_grid.hpp"
#include "tests/catch.hpp"

namespace whilst {
namespace {

using detail::elastic_box;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

template <class T>
Eigen::SparseMatrix<double> to_eigen(const csr_matrix<T>& matrix) {
  std::vector<Eigen::Triplet<double>> entries;
  for (index_type i = 0; i < matrix.rows(); ++i) {
    for (index_type k = matrix.row_offset(i); k < matrix.row_offset(i + 1); ++k) {
      entries.emplace_back(i, matrix.column_indices()[k], matrix.values()[k]);
    }
  }
  Eigen::SparseMatrix<double> result(matrix.rows(), matrix.columns());
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

template <class T>
Eigen::MatrixXd to_dense(const csr_matrix<T>& matrix) {
  return Eigen::MatrixXd(to_eigen(matrix));
}

Eigen::MatrixXd element_of(const elastic_box& box) {
  const std::vector<double> K = detail::element_stiffness(box);
  const auto size = static_cast<Eigen::Index>(std::lround(std::sqrt(K.size())));
  return Eigen::Map<const Eigen::MatrixXd>(K.data(), size, size);
}

/// Sizes and elements differ along each axis, so that swapped axes show.
elastic_box uneven_box(int dimension, bool clamped) {
  elastic_box box;
  box.sizes = {2.0, 0.5, 0.7};
  box.elements = {4, 2, 3};
  box.sizes.resize(dimension);
  box.elements.resize(dimension);
  box.thickness = dimension == 2 ? 0.3 : 1;
  box.clamped = clamped;
  return box;
}

double height_of_element(const elastic_box& box, int axis) {
  return box.sizes[axis] / static_cast<double>(box.elements[axis]);
}

/// Positions of a free box's nodes, a column a node, in the order of its unknowns.
Eigen::MatrixXd nodes_of(const elastic_box& box) {
  const index_type deep = box.dimension() == 3 ? box.elements[2] : 0;
  std::vector<double> positions;
  for (index_type i = 0; i <= box.elements[0]; ++i) {
    for (index_type j = 0; j <= box.elements[1]; ++j) {
      for (index_type k = 0; k <= deep; ++k) {
        const index_type at[] = {i, j, k};
        for (int axis = 0; axis < box.dimension(); ++axis) {
          positions.push_back(static_cast<double>(at[axis]) * height_of_element(box, axis));
        }
      }
    }
  }
  return Eigen::Map<Eigen::MatrixXd>(positions.data(), box.dimension(),
                                     static_cast<Eigen::Index>(positions.size()) / box.dimension());
}

/// Positions of one element's corners, its centre in the origin, in the order of element_stiffness.
Eigen::MatrixXd corners_of(const elastic_box& box) {
  Eigen::MatrixXd positions(box.dimension(), 1 << box.dimension());
  for (int corner = 0; corner < positions.cols(); ++corner) {
    for (int axis = 0; axis < box.dimension(); ++axis) {
      positions(axis, corner) = ((corner >> axis & 1) - 0.5) * height_of_element(box, axis);
    }
  }
  return positions;
}

/// A displacement field at given positions, as a vector of unknowns.
template <class Field>
Eigen::VectorXd sample(const Eigen::MatrixXd& positions, const Field& field) {
  Eigen::VectorXd values(positions.size());
  for (Eigen::Index p = 0; p < positions.cols(); ++p) {
    values.segment(p * positions.rows(), positions.rows()) = field(Eigen::VectorXd(positions.col(p)));
  }
  return values;
}

/// All translations and rotations at given positions, a column each.
Eigen::MatrixXd rigid_modes(const Eigen::MatrixXd& positions) {
  const auto dimension = positions.rows();
  std::vector<Eigen::VectorXd> modes;
  for (int i = 0; i < dimension; ++i) {
    modes.push_back(sample(positions, [&](const Eigen::VectorXd&) { return Eigen::VectorXd::Unit(dimension, i); }));
    for (int j = 0; j < i; ++j) {
      modes.push_back(sample(positions, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        return x[j] * Eigen::VectorXd::Unit(dimension, i) - x[i] * Eigen::VectorXd::Unit(dimension, j);
      }));
    }
  }
  Eigen::MatrixXd columns(positions.size(), modes.size());
  for (std::size_t m = 0; m < modes.size(); ++m) columns.col(static_cast<Eigen::Index>(m)) = modes[m];
  return columns;
}

/// Stress times strain of a constant displacement gradient, from Hooke's law solved for the strain: the compliance
/// matrix is inverted here, the library works with Lame's parameters.
double energy_density(const elastic_box& box, const Eigen::MatrixXd& gradient) {
  const double nu = box.poissons_ratio;
  Eigen::Matrix<double, 6, 6> compliance = Eigen::Matrix<double, 6, 6>::Zero();
  compliance.topLeftCorner<3, 3>().setConstant(-nu);
  compliance.diagonal() << 1, 1, 1, 2 * (1 + nu), 2 * (1 + nu), 2 * (1 + nu);
  compliance /= box.youngs_modulus;
  const auto strain = [&](int i, int j) { return gradient(i, j) + (i == j ? 0 : gradient(j, i)); };
  if (box.dimension() == 2) {
    const Eigen::Vector3d strains(strain(0, 0), strain(1, 1), strain(0, 1));
    Eigen::Matrix3d plane = Eigen::Matrix3d::Zero();  // rows and columns of the stresses that are left: xx, yy, xy
    plane.topLeftCorner<2, 2>() = compliance.topLeftCorner<2, 2>();
    plane(2, 2) = compliance(3, 3);
    return strains.dot(plane.inverse() * strains);
  }
  Eigen::Matrix<double, 6, 1> strains;
  strains << strain(0, 0), strain(1, 1), strain(2, 2), strain(1, 2), strain(0, 2), strain(0, 1);
  return strains.dot(compliance.inverse() * strains);
}

double volume_of(const std::vector<double>& sizes, double thickness) {
  double volume = thickness;
  for (const double size : sizes) volume *= size;
  return volume;
}

/// Solves a gallery problem by sparse Cholesky, in double.
template <class T>
std::vector<T> solution_of(const gallery_problem<T>& problem) {
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(to_eigen(problem.matrix));
  REQUIRE(factors.info() == Eigen::Success);
  Eigen::VectorXd b(problem.matrix.rows());
  std::copy(problem.rhs.begin(), problem.rhs.end(), b.begin());
  const Eigen::VectorXd x = factors.solve(b);
  std::vector<T> result(problem.rhs.size());
  std::transform(x.begin(), x.end(), result.begin(), [](double value) { return static_cast<T>(value); });
  return result;
}

template <class T>
double tip_deflection(const std::string& name) {
  const gallery_problem<T> problem = make_gallery<T>(name);
  REQUIRE(problem.quantity.has_value());
  const std::vector<T> x = solution_of(problem);
  return problem.quantity->evaluate(x);
}

std::string message_of(const std::string& name) {
  try {
    make_gallery<double>(name);
  } catch (const error& thrown) {
    return thrown.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("gallery: Poisson problems small enough to write down", "[gallery]") {
  CHECK(to_dense(make_gallery<double>("poisson1d:1").matrix) == Eigen::MatrixXd::Constant(1, 1, 2));
  CHECK(to_dense(make_gallery<double>("poisson2d:1").matrix) == Eigen::MatrixXd::Constant(1, 1, 4));
  CHECK(to_dense(make_gallery<double>("poisson3d:1").matrix) == Eigen::MatrixXd::Constant(1, 1, 6));

  CHECK(to_dense(make_gallery<double>("poisson1d:2").matrix) == Eigen::Matrix2d{{2, -1}, {-1, 2}});
  const Eigen::Matrix4d square{{4, -1, -1, 0}, {-1, 4, 0, -1}, {-1, 0, 4, -1}, {0, -1, -1, 4}};
  CHECK(to_dense(make_gallery<double>("poisson2d:2").matrix) == square);
  const double d = 2.02, e = -0.01;
  const Eigen::Matrix4d anisotropic{{d, -1, e, 0}, {-1, d, 0, e}, {e, 0, d, -1}, {0, e, -1, d}};
  // The diagonal is summed in floating point.
  CHECK((to_dense(make_gallery<double>("anisotropic2d:2").matrix) - anisotropic).cwiseAbs().maxCoeff() <= 4 * epsilon);
  Eigen::MatrixXd cube = 6 * Eigen::MatrixXd::Identity(8, 8);
  for (int i = 0; i < 8; ++i) {
    for (const int bit : {1, 2, 4}) cube(i, i ^ bit) = -1;
  }
  CHECK(to_dense(make_gallery<double>("poisson3d:2").matrix) == cube);

  const auto problem = make_gallery<float>("poisson2d:3");
  CHECK(problem.name == "poisson2d:3");
  CHECK_FALSE(problem.description.empty());
  CHECK(problem.rhs == std::vector<float>(9, 1.0F));
  CHECK_FALSE(problem.quantity.has_value());
}

// Rows of cells: where k is the same on both sides a face carries k, between 1 and 1e6 their harmonic mean, and to a
// wall half a cell away 2 k.
TEST_CASE("gallery: conduction in cells that differ, by hand", "[gallery]") {
  CHECK(to_dense(make_gallery<double>("checkerboard3d:1").matrix)(0, 0) == 12);
  const Eigen::SparseMatrix<double> A = to_eigen(make_gallery<double>("checkerboard3d:9").matrix);
  constexpr int inner = 4 * 81 + 4 * 9 + 4, at_jump = 4 * 81 + 4 * 9 + 7, beyond = at_jump + 1;
  const double mean = 2 / (1 + 1e-6);
  CHECK(A.coeff(inner, inner) == 6);
  CHECK(A.coeff(inner, inner + 9) == -1);
  CHECK(std::abs(A.coeff(at_jump, at_jump) - (5 + mean)) <= 8 * epsilon * (5 + mean));
  CHECK(std::abs(A.coeff(at_jump, beyond) + mean) <= 4 * epsilon * mean);
  CHECK(A.coeff(at_jump, beyond) == A.coeff(beyond, at_jump));
  CHECK(A.coeff(beyond, beyond + 9) == -1e6);
  // Four faces within its cube, of which it is one cell wide along the last axis, and a wall.
  CHECK(std::abs(A.coeff(beyond, beyond) - (4e6 + mean + 2e6)) <= 8 * epsilon * 6e6);

  // A face lies between the k of its cells: all within six decades, and spread over most of them.
  const Eigen::SparseMatrix<double> jumps = to_eigen(make_gallery<double>("jumps3d:10").matrix);
  double least = HUGE_VAL, most = 0;
  for (int i = 0; i + 1 < 1000; i += 2) {
    const double face = -jumps.coeff(i, i + 1);
    if (face == 0) continue;  // in another row of cells
    least = std::min(least, face);
    most = std::max(most, face);
  }
  CHECK(least >= 1e-3);
  CHECK(least <= 1e-2);
  CHECK(most <= 1e3);
  CHECK(most >= 1e2);
  for (int i = 0; i < 1000; ++i) CHECK(jumps.row(i).sum() >= -1e-9 * jumps.coeff(i, i));  // walls alone take away
}

TEST_CASE("gallery: eigenvalues on grids are those of the closed form", "[gallery]") {
  struct example {
    const char* name;
    int size;
    std::vector<double> weights;
    double shift = 0;
  };
  const double ten_a_wavelength = std::pow(2 * std::numbers::pi / 10, 2);
  for (const example& e :
       {example{"poisson1d:9", 9, {1}}, example{"poisson2d:5", 5, {1, 1}}, example{"poisson3d:4", 4, {1, 1, 1}},
        example{"anisotropic2d:5", 5, {0.01, 1}}, example{"helmholtz2d:8", 8, {1, 1}, ten_a_wavelength}}) {
    std::vector<double> expected{-e.shift};
    for (const double weight : e.weights) {
      std::vector<double> sums;
      for (const double sum : expected) {
        for (int k = 1; k <= e.size; ++k) {
          sums.push_back(sum + weight * (2 - 2 * std::cos(k * std::numbers::pi / (e.size + 1))));
        }
      }
      expected = sums;
    }
    std::ranges::sort(expected);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(to_dense(make_gallery<double>(e.name).matrix));
    const Eigen::VectorXd& found = solver.eigenvalues();
    REQUIRE(found.size() == static_cast<Eigen::Index>(expected.size()));
    // A backward stable eigensolver: an error of order n epsilon ||A||.
    const double tolerance = static_cast<double>(expected.size()) * epsilon * expected.back();
    for (Eigen::Index i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) <= tolerance);
    CHECK((found[0] < 0) == (e.shift > 0));
  }
}

TEST_CASE("gallery: neumann2d has the closed form's eigenvalues, and a right-hand side in its range", "[gallery]") {
  constexpr int size = 6;
  std::vector<double> expected;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      expected.push_back(4 - 2 * std::cos(i * std::numbers::pi / size) - 2 * std::cos(j * std::numbers::pi / size));
  std::ranges::sort(expected);
  const auto problem = make_gallery<double>("neumann2d:6");
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(to_dense(problem.matrix));
  // A backward stable eigensolver: an error of order n epsilon ||A||.
  const double tolerance = static_cast<double>(expected.size()) * epsilon * expected.back();
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::abs(solver.eigenvalues()[static_cast<Eigen::Index>(i)] - expected[i]) <= tolerance);
  CHECK(problem.rhs.front() == 1);
  CHECK(problem.rhs.back() == -1);
  CHECK(std::ranges::count(problem.rhs, 0.0) == size * size - 2);
}

TEST_CASE("gallery: every matrix is sorted, the same rounded to float, and most are symmetric positive definite",
          "[gallery]") {
  for (const gallery_entry& entry : gallery_names()) {
    CHECK_FALSE(entry.help.empty());
    for (const char* size : {":1", ":2", ":3"}) {
      const std::string name = std::string(entry.name) + size;
      CAPTURE(name);
      const auto problem = make_gallery<double>(name);
      const auto rounded = make_gallery<float>(name);
      const auto& matrix = problem.matrix;
      REQUIRE(matrix.rows() == matrix.columns());
      REQUIRE(static_cast<index_type>(problem.rhs.size()) == matrix.rows());
      REQUIRE(rounded.matrix.nonzeros() == matrix.nonzeros());
      bool is_sorted = true, is_same = true;
      for (index_type i = 0; i < matrix.rows(); ++i) {
        is_same = is_same && static_cast<float>(problem.rhs[i]) == rounded.rhs[i];
        for (index_type k = matrix.row_offset(i); k < matrix.row_offset(i + 1); ++k) {
          is_sorted =
              is_sorted && (k == matrix.row_offset(i) || matrix.column_indices()[k - 1] < matrix.column_indices()[k]);
          is_same = is_same && static_cast<float>(matrix.values()[k]) == rounded.matrix.values()[k];
        }
      }
      CHECK(is_sorted);
      CHECK(is_same);
      if (entry.name == "powerlaw") continue;  // not symmetric: it has a test of its own
      const Eigen::SparseMatrix<double> A = to_eigen(matrix);
      CHECK(Eigen::SparseMatrix<double>(A - Eigen::SparseMatrix<double>(A.transpose())).norm() == 0);
      if (entry.name == "neumann2d") continue;  // singular: likewise
      const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(A);
      REQUIRE(factors.info() == Eigen::Success);
      CHECK(factors.vectorD().minCoeff() > 0);
    }
  }
}

TEST_CASE("gallery: 64-bit row offsets hold the same matrix", "[gallery]") {
  const std::vector<detail::grid_point> stencil{{0, -1, 0}, {0, 0, 0}, {0, 1, 0}};
  const auto block = [](const detail::grid_point& point, std::size_t s) {
    return std::array<double, 9>{static_cast<double>(point[1]), 1, static_cast<double>(s), 3};
  };
  const detail::grid_point extents{1, 4, 1};
  const auto narrow = detail::assemble_on_grid<double>(extents, 2, stencil, block);
  const auto wide = detail::assemble_on_grid<double, std::int64_t>(extents, 2, stencil, 40, block);
  CHECK(narrow.nonzeros() == 40);
  CHECK_FALSE(narrow.has_64bit_offsets());
  CHECK(wide.has_64bit_offsets());
  CHECK(to_dense(narrow) == to_dense(wide));
}

TEST_CASE("gallery: the rectangle's stiffness is the one found by hand", "[gallery]") {
  // Its 8 displacements are 3 rigid motions, 3 constant strains and 2 pure bendings, each known exactly: bending
  // with curvature 1 has energy E I L, rigid motions none, and there is none between bending and constant strain.
  const elastic_box box = uneven_box(2, false);
  const double a = height_of_element(box, 0), b = height_of_element(box, 1), nu = box.poissons_ratio;
  const Eigen::MatrixXd corners = corners_of(box);
  Eigen::MatrixXd modes(8, 8), expected = Eigen::MatrixXd::Zero(8, 8);
  modes.leftCols(3) = rigid_modes(corners);
  const std::vector<Eigen::Matrix2d> strains{Eigen::Matrix2d{{1, 0}, {0, 0}}, Eigen::Matrix2d{{0, 0}, {0, 1}},
                                             Eigen::Matrix2d{{0, 0.5}, {0.5, 0}}};
  for (int i = 0; i < 3; ++i) {
    modes.col(3 + i) = sample(corners, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd { return strains[i] * x; });
    for (int j = 0; j < 3; ++j) {  // the bilinear form, by polarisation
      expected(3 + i, 3 + j) =
          a * b * box.thickness *
          (energy_density(box, strains[i] + strains[j]) - energy_density(box, strains[i] - strains[j])) / 4;
    }
  }
  modes.col(6) = sample(corners, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector2d(x[0] * x[1], -(x[0] * x[0] + nu * x[1] * x[1]) / 2);
  });
  modes.col(7) = sample(corners, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector2d(-(x[1] * x[1] + nu * x[0] * x[0]) / 2, x[0] * x[1]);
  });
  expected(6, 6) = box.youngs_modulus * box.thickness * b * b * b / 12 * a;
  expected(7, 7) = box.youngs_modulus * box.thickness * a * a * a / 12 * b;

  const Eigen::MatrixXd found = modes.transpose() * element_of(box) * modes;
  // Sums of 64 products of numbers no larger than ||K||, and as many again inside K.
  const double tolerance = 128 * epsilon * element_of(box).cwiseAbs().maxCoeff();
  CHECK((found - expected).cwiseAbs().maxCoeff() <= tolerance);
  // All that is compared is far above the tolerance.
  CHECK(expected.diagonal().tail(5).minCoeff() > 1e6 * tolerance);
}

TEST_CASE("gallery: the brick bends without locking", "[gallery]") {
  // Pure bending of a solid with its anticlastic curvature, exact in the theory of elasticity: energy E I L.
  elastic_box box = uneven_box(3, false);
  const double nu = box.poissons_ratio, E = box.youngs_modulus;
  const Eigen::MatrixXd corners = corners_of(box);
  const double length = height_of_element(box, 0), height = height_of_element(box, 1);
  const double width = height_of_element(box, 2);
  const Eigen::VectorXd bent = sample(corners, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector3d(x[0] * x[1], -(x[0] * x[0] + nu * (x[1] * x[1] - x[2] * x[2])) / 2, -nu * x[1] * x[2]);
  });
  const double expected = E * width * height * height * height / 12 * length;
  // 24 x 24 products; the entries of K times bent cancel by about a factor of 10.
  CHECK(std::abs(bent.dot(element_of(box) * bent) - expected) <= 1000 * epsilon * expected);
}

TEST_CASE("gallery: elements have their rigid motions and no other mode without energy", "[gallery]") {
  for (const int dimension : {2, 3}) {
    const elastic_box box = uneven_box(dimension, false);
    const int rigid = dimension == 2 ? 3 : 6;
    const auto check = [&](const Eigen::MatrixXd& K, const Eigen::MatrixXd& positions) {
      const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).eigenvalues();
      const double largest = eigenvalues[eigenvalues.size() - 1];
      // A backward stable eigensolver: an error of order n epsilon ||K||.
      const double tolerance = static_cast<double>(K.rows()) * epsilon * largest;
      CHECK(eigenvalues.head(rigid).cwiseAbs().maxCoeff() <= tolerance);
      CHECK(eigenvalues[rigid] > 1e6 * tolerance);
      CHECK((K * rigid_modes(positions)).cwiseAbs().maxCoeff() <= tolerance);
    };
    check(element_of(box), corners_of(box));
    check(to_dense(detail::stiffness<double>(box)), nodes_of(box));
  }
}

TEST_CASE("gallery: patch test, a constant strain is reproduced", "[gallery]") {
  for (const int dimension : {2, 3}) {
    const elastic_box box = uneven_box(dimension, false);
    const Eigen::MatrixXd positions = nodes_of(box);
    Eigen::MatrixXd gradient(dimension, dimension);
    for (int i = 0; i < dimension; ++i) {
      for (int j = 0; j < dimension; ++j) gradient(i, j) = 0.3 + i - 0.7 * j + 0.2 * i * j;
    }
    const Eigen::VectorXd u =
        sample(positions, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd { return gradient * x; });
    const Eigen::MatrixXd K = to_dense(detail::stiffness<double>(box));

    const double energy = energy_density(box, gradient) * volume_of(box.sizes, box.thickness);
    CHECK(std::abs(u.dot(K * u) - energy) <= 1000 * epsilon * energy);

    std::vector<Eigen::Index> inner, outer;
    for (Eigen::Index node = 0; node < positions.cols(); ++node) {
      bool is_inner = true;
      for (int axis = 0; axis < dimension; ++axis) {
        const double x = positions(axis, node);
        is_inner = is_inner && x > 1e-9 && x < box.sizes[axis] - 1e-9;
      }
      for (int i = 0; i < dimension; ++i) (is_inner ? inner : outer).push_back(node * dimension + i);
    }
    REQUIRE(inner.size() >= 6);
    const Eigen::VectorXd found = K(inner, inner).ldlt().solve(-K(inner, outer) * u(outer));
    // The inner block is well conditioned (below 100), rows have up to 81 entries.
    CHECK((found - u(inner)).cwiseAbs().maxCoeff() <= 1e4 * epsilon * u.cwiseAbs().maxCoeff());
  }
}

TEST_CASE("gallery: the matrix is the sum of its elements without the clamped nodes", "[gallery]") {
  for (const int dimension : {2, 3}) {
    const elastic_box box = uneven_box(dimension, true);
    const index_type nx = box.elements[0], ny = box.elements[1], nz = dimension == 3 ? box.elements[2] : 1;
    const index_type nodes_across = dimension == 3 ? nz + 1 : 1;
    const Eigen::MatrixXd K = element_of(box);
    const auto node = [&](index_type i, index_type j, index_type k) { return (i * (ny + 1) + j) * nodes_across + k; };
    Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(node(nx + 1, 0, 0) * dimension, node(nx + 1, 0, 0) * dimension);
    for (index_type i = 0; i < nx; ++i) {
      for (index_type j = 0; j < ny; ++j) {
        for (index_type k = 0; k < nz; ++k) {
          std::vector<index_type> unknowns;
          for (int corner = 0; corner < 1 << dimension; ++corner) {
            const index_type at = node(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2 & 1));
            for (int d = 0; d < dimension; ++d) unknowns.push_back(at * dimension + d);
          }
          whole(unknowns, unknowns) += K;
        }
      }
    }
    const Eigen::Index free = nx * node(1, 0, 0) * dimension;
    const Eigen::MatrixXd found = to_dense(detail::stiffness<double>(box));
    REQUIRE(found.rows() == free);
    // Sums of at most 8 numbers in another order.
    CHECK((found - whole.bottomRightCorner(free, free)).cwiseAbs().maxCoeff() <=
          8 * epsilon * whole.cwiseAbs().maxCoeff());
  }
}

TEST_CASE("gallery: the cantilevers carry their load downward at the tip", "[gallery]") {
  struct example {
    const char* name;
    int dimension;
    double force, rows;
  };
  // Free nodes: 4 N planes of N + 1 or (N + 1)^2.
  for (const example& e :
       {example{"elasticity2d:1", 2, 1e4, 4 * 2 * 2}, example{"elasticity2d:2", 2, 1e4, 8 * 3 * 2},
        example{"elasticity3d:1", 3, 1e5, 4 * 4 * 3}, example{"elasticity3d:2", 3, 1e5, 8 * 9 * 3}}) {
    const auto problem = make_gallery<double>(e.name);
    const index_type rows = problem.matrix.rows();
    CHECK(rows == e.rows);
    double total = 0, elsewhere = 0;
    for (index_type i = 0; i < rows; ++i) (i % e.dimension == 1 ? total : elsewhere) += std::abs(problem.rhs[i]);
    CHECK(total == e.force);  // quarters, halves and eighths of it: no rounding
    CHECK(elsewhere == 0);
    CHECK(*std::ranges::max_element(problem.rhs) == 0);

    // The face that moves down by 3 mm as a whole.
    std::vector<double> x(rows, 0.0);
    const index_type face = problem.name.back() == '1' ? 1 << (e.dimension - 1) : (e.dimension == 2 ? 3 : 9);
    for (index_type i = rows - face * e.dimension; i < rows; ++i) x[i] = i % e.dimension == 1 ? -3e-3 : 7;
    CHECK(std::abs(problem.quantity->evaluate(x) - 3e-3) <= 8 * epsilon * 3e-3);
    x.pop_back();
    CHECK_THROWS_AS(problem.quantity->evaluate(x), error);
  }
}

TEST_CASE("gallery: tip deflections against Timoshenko's beam theory", "[gallery]") {
  // P L^3 / 3 E I + P L / kappa G A, worked out by hand for both sections.
  const auto plane = make_gallery<double>("elasticity2d:1").quantity;
  const auto solid = make_gallery<double>("elasticity3d:1").quantity;
  CHECK(plane->name == "tip deflection");
  CHECK(plane->unit == "m");
  CHECK(std::abs(plane->expected - 1.277333e-3) < 1e-9);
  CHECK(std::abs(solid->expected - 5.109333e-4) < 1e-10);

  SECTION("plane stress") {
    // Beam theory lets the clamped section contract sideways, the clamp does not: 0.4 % stiffer at length 4 heights.
    CHECK(std::abs(tip_deflection<double>("elasticity2d:8") / plane->expected - 1) < 0.01);
    const double at[] = {tip_deflection<double>("elasticity2d:4"), tip_deflection<double>("elasticity2d:8"),
                         tip_deflection<double>("elasticity2d:16"), tip_deflection<double>("elasticity2d:32")};
    for (int i = 0; i < 2; ++i) {
      CHECK(at[i + 1] > at[i]);
      CHECK(at[i + 2] - at[i + 1] < 0.5 * (at[i + 1] - at[i]));
    }
  }
  SECTION("solid") {
    // The same in two directions, 1.7 % stiffer in the limit of fine meshes.
    const double at[] = {tip_deflection<double>("elasticity3d:2"), tip_deflection<double>("elasticity3d:4"),
                         tip_deflection<double>("elasticity3d:8")};
    CHECK(std::abs(at[2] / solid->expected - 1) < 0.03);
    CHECK(at[1] > at[0]);
    CHECK(at[2] > at[1]);
    CHECK(at[2] - at[1] < 0.5 * (at[1] - at[0]));
  }
  SECTION("single precision") {
    // Rounding changes an entry k of A by at most epsilon |k| / 2, hence the work of the load, x^T A x, by at most half
    // of epsilon |x|^T |A| |x| in first order; twice that leaves room for the rest.
    const gallery_problem<double> problem = make_gallery<double>("elasticity3d:4");
    const std::vector<double> solution = solution_of(problem);
    const Eigen::VectorXd x =
        Eigen::Map<const Eigen::VectorXd>(solution.data(), static_cast<Eigen::Index>(solution.size())).cwiseAbs();
    const Eigen::SparseMatrix<double> A = to_eigen(problem.matrix).cwiseAbs();
    const double force = 1e5, tolerance = std::numeric_limits<float>::epsilon() * x.dot(A * x) / force;
    const double deflection = problem.quantity->evaluate(solution);
    CHECK(tolerance < 0.005 * deflection);
    CHECK(std::abs(tip_deflection<float>("elasticity3d:4") - deflection) <= tolerance);
  }
}

TEST_CASE("gallery: a slender beam comes closer to beam theory", "[gallery]") {
  // Length 16 heights, loaded in one line of nodes: what the clamp adds fades as the beam gets longer.
  elastic_box box;
  box.sizes = {4, 0.25, 0.25};
  box.elements = {64, 4, 4};
  const Eigen::SparseMatrix<double> K = to_eigen(detail::stiffness<double>(box));
  Eigen::VectorXd load = Eigen::VectorXd::Zero(K.rows());
  const Eigen::Index face = 75, middle = K.rows() - face + 37;  // 25 nodes; the upward unknown of the 13th
  for (Eigen::Index k = -2; k <= 2; ++k) load[middle + 3 * k] = -1e5 / 5;
  const Eigen::VectorXd x = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(K).solve(load);
  const double I = std::pow(0.25, 4) / 12, G = 210e9 / 2.6, kappa = 13.0 / 15.3;
  const double expected = 1e5 * 64 / (3 * 210e9 * I) + 1e5 * 4 / (kappa * G * 0.0625);
  CHECK(std::abs(-x[middle] / expected - 1) < 0.007);
}

TEST_CASE("gallery: names that are not there", "[gallery]") {
  for (const char* name : {"", ":", "poisson4d:3", "Poisson2d:3", " poisson2d:3", ":3", "poisson2"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(make_gallery<float>(name), error);
    const std::string message = message_of(name);
    CHECK(contains(message, "\"" + std::string(name) + "\""));
    for (const gallery_entry& entry : gallery_names()) CHECK(contains(message, std::string(entry.name)));
  }
  CHECK(contains(message_of("poisson2d"), "no size"));
}

TEST_CASE("gallery: sizes that are no sizes", "[gallery]") {
  for (const char* size : {"", "0", "-1", "-99999999999999999999", "3x", "1e3", " 3", "+3", "2.5", "three", "3:3"}) {
    CAPTURE(size);
    const std::string message = message_of("elasticity3d:" + std::string(size));
    CHECK(contains(message, "\"" + std::string(size) + "\" is not a whole number above zero"));
  }
}

TEST_CASE("gallery: sizes that are too large", "[gallery]") {
  // 2^32 squared and 2^22 cubed wrap to small numbers in 64 bits.
  for (const char* name : {"poisson1d:2147483648", "poisson2d:4294967296", "poisson3d:4194304", "elasticity3d:3000000",
                           "anisotropic2d:9223372036854775807", "elasticity2d:99999999999999999999999"}) {
    CAPTURE(name);
    CHECK(contains(message_of(name), "64 GB"));
  }
  // 64e9 bytes over 16 bytes a row and 12 an entry.
  CHECK(contains(message_of("poisson1d:2000000000"), "poisson1d:1230769230"));
  CHECK(contains(message_of("poisson2d:30000"), "poisson2d:29019"));
}

}  // namespace whilst
