#pragma once

#include "whilst/nonlinear/functions/equations.hpp"
