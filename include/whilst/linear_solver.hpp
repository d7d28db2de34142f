#pragma once

#include "whilst/linear/linear_solver.hpp"
