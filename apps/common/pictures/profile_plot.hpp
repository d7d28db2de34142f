#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whilst::command {

/// One solver's line: for each problem that it solved, its cost divided by the lowest cost of any solver, ascending.
struct profile_curve {
  std::string label;
  std::vector<double> ratios;
};

/// One measure of cost, such as time.
struct profile_panel {
  std::string caption;
  std::vector<profile_curve> curves;
};

/// The lines of one measure, from costs[solver][problem], infinite where it failed. A cost of 0 counts as `least`: of
/// two solvers with nothing to do, each is the best.
profile_panel make_profile(const std::string& caption, const std::vector<std::string>& labels,
                           const std::vector<std::vector<double>>& costs, double least);

/// Performance profiles (SVG text), a panel for each measure, side by side: the share of the problems that a solver
/// solves at a cost of at most so many times the lowest. All panels have the same solvers in the same order. problems:
/// how many there are, unsolved ones included. E. D. Dolan and J. J. More, "Benchmarking optimization software with
/// performance profiles", Mathematical Programming 91 (2002).
std::string profile_svg(const std::string& title, const std::vector<profile_panel>& panels, std::size_t problems);

}  // namespace whilst::command
