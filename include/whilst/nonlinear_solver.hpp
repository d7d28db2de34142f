#pragma once

#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
