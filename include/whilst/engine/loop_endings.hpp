#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/reason.hpp"

namespace whilst {

class program;

/// How one loop of a program ended.
struct loop_ending {
  std::string loop;  ///< its name, after those of the enclosing loops: "time steps > newton > cg"
  /// Whether the last run reached the loop; if not, the rest is from an earlier run, or empty.
  bool ran = false;
  reason why = reason::running;
  index_type iterations = 0;  ///< of its last start, if it starts more than once
};

/// How the loops of a program ended in its last run, in the order in which they were recorded: a cancel or a deadline
/// stops every level, and each loop has its own reason. Waits for the run. Loops inside a kernel (resident, batch) are
/// not listed.
std::vector<loop_ending> loop_endings(const program& of);

}  // namespace whilst
