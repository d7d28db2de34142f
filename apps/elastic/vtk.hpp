#pragma once

#include <string>
#include <vector>

#include "scene.hpp"

namespace whilst::elastic {

/// The text of a VTK file (legacy format 3.0, ASCII, an unstructured grid): tetrahedra of the solid and triangles of
/// the cloth at these positions, with each vertex's displacement from the start and each cell's body.
std::string vtk_of(const scene& start, const std::vector<double>& positions, double time);

}  // namespace whilst::elastic
