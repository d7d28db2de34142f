#pragma once

#include "whilst/nonlinear/functions/partially_separable.hpp"
