#pragma once

/// @file
/// The template door to linear systems: an operator and a preconditioner that are functors of your own, whole solves
/// recorded from them, every executor. Where CUDA is on, compile files that include this by nvcc.

#include "whilst/linear/operator_solver.hpp"
