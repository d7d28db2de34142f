#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Batches of small systems: prints the table and returns it.
json measure_batches(const settings& asked, bool gpu);

}  // namespace overheads
