#pragma once

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// One line of a convergence history: the residual norm after `iteration` completed updates.
struct history_record {
  index_type iteration;
  double residual_norm;
};

}  // namespace whilst
