#pragma once

#include "whilst/linear/batch_linear_solver.hpp"
