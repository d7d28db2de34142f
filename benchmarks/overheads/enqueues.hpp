#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Prints and returns what linear_solver::enqueue costs the host, with and without pointer checks; an empty list if
/// there is no GPU.
json measure_enqueues(const settings& asked, bool gpu);

}  // namespace overheads
