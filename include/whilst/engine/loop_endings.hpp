#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/reason.hpp"

namespace whilst {

class program;

/// How one loop of a program ended.
struct loop_ending {
  std::string loop;  ///< its name, after those around it: "time steps > newton > cg"
  /// Whether the last run came to it at all; if not, the rest is of an earlier run, or nothing.
  bool ran = false;
  reason why = reason::running;
  index_type iterations = 0;  ///< of its last start, where it is started more than once
};

/// How the loops of a program ended in its last run, in the order in which they were recorded: a cancel or a deadline
/// stops every level, and each loop has a reason of its own. Waits for the run. Loops within a kernel (resident, batch)
/// are not among them.
std::vector<loop_ending> loop_endings(const program& of);

}  // namespace whilst
