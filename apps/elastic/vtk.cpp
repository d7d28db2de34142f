#include "vtk.hpp"

#include <fmt/format.h>

#include <iterator>

namespace whilst::elastic {

std::string vtk_of(const scene& start, const std::vector<double>& positions, double time) {
  constexpr int triangle = 5, tetrahedron = 10;  // as VTK numbers them
  std::string text;
  const auto out = std::back_inserter(text);
  std::size_t triangles = 0;
  for (const surface_triangle& t : start.surface) triangles += t.of_cloth;
  const std::size_t tetrahedra = start.volume.size(), cells = tetrahedra + triangles, vertices = start.mass.size();

  fmt::format_to(out, "# vtk DataFile Version 3.0\nelastic bodies at {:g} s\nASCII\nDATASET UNSTRUCTURED_GRID\n", time);
  fmt::format_to(out, "POINTS {} double\n", vertices);
  for (std::size_t v = 0; v < vertices; ++v)
    fmt::format_to(out, "{:.9g} {:.9g} {:.9g}\n", positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
  fmt::format_to(out, "CELLS {} {}\n", cells, 5 * tetrahedra + 4 * triangles);
  for (std::size_t e = 0; e < tetrahedra; ++e) {
    const std::int32_t* const v = start.tetrahedra.data() + 4 * e;
    fmt::format_to(out, "4 {} {} {} {}\n", v[0], v[1], v[2], v[3]);
  }
  for (const surface_triangle& t : start.surface)
    if (t.of_cloth) fmt::format_to(out, "3 {} {} {}\n", t.vertex[0], t.vertex[1], t.vertex[2]);
  fmt::format_to(out, "CELL_TYPES {}\n", cells);
  for (std::size_t e = 0; e < cells; ++e) fmt::format_to(out, "{}\n", e < tetrahedra ? tetrahedron : triangle);
  fmt::format_to(out, "POINT_DATA {}\nVECTORS displacement double\n", vertices);
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto moved = [&](std::size_t c) { return positions[3 * v + c] - start.positions[3 * v + c]; };
    fmt::format_to(out, "{:.9g} {:.9g} {:.9g}\n", moved(0), moved(1), moved(2));
  }
  fmt::format_to(out, "CELL_DATA {}\nSCALARS cloth int 1\nLOOKUP_TABLE default\n", cells);
  for (std::size_t e = 0; e < cells; ++e) fmt::format_to(out, "{}\n", e < tetrahedra ? 0 : 1);
  return text;
}

}  // namespace whilst::elastic
