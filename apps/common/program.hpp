#pragma once

#include <functional>
#include <string>

/// The command line programs; apps/common holds what they share.
namespace whilst::command {

/// The meaning of a program's exit status.
enum exit_status : int { succeeded = 0, failed = 1, not_converged = 2 };

/// The frame of main around a program's work: if work throws, prints a line on standard error that begins with the
/// program's name, and returns `failed`; otherwise returns work's status. Control characters in the line are shown as
/// numbers, and interrupts are reported. too_large: what needed the memory when it ran out, e.g. "a problem of this
/// size".
int report_errors(const std::string& program, const std::string& too_large, const std::function<int()>& work);

/// Throws whilst::error if printed output did not arrive: a full disk or a closed pipe shows only at the end.
void require_standard_output();

}  // namespace whilst::command
