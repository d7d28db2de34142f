#pragma once

#include <functional>
#include <string>

/// The command line programs, and in apps/common what they share.
namespace whilst::command {

/// What a program's exit status says.
enum exit_status : int { succeeded = 0, failed = 1, not_converged = 2 };

/// What main does around a program's work: what that throws becomes a line on standard error that begins with the
/// program's name, and the exit status `failed`. Otherwise the status is the one that work returns. Control characters
/// in the line are shown as numbers, and interrupts are told of.
/// too_large: what needed the memory where there was not enough, as "a problem of this size".
int report_errors(const std::string& program, const std::string& too_large, const std::function<int()>& work);

/// Throws whilst::error where what was printed did not arrive: a full disk or a closed pipe shows only at the end.
void require_standard_output();

}  // namespace whilst::command
