// Linear elasticity by finite elements with incompatible modes.
//
// Wilson, Taylor, Doherty, Ghaboussi, "Incompatible displacement models", in Numerical and Computer Methods in
// Structural Mechanics, Academic Press, 1973, pages 43-57. Taylor, Beresford, Wilson, "A non-conforming element for
// stress analysis", International Journal for Numerical Methods in Engineering 10 (1976), 1211-1219.
//
// The corners' multilinear functions cannot bend: a bent element would have to shear as well (locking). Adding the
// modes 1 - xi_k^2 to each displacement allows bending. They belong to a single element, so they are eliminated there.
// The 1976 correction for distorted elements vanishes on boxes, whose Jacobian is constant.

#include "solvers/problems/gallery_elasticity.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "solvers/problems/gallery_grid.hpp"

namespace whilst::detail {
namespace {

using gradient = std::array<double, 3>;

/// Gradients at the reference point xi, in physical coordinates: of the corners' functions, then of the modes.
std::vector<gradient> shape_gradients(const gradient& xi, const gradient& element_sizes, int dimension) {
  const int corners = 1 << dimension;
  std::vector<gradient> gradients(corners + dimension, gradient{});
  for (int corner = 0; corner < corners; ++corner) {
    for (int along = 0; along < dimension; ++along) {
      double slope = 1;
      for (int axis = 0; axis < dimension; ++axis) {
        const double side = (corner >> axis & 1) != 0 ? 1 : -1;
        slope *= axis == along ? side / element_sizes[axis] : (1 + side * xi[axis]) / 2;
      }
      gradients[corner][along] = slope;
    }
  }
  for (int axis = 0; axis < dimension; ++axis) gradients[corners + axis][axis] = -4 * xi[axis] / element_sizes[axis];
  return gradients;
}

gradient element_sizes_of(const elastic_box& box) {
  gradient sizes{1, 1, 1};
  for (int axis = 0; axis < box.dimension(); ++axis) {
    sizes[axis] = box.sizes[axis] / static_cast<double>(box.elements[axis]);
  }
  return sizes;
}

/// Where the free nodes of a box that is clamped at its end lie, in their order.
std::vector<double> coordinates_of(const elastic_box& box) {
  const int dimension = box.dimension();
  const gradient sizes = element_sizes_of(box);
  const index_type deep = dimension == 3 ? box.elements[2] : 0;
  std::vector<double> coordinates;
  for (index_type i = 1; i <= box.elements[0]; ++i)
    for (index_type j = 0; j <= box.elements[1]; ++j)
      for (index_type k = 0; k <= deep; ++k) {
        const index_type at[3] = {i, j, k};
        for (int axis = 0; axis < dimension; ++axis) coordinates.push_back(static_cast<double>(at[axis]) * sizes[axis]);
      }
  return coordinates;
}

/// A box clamped at one end; a force spread evenly over the face at the other pushes along minus axis 1.
template <class T>
gallery_problem<T> cantilever(const elastic_box& box, double force, std::string name, std::string description) {
  const int dimension = box.dimension();
  const double length = box.sizes[0], height = box.sizes[1];
  const double width = dimension == 3 ? box.sizes[2] : box.thickness;
  const double nu = box.poissons_ratio;
  const double shear_modulus = box.youngs_modulus / (2 * (1 + nu));
  const double second_moment = width * height * height * height / 12;
  const double shear_coefficient = 10 * (1 + nu) / (12 + 11 * nu);
  const double expected = force * length * length * length / (3 * box.youngs_modulus * second_moment) +
                          force * length / (shear_coefficient * shear_modulus * width * height);

  // Share of the force for each node of the end face, the last nodes in the numbering: half for a node on an edge of
  // the face, a quarter in its corner.
  const index_type across = box.elements[1], deep = dimension == 3 ? box.elements[2] : 0;
  std::vector<double> shares;
  for (index_type j = 0; j <= across; ++j) {
    for (index_type k = 0; k <= deep; ++k) {
      double share = (j == 0 || j == across ? 0.5 : 1.0) / static_cast<double>(across);
      if (deep > 0) share *= (k == 0 || k == deep ? 0.5 : 1.0) / static_cast<double>(deep);
      shares.push_back(share);
    }
  }

  csr_matrix<T> matrix = stiffness<T>(box);
  const index_type rows = matrix.rows();
  const index_type first =
      rows - static_cast<index_type>(shares.size()) * dimension + 1;  // axis 1 of the face's first node
  std::vector<T> rhs(rows);
  for (std::size_t i = 0; i < shares.size(); ++i) rhs[first + i * dimension] = static_cast<T>(-force * shares[i]);

  auto tip_deflection = [=, shares = std::move(shares)](std::span<const T> x) {
    if (static_cast<index_type>(x.size()) != rows) {
      throw error("evaluating the tip deflection",
                  "x has " + std::to_string(x.size()) + " entries, the problem has " + std::to_string(rows) + " rows",
                  "Give the solution of this very problem");
    }
    double deflection = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) deflection -= shares[i] * x[first + i * dimension];
    return deflection;
  };
  return {std::move(name),
          std::move(description),
          std::move(matrix),
          std::move(rhs),
          gallery_quantity<T>{"tip deflection", "m", expected, "Timoshenko beam theory", std::move(tip_deflection)},
          dimension,
          coordinates_of(box)};
}

}  // namespace

