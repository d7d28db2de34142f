#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Prints and returns what linear_solver::enqueue costs the host, with the pointers looked at and without; an empty
/// list where there is no GPU.
json measure_enqueues(const settings& asked, bool gpu);

}  // namespace overheads
