#pragma once

#include <functional>
#include <string>

#include "whilst/host/replayed_solver.hpp"

namespace whilst::command {

/// One line on standard error, rewritten by each call of show and cleared at the end; nothing unless that is a
/// terminal.
class status_line {
 public:
  status_line();
  ~status_line() { show(""); }
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  void show(const std::string& text);

 private:
  bool terminal_, shown_ = false;
};

/// Runs `solve`, a solve of `solver`, while a whilst::watch shows its progress on standard error: on a terminal one
/// line, rewritten; elsewhere a line every two seconds if `log` asks for it, otherwise nothing. An interrupt (Ctrl-C)
/// or a request to terminate cancels the solve, which the line says at once; a second one ends the program. Rethrows
/// what `solve` throws. line: the text to show.
void run_with_progress(replayed_solver& solver, const std::function<void()>& solve,
                       const std::function<std::string(const progress&)>& line, bool log);

}  // namespace whilst::command
