#pragma once

#include <array>
#include <string>
#include <vector>

#include "benchmarks/whilst-bench/nist.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst_bench {

/// One fit, from one starting point.
struct nist_fit {
  std::string executor, reason;
  whilst::index_type iterations = 0;
  double seconds = 0;
  double sum_of_squares = 0;
  std::vector<double> parameters;
  /// Digits that agree with the certified ones, in the worst parameter; and in the worst standard error.
  double digits = 0, digits_of_errors = 0;
};
struct nist_set {
  std::string name;
  std::array<nist_fit, 2> fits;
};

/// Digits needed for a fit to count as solved.
inline constexpr double digits_wanted = 6;

/// Prints the table, writes the JSON; returns the exit status.
int report_nist(const std::vector<nist_set>& sets, const nist_options& options);

}  // namespace whilst_bench
