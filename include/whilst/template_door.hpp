#pragma once

/// @file
/// The template door to linear systems: whole solves, recorded from an operator and a preconditioner that are functors
/// of your own, on every executor. With CUDA on, compile files that include this with nvcc.

#include "whilst/linear/operator_solver.hpp"
