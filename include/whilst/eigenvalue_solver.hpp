#pragma once

#include "whilst/linear/eigenvalue_solver.hpp"
