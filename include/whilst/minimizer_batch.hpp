#pragma once

#include "whilst/nonlinear/minimize/minimizer_batch.hpp"
