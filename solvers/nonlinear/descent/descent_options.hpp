#pragma once

#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/nonlinear/descent/descent.hpp"

namespace whilst {

/// @file
/// What minimizers, solvers of equations and batches of minimizations make of their options. `making` opens the message
/// of an exception.

/// The entry of a table that has that name; throws whilst::error that lists them.
template <class Table>
auto find_by_name(std::string_view making, const Table& table, std::string_view asked, const std::string& what) {
  std::string all;
  for (const auto& known : table) {
    if (asked == known.name) return known;
    all.append(all.empty() ? "" : ", ").append(known.name);
  }
  throw error(making, "there is no " + what + " called '" + std::string(asked) + "'", "Use one of " + all);
}

/// Throws whilst::error where a tolerance is not 0 or more.
void check_tolerance(std::string_view making, const char* name, double value);
/// Throws whilst::error where one is not, or lower_bound is not a number.
void check_descent(std::string_view making, const descent_tolerances& tolerances, double lower_bound);
/// For methods that hold a dense matrix: throws whilst::error where a function has more than `most` unknowns. `instead`
/// names the methods for it.
void check_unknowns(std::string_view making, const std::string& method, index_type unknowns, index_type most,
                    const std::string& instead);

/// Throws whilst::error where there is none by that name.
line_search_kind line_search_from_name(std::string_view making, std::string_view asked);
/// What a minimization by `method` obeys; `single` where it is in float, whose values are added up in double. In double
/// the rounding of a sum grows with the number of its terms, for which the number of unknowns stands.
descent_settings usual_descent_settings(std::string_view method, line_search_kind search,
                                        const descent_tolerances& tolerances, double lower_bound, bool single,
                                        index_type unknowns = 1);
/// For a loop with a trip an evaluation, max_evaluations being 0 where the number is to be chosen. A loop ends after
/// one trip more than its limit of trips, where 0 stands for none.
index_type trip_limit(index_type max_iterations, index_type max_evaluations);

}  // namespace whilst
