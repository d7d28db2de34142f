#pragma once

#include <string>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/interleaved_rows.hpp"
#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "solvers/linear/multigrid/transposed_pattern.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/amg_options.hpp"

namespace whilst::multigrid {

/// A level of smoothed aggregation, in numbers of type C.
template <class C>
struct level {
  pattern_view A, P, AP, Q;
  transposed_pattern R, QT;  ///< of P and of Q
  C *A_values = nullptr, *P_values = nullptr, *AP_values = nullptr, *up_values = nullptr, *Q_values = nullptr,
    *QT_values = nullptr, *M = nullptr;
  std::uint8_t* strong = nullptr;     ///< of each entry of A
  std::int32_t* aggregate = nullptr;  ///< of each unknown; -1 for none
  index_type coarse_rows = 0;
  interleaved_rows<C> up, down;  ///< [S | Q], and Q'

  matrix_view<C> matrix() const { return {A, A_values}; }
  strong_graph<C> graph() const { return {matrix(), strong}; }
  entries_of_Q<C> entries() const { return {{P, P_values}, {AP, AP_values}, M}; }
};

/// The levels of a matrix and how their values are made.
///
/// A cycle takes two steps a level. With a diagonal smoother M, one sweep before and one after the coarse correction
/// are, written out, z = S r + Q B Q'r with S = 2 M - M A M, Q = (I - M A) P, and B for what the coarser levels do. So
/// on the way down r becomes Q'r, on the way up r and the coarser level's e become S r + Q e, and there is no product
/// with A, P and P' of its own. (A multiplicative cycle written as an additive one, as in P. S. Vassilevski, U. M.
/// Yang, Numer. Linear Algebra Appl. 21 (2014), section 2.) The coarsest level has the inverse of its matrix, if that
/// is small enough, or else S alone.
template <class C>
class hierarchy {
 public:
  /// A: the matrix's pattern; borrowed. record_finest(run, values) records how the finest values are made. Makes
  /// patterns and values of all levels, and waits.
  template <class RecordFinest>
  hierarchy(place where, const pattern_view& A, const amg_options& options, const RecordFinest& record_finest)
      : where_(where), options_(options), kept_(where, usual_bytes(A)) {
    if (options_.coarsest_rows == 0) options_.coarsest_rows = where.on_host() ? 256 : 1024;
    begin(A);
    program_recorder run(where);
    record_finest(run, finest_values());
    run_now(std::move(run).finish(), where);
    build();
  }

  const std::vector<level<C>>& levels() const { return levels_; }
  bool has_inverse() const { return inverse_.size() > 0; }
  const C* inverse() const { return inverse_.data(); }
  C* finest_values() const { return levels_.front().A_values; }

  /// Records how all values follow from the finest ones.
  void record_values(recorder& run) const;
  index_type bytes() const { return kept_.bytes() + told_.bytes(); }
  /// "4 levels of 1000000, 147666, 9345, 121 rows; operator complexity 1.92"
  std::string description() const;

 private:
  static std::size_t usual_bytes(const pattern_view& A) {
    return static_cast<std::size_t>(32 * A.nonzeros + 128 * A.rows) + 4096;
  }
  void begin(const pattern_view& A);
  void build();
  bool coarsen(level_memory& scratch);
  void take_values(recorder& run, level<C>& fine);
  void take_cycle_matrices(recorder& run, level<C>& fine);
  void record_products(recorder& run, const level<C>& here) const;
  void record_cycle_matrices(recorder& run, const level<C>& here) const;
  void record_coarse_matrix(recorder& run, const level<C>& fine, const level<C>& coarse) const;
  void record_inverse(recorder& run) const;
  interleaved_rows<C> interleaved(recorder& run, const pattern_view& pattern, const C* values);
  void record_in_order(recorder& run, const interleaved_rows<C>& matrix) const;

  place where_;
  amg_options options_;
  level_memory kept_;
  std::vector<level<C>> levels_;
  piece<C> inverse_;
  piece<double> work_;         ///< for the inverse
  buffer<std::int32_t> told_;  ///< sizes that the host waits for
};

extern template class hierarchy<float>;
extern template class hierarchy<double>;

}  // namespace whilst::multigrid
