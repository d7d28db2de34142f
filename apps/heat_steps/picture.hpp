#pragma once

#include <string>
#include <vector>

#include "whilst/index_type.hpp"

namespace whilst::heat_steps {

/// u at the inner points of a grid with `cells` cells along an edge, as squares of colour: SVG text. Grids of more than
/// 64 are thinned out.
std::string heat_map_svg(const std::vector<double>& u, index_type cells);

}  // namespace whilst::heat_steps
