#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// An iteration of each linear method, on Poisson matrices of four sizes: prints the table and returns it.
json measure_methods(const settings& asked, bool gpu);

}  // namespace overheads
