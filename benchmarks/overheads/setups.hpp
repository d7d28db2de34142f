#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Prints and returns what comes before the first iteration: making the first solver of a process and the next ones, a
/// solve from host memory that has nothing to iterate, and making a matrix. Call it before anything else makes a
/// solver. asked.calls: prints and returns the CUDA calls of each, too, whose times then include the looking.
json measure_setups(const settings& asked, bool gpu);

}  // namespace overheads
