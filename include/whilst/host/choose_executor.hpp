#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/executor.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// Where and how a solver runs.
struct executor_choice {
  place where;
  executor how;
};

/// What a solver's options request; see linear_solver_options.
struct executor_wish {
  std::string executor = "auto";
  int device = -1;
  std::string callback_memory = "any";
};

/// Honours the request; "auto" consults WHILST_EXECUTOR, then decides by problem and machine. nonzeros: 0 if no matrix
/// is in memory. Throws whilst::error if the request cannot be met.
executor_choice choose_executor(const executor_wish& asked, index_type rows, bool on_device, bool runs_in_kernel,
                                index_type nonzeros = 0);

}  // namespace whilst
