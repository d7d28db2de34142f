#pragma once

#include <string>
#include <vector>

#include "solvers/linear/multigrid/aggregation.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/transposed_pattern.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/amg_options.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// A level of smoothed aggregation, in numbers of type C.
template <class C>
struct level {
  pattern_view A;
  sparse_pattern own_pattern;  ///< of A, but on the finest level
  buffer<C> values;            ///< of A
  buffer<std::uint8_t> strong;
  aggregates parts;
  sparse_pattern P, AP;
  transposed_pattern R, QT;  ///< of P and of AP
  buffer<C> P_values, AP_values, Q_values, QT_values, M;
  buffer<std::int32_t> up_offsets, up_indices;  ///< of [S | Q]
  buffer<C> up_values;

  matrix_view<C> matrix() const { return {A, values.data()}; }
  index_type rows() const { return A.rows; }
  index_type coarse_rows() const { return parts.count; }
  index_type bytes() const;
};

/// The levels of a matrix and how their values are made.
///
/// A cycle takes two products a level. With a diagonal smoother M, one sweep before and one after the coarse correction
/// are, written out, z = S r + Q B Q'r with S = 2 M - M A M, Q = (I - M A) P, and B for what the coarser levels do: so
/// the level needs no product with A, P and P' of its own. (A "multiplicative" cycle written as an additive one, as in
/// P. S. Vassilevski, U. M. Yang, Numer. Linear Algebra Appl. 21 (2014), section 2.) On the way down r becomes Q'r, on
/// the way up the vector [r, e] becomes [S | Q] [r, e]. The coarsest level has the inverse of its matrix, if that is
/// small enough, or else S alone.
template <class C>
class hierarchy {
 public:
  /// A: the matrix's pattern; borrowed. Fills in the finest values by fill(values), then makes patterns and values of
  /// all levels, and waits.
  template <class Fill>
  hierarchy(place where, const pattern_view& A, const amg_options& options, const Fill& fill)
      : where_(where), options_(options) {
    begin(A);
    fill(levels_.front().values.data());
    build();
  }

  place where() const { return where_; }
  const std::vector<level<C>>& levels() const { return levels_; }
  bool has_inverse() const { return inverse_.size() > 0; }
  const C* inverse() const { return inverse_.data(); }
  C* finest_values() const { return levels_.front().values.data(); }

  /// Records how all values follow from the finest ones.
  void record_values(recorder& run) const;
  index_type bytes() const;
  /// "4 levels of 1000000, 147666, 9345, 121 rows; operator complexity 1.92"
  std::string description() const;

 private:
  void begin(const pattern_view& A);
  void build();
  void coarsen(level<C>& fine, double threshold);
  void finish_level(level<C>& fine);
  void record_values_of(recorder& run, const level<C>& here) const;
  void record_coarse_matrix(recorder& run, const level<C>& fine, const level<C>& coarse) const;
  void record_inverse(recorder& run) const;

  place where_;
  amg_options options_;
  std::vector<level<C>> levels_;
  buffer<C> inverse_;
  buffer<double> work_;  ///< for the inverse
};

extern template class hierarchy<float>;
extern template class hierarchy<double>;

}  // namespace whilst::multigrid
