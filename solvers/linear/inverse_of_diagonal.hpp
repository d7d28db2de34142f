#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Puts the inverse of *factor times a diagonal, or of its absolute values, in the diagonal's place; 1 where it is 0.
template <class T>
struct inverse_of_diagonal {
  const double* factor;
  bool absolute;
  T* diagonal;
  WHILST_HD void operator()(index_type i) const {
    const T d = static_cast<T>(*factor * static_cast<double>(diagonal[i])), size = absolute && d < 0 ? -d : d;
    diagonal[i] = d == 0 ? T(1) : 1 / size;
  }
};

}  // namespace whilst
