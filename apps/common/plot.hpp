#pragma once

#include <string>
#include <vector>

#include "whilst/report.hpp"

namespace whilst::command {

/// One line of a convergence plot.
struct convergence_curve {
  std::string label;
  std::vector<history_record> history;
  /// What the residual norms are divided by; not positive: they are drawn as they are.
  double scale = 1;
};

/// What a convergence plot calls that which it shows.
struct convergence_words {
  std::string quantity = "relative residual";
  /// In the legend, for a record of 0.
  std::string zero = "residual 0";
};

/// A picture (SVG text) of log10 of the relative residual, or another norm that falls, over iterations. Curves that
/// coincide stay discernible: each is thinner than the one below it, dashed its own way and marked at places of its
/// own. A record of 0 has no logarithm: it is marked at the foot of the picture. Gaps are left for NaN and infinity.
/// tolerance: relative, drawn as a line where positive.
std::string convergence_svg(const std::string& title, const std::vector<convergence_curve>& curves, double tolerance,
                            const convergence_words& words = {});

}  // namespace whilst::command
