#pragma once

#include <exception>

#include "whilst/engine/program.hpp"

namespace whilst {

/// Waits for a program's runs. For destructors: a failure here has been or will be reported to whoever wants a result.
void wait_quietly(const program& of) noexcept;

/// Waits for the program's runs if an exception leaves the scope. For solves from host memory: a failed one may have a
/// run in flight that would go on in memory that the next one fills. Refers to the program.
class no_run_left_behind {
 public:
  explicit no_run_left_behind(const program& of) : program_(of), exceptions_(std::uncaught_exceptions()) {}
  ~no_run_left_behind() {
    if (std::uncaught_exceptions() > exceptions_) wait_quietly(program_);
  }
  no_run_left_behind(const no_run_left_behind&) = delete;
  no_run_left_behind& operator=(const no_run_left_behind&) = delete;

 private:
  const program& program_;
  int exceptions_;
};

}  // namespace whilst
