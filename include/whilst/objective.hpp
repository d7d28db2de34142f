#pragma once

#include "whilst/nonlinear/functions/objective.hpp"
