#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/executor.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// Where and how a solver is to run.
struct executor_choice {
  place where;
  executor how;
};

/// What the options of a solver say of that; see linear_solver_options.
struct executor_wish {
  std::string executor = "auto";
  int device = -1;
  std::string callback_memory = "any";
};

/// What is asked for; "auto" asks WHILST_EXECUTOR, then goes by problem and machine. nonzeros: 0 where there is
/// no matrix in memory. Throws whilst::error where that cannot be had.
executor_choice choose_executor(const executor_wish& asked, index_type rows, bool on_device, bool runs_in_kernel,
                                index_type nonzeros = 0);

}  // namespace whilst
