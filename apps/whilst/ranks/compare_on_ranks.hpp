#pragma once

#include "apps/whilst/command.hpp"

namespace whilst::command {

/// whilst compare --ranks: one system on one number of ranks after another. Rank 0 reads it, prints and writes. Returns
/// an exit_status. Throws whilst::error, where the options ask for what ranks do not have, too, and where no number of
/// ranks could solve.
int run_compare_on_ranks(const solve_options& options);

}  // namespace whilst::command
