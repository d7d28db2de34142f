#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst::heat_steps {

/// u at the inner points of a grid with `cells` cells along an edge as a picture of the plate, with axes and a colour
/// bar: SVG text with an embedded raster of at most 512 points per edge; larger grids are subsampled.
std::string heat_map_svg(const std::string& title, const std::vector<double>& u, index_type cells);

}  // namespace whilst::heat_steps
