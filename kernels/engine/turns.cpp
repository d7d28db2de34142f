#include "whilst/engine/turns.hpp"

#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/engine/steps/host_threads.hpp"

namespace whilst {
namespace {

[[noreturn]] void refuse(std::string_view doing) {
  throw error(doing, "code that a run of the same solver or program calls asks for it, before that run has ended",
              "Ask when the run has ended, or give a callback, a map or an operator a solver or program of its own");
}

}  // namespace

turns::turn turns::take() {
  if (!is_on_host_threads()) return turn(mutex_);
  // As below; the run's own thread can take the turn again.
  turn mine(mutex_, std::try_to_lock);
  if (!mine) refuse("changing what later runs use");
  return mine;
}

turns::turn turns::enter(std::string_view doing) {
  // The run that a step is part of would wait for the step, and the step for the run's turn to end.
  turn mine = is_on_host_threads() ? turn(mutex_, std::try_to_lock) : turn(mutex_);
  if (!mine || runs_ > 0) refuse(doing);
  return mine;
}

}  // namespace whilst
