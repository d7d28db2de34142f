#pragma once

#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/nonlinear/descent/descent.hpp"

namespace whilst {

/// @file
/// What minimizers, solvers of equations and batches of minimizations do with their options. `making` opens the message
/// of an exception.

/// The table entry with that name; throws whilst::error that lists the names if there is none.
template <class Table>
auto find_by_name(std::string_view making, const Table& table, std::string_view asked, const std::string& what) {
  std::string all;
  for (const auto& known : table) {
    if (asked == known.name) return known;
    all.append(all.empty() ? "" : ", ").append(known.name);
  }
  throw error(making, "there is no " + what + " called '" + std::string(asked) + "'", "Use one of " + all);
}

/// Throws whilst::error if a tolerance is negative or NaN.
void check_tolerance(std::string_view making, const char* name, double value);
/// Throws whilst::error if a tolerance is negative or NaN, or lower_bound is NaN.
void check_descent(std::string_view making, const descent_tolerances& tolerances, double lower_bound);
/// For methods that hold a dense matrix: throws whilst::error if a function has more than `most` unknowns. `instead`
/// names methods without that limit.
void check_unknowns(std::string_view making, const std::string& method, index_type unknowns, index_type most,
                    const std::string& instead);

/// Throws whilst::error if there is none by that name.
line_search_kind line_search_from_name(std::string_view making, std::string_view asked);
/// The settings of a minimization by `method`; `single` if it is in float, whose values are summed in double. In double
/// the rounding of a sum grows with its number of terms, which the number of unknowns stands for.
descent_settings usual_descent_settings(std::string_view method, line_search_kind search,
                                        const descent_tolerances& tolerances, double lower_bound, bool single,
                                        index_type unknowns = 1);
/// For a loop with one evaluation per trip; max_evaluations is 0 if the number is to be chosen. A loop ends after one
/// trip more than its trip limit; a limit of 0 means none.
index_type trip_limit(index_type max_iterations, index_type max_evaluations);

}  // namespace whilst
