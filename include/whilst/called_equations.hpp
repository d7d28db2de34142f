#pragma once

#include "whilst/nonlinear/functions/called_equations.hpp"
