#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// The greater of two sizes; NaN if one is.
WHILST_HD inline double greater_size(double one, double other) { return other > one || other != other ? other : one; }

/// The largest sum of the sizes of a row's entries, ||A|| by rows, which bounds every eigenvalue; NaN where there is
/// one. A map over pieces of the rows, a thread each. In double, so that float rows do not overflow.
template <class T, class Operator>
struct largest_row {
  Operator A;
  index_type rows_a_piece;
  double* largest;  ///< of each piece

  WHILST_HD void operator()(index_type piece) const {
    const index_type begin = piece * rows_a_piece;
    const index_type end = A.rows() - begin < rows_a_piece ? A.rows() : begin + rows_a_piece;
    const T* const values = A.values.get();
    double most = 0;
    for (index_type i = begin; i < end; ++i) {
      double sum = 0;
      for (auto k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) sum += fabs(static_cast<double>(values[k]));
      most = greater_size(most, sum);
    }
    largest[piece] = most;
  }
  index_type bytes(index_type) const { return A.bytes(); }
};

/// Of all pieces, for the finish of that step.
struct largest_of_pieces {
  const double* of_piece;
  index_type pieces;
  WHILST_HD double largest() const {
    double most = 0;
    for (index_type piece = 0; piece < pieces; ++piece) most = greater_size(most, of_piece[piece]);
    return most;
  }
};

}  // namespace whilst
