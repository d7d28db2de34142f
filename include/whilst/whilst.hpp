#pragma once

/// @file
/// The library door: plain C++20, no CUDA compiler needed.

#include "whilst/basics/error.hpp"
#include "whilst/engine/control/reason.hpp"
#include "whilst/files/matrix_market.hpp"
#include "whilst/host/machine.hpp"
#include "whilst/host/report.hpp"
#include "whilst/host/watch.hpp"
#include "whilst/linear/batch_linear_solver.hpp"
#include "whilst/linear/columns_linear_solver.hpp"
#include "whilst/linear/coo_assembly.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/eigenvalue_range.hpp"
#include "whilst/linear/eigenvalue_solver.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/program_cache.hpp"
#include "whilst/problems/gallery.hpp"
#include "whilst/version.hpp"
