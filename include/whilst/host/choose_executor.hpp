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

/// What a solve can do as a kernel of its own.
struct kernel_abilities {
  bool runs = false;                     ///< at all
  bool spans_blocks = false;             ///< several blocks may share it
  index_type most_rows_of_block = 1024;  ///< up to which one block beats a graph
};

/// What a solver's options request; see linear_solver_options.
struct executor_wish {
  std::string executor = "auto";
  int device = -1;
  std::string callback_memory = "any";
};

/// Honours the request; "auto" consults WHILST_EXECUTOR, then decides by problem and machine. nonzeros: 0 if no matrix
/// is in memory. Throws whilst::error if the request cannot be met.
executor_choice choose_executor(const executor_wish& asked, index_type rows, bool on_device,
                                const kernel_abilities& in_kernel, index_type nonzeros = 0);

/// Whether a kernel of its own is known to beat a graph for a solve of this size on that GPU.
bool is_fast_in_kernel(const place& where, index_type rows, index_type nonzeros, const kernel_abilities& in_kernel);

/// The place of a batch: the CPU if the request or WHILST_EXECUTOR says so or there is no GPU, otherwise the GPU
/// requested. Throws whilst::error on an executor that is not for batches. `making` opens the message; `alone` is what
/// solves a single problem: "a linear_solver".
place place_of_batch(const executor_wish& asked, const std::string& making, const std::string& alone,
                     index_type rows = 1, bool on_device = false);

}  // namespace whilst
