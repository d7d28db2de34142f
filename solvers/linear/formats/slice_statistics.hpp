#pragma once

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What slices of rows hold of a matrix: see sliced_operator.
struct slice_statistics {
  index_type slices = 0;
  index_type read = 0;    ///< entries that a product reads, padding included
  index_type far = 0;     ///< slices that read columns of csr
  index_type cut = 0;     ///< slices with rows that do not fit
  std::size_t bytes = 0;  ///< of the copy
};

/// csr: a matrix with 32-bit offsets, on the place that is to use the slices, which does the work; its values are not
/// read. An offset that is none counts as a row that does not fit. Waits.
template <class T>
slice_statistics look_at_slices(const solve_request<T>& csr);

}  // namespace whilst
