#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// An iteration of conjugate gradients for several right-hand sides at once, beside as many of single solves: prints
/// the table and returns it.
json measure_columns(const settings& asked, bool gpu);

}  // namespace overheads
