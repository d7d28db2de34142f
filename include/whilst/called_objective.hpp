#pragma once

#include "whilst/nonlinear/functions/called_objective.hpp"
