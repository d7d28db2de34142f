#pragma once

/// The library door: plain C++20, no CUDA compiler needed.

#include "whilst/csr_matrix.hpp"
#include "whilst/error.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/reason.hpp"
#include "whilst/report.hpp"
