#pragma once

#include "whilst/engine/control/control.hpp"

namespace whilst::detail {

/// The state shared by a whole batch, in the memory of its place. `root` is the loop that encloses those of all
/// problems: it holds the launch, the deadline, the request to stop, and the time from the first problem to the last.
struct batch_frame {
  control root;
  void* x;
};

struct batch_begins {
  control* root;
  WHILST_HD void operator()() const { root->arm(true); }
};
struct batch_ends {
  control* root;
  WHILST_HD void operator()() const { root->stopped_at = now_nanoseconds(); }
};

}  // namespace whilst::detail
