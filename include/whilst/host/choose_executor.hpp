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

/// The place of a batch: the CPU if the request or WHILST_EXECUTOR says so or there is no GPU, otherwise the GPU
/// requested. Throws whilst::error on an executor that is not for batches. `making` opens the message; `alone` is what
/// solves a single problem: "a linear_solver".
place place_of_batch(const executor_wish& asked, const std::string& making, const std::string& alone,
                     index_type rows = 1, bool on_device = false);

}  // namespace whilst
