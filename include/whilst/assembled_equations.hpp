#pragma once

#include "whilst/nonlinear/functions/assembled_equations.hpp"
