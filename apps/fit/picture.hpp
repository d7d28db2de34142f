#pragma once

#include <string>

#include "fit.hpp"

namespace whilst::fitting {

/// The points with the fitted curve, and the residuals below, as SVG. For models of one predictor. Throws whilst::error
/// if the data span more than double can hold.
std::string curve_svg(const fit_result& result);

}  // namespace whilst::fitting
