#pragma once

/// @file
/// The library door: plain C++20, no CUDA compiler needed.

#include "whilst/batch_linear_solver.hpp"
#include "whilst/csr_matrix.hpp"
#include "whilst/error.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/machine.hpp"
#include "whilst/matrix_market.hpp"
#include "whilst/program_cache.hpp"
#include "whilst/reason.hpp"
#include "whilst/report.hpp"
#include "whilst/version.hpp"
#include "whilst/watch.hpp"
