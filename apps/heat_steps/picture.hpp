#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst::heat_steps {

/// u at the inner points of a grid with `cells` cells along an edge as a picture of the plate, with axes and a colour
/// bar: SVG text that holds a raster, of at most 512 points an edge; of more, every second or third or so is shown.
std::string heat_map_svg(const std::string& title, const std::vector<double>& u, index_type cells);

}  // namespace whilst::heat_steps
