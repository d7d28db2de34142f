#pragma once

#include <functional>
#include <string>

#include "whilst/host/replayed_solver.hpp"

namespace whilst::command {

/// From now on an interrupt (Ctrl-C) or a request to terminate is reported, "PROGRAM: interrupted" on standard error,
/// before it ends the program as usual. A signal that was ignored before stays ignored.
void tell_of_interrupts(const std::string& program);

/// While one exists, the first interrupt or request to terminate is only noted; the second one ends the program. One at
/// a time, and after tell_of_interrupts.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  /// Callable from any thread.
  bool interrupted() const;
};

/// Does the work; after an interrupt, its solves are cancelled.
void cancel_on_interrupt(const interrupt_watch& interrupts, replayed_solver& solver, const std::function<void()>& work);

}  // namespace whilst::command
