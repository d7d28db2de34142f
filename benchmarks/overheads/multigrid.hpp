#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Whole solves by conjugate gradients with preconditioners: set-up, solve, refresh after new values; prints the table
/// and returns it.
json measure_multigrid(const settings& asked, bool gpu);

}  // namespace overheads
