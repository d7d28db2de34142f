#pragma once

#include "apps/whilst/command.hpp"

namespace whilst::command {

/// whilst solve --ranks: one system, its rows on the ranks of a group. Rank 0 reads it, prints and writes. Returns an
/// exit_status. Throws whilst::error, where the options ask for what ranks do not have, too.
int run_solve_on_ranks(const solve_options& options);

}  // namespace whilst::command