std::vector<double> element_stiffness(const elastic_box& box) {
  const int dimension = box.dimension();
  const index_type corners = index_type{1} << dimension;
  const index_type kept = corners * dimension, size = kept + index_type{dimension} * dimension;
  const double nu = box.poissons_ratio;
  const double mu = box.youngs_modulus / (2 * (1 + nu));
  // Lame's first parameter; in plane stress its effective value, for zero stress across the plane.
  const double lambda =
      dimension == 3 ? box.youngs_modulus * nu / ((1 + nu) * (1 - 2 * nu)) : box.youngs_modulus * nu / (1 - nu * nu);
  const gradient element_sizes = element_sizes_of(box);

  std::vector<double> full(size * size, 0.0);
  const auto K = [&](index_type i, index_type j) -> double& { return full[i * size + j]; };
  // Two Gauss points along each axis: exact for a box, where the integrand is at most quadratic in each coordinate.
  for (index_type gauss = 0; gauss < corners; ++gauss) {
    gradient xi{};
    double weight = box.thickness;
    for (int axis = 0; axis < dimension; ++axis) {
      xi[axis] = ((gauss >> axis & 1) != 0 ? 1 : -1) / std::sqrt(3.0);
      weight *= element_sizes[axis] / 2;
    }
    const std::vector<gradient> gradients = shape_gradients(xi, element_sizes, dimension);
    for (index_type row = 0; row < size; ++row) {
      for (index_type column = 0; column < size; ++column) {
        const gradient &a = gradients[row / dimension], &b = gradients[column / dimension];
        const index_type i = row % dimension, j = column % dimension;
        const double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        K(row, column) += weight * (lambda * (a[i] * b[j]) + mu * (a[j] * b[i]) + (i == j ? mu * dot : 0));
      }
    }
  }
  // Static condensation: Gaussian elimination of the modes, the last one first.
  for (index_type pivot = size - 1; pivot >= kept; --pivot) {
    for (index_type i = 0; i < pivot; ++i) {
      for (index_type j = 0; j < pivot; ++j) K(i, j) -= K(i, pivot) * K(pivot, j) / K(pivot, pivot);
    }
  }
  std::vector<double> condensed;
  condensed.reserve(kept * kept);
  for (index_type i = 0; i < kept; ++i) condensed.insert(condensed.end(), &K(i, 0), &K(i, 0) + kept);
  return condensed;
}

template <class T>
csr_matrix<T> stiffness(const elastic_box& box) {
  const int dimension = box.dimension(), corners = 1 << dimension, size = corners * dimension;
  const std::vector<double> element = element_stiffness(box);
  grid_point elements{1, 1, 1}, nodes{1, 1, 1};
  for (int axis = 0; axis < dimension; ++axis) {
    elements[axis] = box.elements[axis];
    nodes[axis] = elements[axis] + 1;
  }
  const index_type first_plane = box.clamped ? 1 : 0;
  nodes[0] -= first_plane;

  std::vector<grid_point> stencil;
  for (index_type i = -1; i <= 1; ++i) {
    for (index_type j = -1; j <= 1; ++j) {
      if (dimension == 2) stencil.push_back({i, j, 0});
      for (index_type k = -1; k <= 1 && dimension == 3; ++k) stencil.push_back({i, j, k});
    }
  }

  // Gathers from the elements that have both nodes as corners.
  const auto block = [&](grid_point node, std::size_t s) {
    node[0] += first_plane;
    std::array<double, 9> sum{};
    for (int corner = 0; corner < corners; ++corner) {
      grid_point owner = node;
      int other = 0;
      bool has_both = true;
      for (int axis = 0; axis < dimension; ++axis) {
        const index_type side = corner >> axis & 1, other_side = side + stencil[s][axis];
        owner[axis] -= side;
        has_both = has_both && (other_side == 0 || other_side == 1);
        other |= static_cast<int>(other_side) << axis;
      }
      if (!has_both || !is_inside(owner, elements)) continue;
      for (int i = 0; i < dimension; ++i) {
        for (int j = 0; j < dimension; ++j) {
          sum[i * dimension + j] += element[(corner * dimension + i) * size + other * dimension + j];
        }
      }
    }
    return sum;
  };
  return assemble_on_grid<T>(nodes, dimension, stencil, block);
}

template <class T>
gallery_problem<T> cantilever_2d(index_type size, std::string name) {
  elastic_box box;
  box.sizes = {1, 0.25};
  box.elements = {4 * size, size};
  box.thickness = 0.01;
  return cantilever<T>(box, 1e4, std::move(name),
                       "steel cantilever in plane stress, 1 m x 0.25 m x 0.01 m, 10 kN at the tip; rectangles with "
                       "incompatible modes");
}

template <class T>
gallery_problem<T> cantilever_3d(index_type size, std::string name) {
  elastic_box box;
  box.sizes = {1, 0.25, 0.25};
  box.elements = {4 * size, size, size};
  return cantilever<T>(box, 1e5, std::move(name),
                       "steel cantilever, 1 m x 0.25 m x 0.25 m, 100 kN at the tip; bricks with incompatible modes");
}

template csr_matrix<float> stiffness(const elastic_box&);
template csr_matrix<double> stiffness(const elastic_box&);
template gallery_problem<float> cantilever_2d(index_type, std::string);
template gallery_problem<double> cantilever_2d(index_type, std::string);
template gallery_problem<float> cantilever_3d(index_type, std::string);
template gallery_problem<double> cantilever_3d(index_type, std::string);

}  // namespace whilst::detail
