#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/problems/test_problems/test_problems.hpp"

namespace whilst_bench {

/// Multiples of the standard starting point.
constexpr std::array<double, 3> mgh_starts{1, 10, 100};

/// How one minimization ended.
struct mgh_run {
  whilst::reason reason = whilst::reason::running;
  whilst::index_type iterations = 0, evaluations = 0;
  /// f, without a factor 1/2, and the norm of its gradient.
  double value = 0, gradient_norm = 0;
  bool solved = false;
};
using mgh_runs = std::array<mgh_run, mgh_starts.size()>;

/// One problem at one size: how each method ended, in the order in which the methods were requested.
struct mgh_entry {
  whilst::test_problem problem;
  std::vector<mgh_runs> by_method;
};

/// All methods of the suite: those of whilst::minimizer, whose Levenberg-Marquardt, given the functions as sums and not
/// as residuals, is "levenberg-marquardt-cg"; and "levenberg-marquardt" for a few unknowns.
const std::vector<std::string>& mgh_methods();

/// Iteration limit of a method. Lower for methods that crawl where others are done: a higher one would solve a few more
/// problems, in thousands of evaluations.
whilst::index_type mgh_iterations(const std::string& method);

/// Minimizes with levenberg-marquardt, from x, which receives the point found.
mgh_run run_levenberg_marquardt(const whilst::test_problem& problem, std::vector<double>& x);

/// Prints the table, the counts and the misses, and writes the JSON. Returns the exit status.
int report_mgh(const std::vector<std::string>& methods, const std::vector<mgh_entry>& entries, const std::string& json);

}  // namespace whilst_bench
