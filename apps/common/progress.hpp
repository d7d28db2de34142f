#pragma once

#include <functional>
#include <string>

namespace whilst::command {

/// Runs `solve` on a thread of its own while this one shows how far it is, on standard error: on a terminal a line that
/// is rewritten, elsewhere a line every two seconds if `log` asks for it, otherwise nothing. An interrupt (Ctrl-C) or a
/// request to terminate calls `cancel`, again and again until the solve ends; a second one ends the program. What
/// `solve` throws comes out here.
/// line: the text to show; empty while there is nothing to tell.
void run_with_progress(const std::function<void()>& solve, const std::function<void()>& cancel,
                       const std::function<std::string()>& line, bool log);

}  // namespace whilst::command
