#pragma once

#include "benchmarks/overheads/tables.hpp"

namespace overheads {

/// Conjugate gradients on Poisson matrices of growing size, by every way and every baseline: prints the table and
/// returns it. copy_rate: bytes per second of a plain copy; 0 without a GPU.
json measure_conjugate_gradients(const settings& asked, bool gpu, double copy_rate);

}  // namespace overheads
