#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// A number of interest in the solution, with a theoretical value to compare.
template <class T>
struct gallery_quantity {
  /// What it is, such as "tip deflection", and its SI unit, such as "m".
  std::string name, unit;
  /// What the theory predicts, and the theory's name. The discrete solution need not equal it.
  double expected = 0;
  std::string theory;
  /// The value in a solution x (host memory, one entry per row of the matrix). Throws whilst::error on any other
  /// length.
  std::function<double(std::span<const T> x)> evaluate;
};

/// A model problem A x = b, in host memory; column indices are sorted within a row. A is symmetric positive definite
/// unless make_gallery says otherwise.
template <class T>
struct gallery_problem {
  /// As requested: "NAME:SIZE".
  std::string name;
  /// One readable line: equation, discretisation, load.
  std::string description;
  csr_matrix<T> matrix;
  /// Nodal forces in newton for elasticity, 1 and -1 in opposite corners for neumann2d, ones for all others.
  std::vector<T> rhs;
  /// Only if there is a theory to compare with: the elasticity problems.
  std::optional<gallery_quantity<T>> quantity;
  /// Of elasticity problems: unknowns a node, and where nodes lie, that many numbers each; see amg_options.
  int unknowns_a_node = 1;
  std::vector<double> coordinates = {};
};

/// A name that make_gallery knows, and one line of help.
struct gallery_entry {
  std::string_view name, help;
};

/// Every model problem, in display order.
std::span<const gallery_entry> gallery_names();

/// Makes a model problem from "NAME:SIZE", such as "poisson2d:512". The same text gives the same bits each time, on any
/// number of threads; the float values are the double values, rounded.
///
/// - `poisson1d:N`, `poisson2d:N`, `poisson3d:N`: minus the Laplacian with the 3-, 5- and 7-point stencil on N, N x N
///   and N x N x N interior points, zero on the boundary. The plain stencil, 2 d on the diagonal and -1 beside it, not
///   divided by the square of the spacing.
/// - `anisotropic2d:N`: the same for -u_xx - epsilon u_yy, epsilon = 0.01. The strong coupling, -1, is between
///   consecutive unknowns.
/// - `checkerboard3d:N`: -div(k grad u) by finite volumes on N x N x N cells, zero on the walls, half a cell away; k is
///   1 and 1e6 in turn in cubes of 8 x 8 x 8 cells, and between two cells the harmonic mean.
/// - `jumps3d:N`: the same for a k of each cell by chance, from 1e-3 to 1e3, its logarithm evenly: from a hash of the
///   cell's number.
/// - `helmholtz2d:N`: poisson2d:N minus (2 pi / 10)^2 on the diagonal: -Laplace u - k^2 u with ten points a wavelength.
///   Symmetric; indefinite from N = 5 on.
/// - `neumann2d:N`: the 5-point Laplacian on N x N points whose boundary lets nothing through: on the diagonal the
///   number of neighbours, -1 beside it. Singular, positive semidefinite; its null space is the constant vector, see
///   linear_solver_options::null_space.
/// - `elasticity3d:N`: a steel beam (E = 210 GPa, Poisson's ratio 0.3), 1 m long, 0.25 m high and 0.25 m wide, clamped
///   at one end and loaded by 100 kN of uniform downward shear over the face at the other; 4N x N x N cubic elements.
///   Three displacements (along the length, up, across) for each free node, next to each other: 3 x 3 blocks.
/// - `elasticity2d:N`: the same in plane stress, 0.01 m thick, 10 kN; 4N x N square elements, 2 x 2 blocks.
/// - `powerlaw:N`: N rows, a few of them far longer than the others, as in graphs of the web. Of every N rows, about
///   N (2.4 / m)^(4/3) have more than m entries beside the diagonal; the longest has 4 N^(3/4). In all about 10 N
///   nonzeros, columns anywhere, entries from a hash between -1 and 1. The diagonal is 1 more than the sum of their
///   absolute values: strictly dominant. Not symmetric.
///
/// The elements are bricks and rectangles with incompatible modes, which bend without locking: Wilson, Taylor, Doherty
/// and Ghaboussi, "Incompatible displacement models" (1973); Taylor, Beresford and Wilson, "A non-conforming element
/// for stress analysis" (1976). The modes are condensed out. Clamped nodes are left out of the system. The quantity is
/// the tip deflection: downward, averaged over the loaded face; the expected value is that of Timoshenko's beam theory,
/// P L^3 / (3 E I) + P L / (kappa G A) with the shear coefficient kappa = 10 (1 + nu) / (12 + 11 nu) of Cowper, "The
/// shear coefficient in Timoshenko's beam theory" (1966). On fine meshes the deflection is 0.4 % (plane stress) and 1.7
/// % (solid) less than that: the clamp also keeps its section from contracting sideways, which beam theory ignores. In
/// float, rounding the matrix entries alone stiffens or softens the solid, by 0.2 % at N = 12.
///
/// Throws whilst::error on an unknown name, a size that is not a whole number above zero, and a problem of more than
/// 2^31 - 1 rows or an estimated 64 GB.
template <class T>
gallery_problem<T> make_gallery(std::string_view name_and_size);

extern template gallery_problem<float> make_gallery<float>(std::string_view);
extern template gallery_problem<double> make_gallery<double>(std::string_view);

}  // namespace whilst
