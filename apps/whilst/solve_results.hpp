#pragma once

#include <string>
#include <vector>

#include "input.hpp"
#include "results.hpp"
#include "whilst/report.hpp"

namespace whilst::command {

/// Prints and writes what a solve left: the lines from the history on, and the files that were asked for. explained:
/// what --explain adds; empty for nothing. more: further entries of the report of --json.
template <class T>
void tell_results(const linear_system<T>& system, const solve_options& options, const result_files& files,
                  const report& result, const std::vector<T>& x, const std::string& explained,
                  const json& more = json::object());

extern template void tell_results(const linear_system<float>&, const solve_options&, const result_files&, const report&,
                                  const std::vector<float>&, const std::string&, const json&);
extern template void tell_results(const linear_system<double>&, const solve_options&, const result_files&,
                                  const report&, const std::vector<double>&, const std::string&, const json&);

}  // namespace whilst::command
