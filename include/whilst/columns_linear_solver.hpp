#pragma once

#include "whilst/linear/columns_linear_solver.hpp"
