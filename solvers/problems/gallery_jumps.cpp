#include "solvers/problems/gallery_jumps.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "solvers/problems/gallery_grid.hpp"
#include "whilst/basics/random_sign.hpp"

namespace whilst::detail {
namespace {

/// Finite volumes for -div(k grad u) = f on a cube of cells whose walls are at u = 0: between two cells the harmonic
/// mean of their k, and half a cell from a cell to its wall.
template <class T, class Conductivity>
gallery_problem<T> conduction(index_type size, std::string name, std::string description, const Conductivity& k) {
  const grid_point extents{size, size, size};
  const std::vector<grid_point> stencil{{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
  constexpr std::size_t centre = 3;
  const auto through_face = [&](const grid_point& cell, const grid_point& way) {
    const grid_point other = cell + way;
    return is_inside(other, extents) ? 2 / (1 / k(cell) + 1 / k(other)) : 2 * k(cell);
  };
  csr_matrix<T> matrix = assemble_on_grid<T>(extents, 1, stencil, [&](const grid_point& cell, std::size_t s) {
    if (s != centre) return std::array<double, 9>{-through_face(cell, stencil[s])};
    double diagonal = 0;
    for (std::size_t face = 0; face < stencil.size(); ++face)
      if (face != centre) diagonal += through_face(cell, stencil[face]);
    return std::array<double, 9>{diagonal};
  });
  std::vector<T> rhs(static_cast<std::size_t>(matrix.rows()), T(1));
  return {std::move(name), std::move(description), std::move(matrix), std::move(rhs), std::nullopt};
}

}  // namespace

template <class T>
gallery_problem<T> checkerboard_3d(index_type size, std::string name) {
  constexpr index_type cells = 8;
  return conduction<T>(
      size, std::move(name), "heat conduction in a cube, 1 and 1e6 in turn in cubes of 8 x 8 x 8 cells",
      [](const grid_point& cell) { return (cell[0] / cells + cell[1] / cells + cell[2] / cells) % 2 == 0 ? 1 : 1e6; });
}
template <class T>
gallery_problem<T> jumps_3d(index_type size, std::string name) {
  return conduction<T>(size, std::move(name), "heat conduction in a cube, in each cell by chance from 1e-3 to 1e3",
                       [size](const grid_point& cell) {
                         return std::pow(10.0, 3 * random_entry(number_of(cell, {size, size, size})));
                       });
}

template gallery_problem<float> checkerboard_3d<float>(index_type, std::string);
template gallery_problem<double> checkerboard_3d<double>(index_type, std::string);
template gallery_problem<float> jumps_3d<float>(index_type, std::string);
template gallery_problem<double> jumps_3d<double>(index_type, std::string);

}  // namespace whilst::detail
