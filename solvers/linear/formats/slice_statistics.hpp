#pragma once

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What slices of rows, as sliced_operator has them on a GPU, would hold of a matrix, by up to a thousand of them.
struct slice_statistics {
  index_type looked_at = 0;
  index_type stored = 0, found = 0;  ///< entries in those slices, and nonzeros among them
  index_type far = 0;                ///< slices that read columns of csr
  index_type cut = 0;                ///< slices with rows that do not fit
};

/// csr: a matrix with 32-bit offsets on its place, which does the work; its values are not read. Waits.
template <class T>
slice_statistics look_at_slices(const solve_request<T>& csr);

}  // namespace whilst
