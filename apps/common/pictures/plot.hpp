#pragma once

#include <string>
#include <vector>

#include "whilst/report.hpp"

namespace whilst::command {

/// One line of a convergence plot.
struct convergence_curve {
  std::string label;
  std::vector<history_record> history;
  /// The residual norms are divided by this; if not positive, they are drawn as they are.
  double scale = 1;
};

/// A convergence plot's labels.
struct convergence_words {
  std::string quantity = "relative residual";
  /// In the legend, for a record of 0.
  std::string zero = "residual 0";
};

/// A picture (SVG text) of log10 of the relative residual, or another decreasing norm, over iterations. Curves that
/// coincide stay discernible: each is thinner than the one below it, with its own dashes and marker positions. A record
/// of 0 has no logarithm: it is marked at the bottom of the picture. NaN and infinity leave gaps. tolerance: relative,
/// drawn as a line if positive.
std::string convergence_svg(const std::string& title, const std::vector<convergence_curve>& curves, double tolerance,
                            const convergence_words& words = {});

}  // namespace whilst::command
