#pragma once

#include "whilst/nonlinear/minimize/minimizer.hpp"
