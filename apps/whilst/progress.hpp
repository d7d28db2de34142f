#pragma once

#include <string>
#include <vector>

#include "whilst/linear_solver.hpp"

namespace whilst::command {

/// Solves on a thread of its own while this one reports how far it is, on standard error: on a terminal a line that is
/// rewritten, elsewhere a line every two seconds if `log` asks for it, otherwise nothing. An interrupt (Ctrl-C) or a
/// request to terminate cancels the solve; a second one ends the program.
template <class T>
report solve_with_progress(linear_solver<T>& solver, const std::vector<T>& b, std::vector<T>& x, bool log);

extern template report solve_with_progress<float>(linear_solver<float>&, const std::vector<float>&, std::vector<float>&,
                                                  bool);
extern template report solve_with_progress<double>(linear_solver<double>&, const std::vector<double>&,
                                                   std::vector<double>&, bool);

}  // namespace whilst::command
