#pragma once

#include <cmath>
#include <cstdint>

#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// Another method in float, as the inner solver of an iterative refinement in T: J. H. Wilkinson, "Rounding Errors in
/// Algebraic Processes" (1963); with Krylov methods as inner solvers, E. Carson and N. J. Higham, "Accelerating the
/// solution of linear systems by iterative refinement in three precisions", SIAM J. Sci. Comput. 40 (2018).
///
/// linear_solve already refines: it hands a method the residual, scaled to about 1, and adds the correction that comes
/// back. Here the method's vectors, its preconditioner and a copy of the matrix are float, which halves what an
/// iteration moves besides column indices. It stops where the residual is `reduction` times what it was: float's own
/// residual goes on falling long after the true one. Each refinement then recomputes r in T. It converges where the
/// condition of A is well below float's 1.7e7; where it is not, linear_solve ends with attainable_accuracy.
///
/// Operator: a csr_operator with a factor. NarrowPreconditioner: of float, made from the matrix.
template <template <class, class, class> class Inner, class T, class Operator, class NarrowPreconditioner>
struct method_in_float {
  using offset = std::remove_cvref_t<decltype(*std::declval<Operator>().unscaled.row_offsets)>;
  using narrow_operator = csr_operator<float, offset, fixed_slot<const float>>;
  using inner_type = Inner<float, narrow_operator, NarrowPreconditioner>;
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs = inner_type::needs;
  static constexpr bool lowers_error = inner_type::lowers_error;
  static constexpr double reduction = 1e-4;

  Operator A;
  T* d;
  const T* r;
  float *values, *narrow_d, *narrow_r;
  narrow_operator narrow_A;
  NarrowPreconditioner M;
  inner_type inner;

  method_in_float(const Operator& A, const NarrowPreconditioner& M, T* d, const T* r, workspace& memory)
      : A(A),
        d(d),
        r(r),
        values(memory.take<float>(A.unscaled.nonzeros)),
        narrow_d(memory.take<float>(A.rows())),
        narrow_r(memory.take<float>(A.rows())),
        narrow_A{A.rows(), A.unscaled.row_offsets, A.unscaled.column_indices,
                 {values}, A.unscaled.lanes_a_row, A.unscaled.nonzeros},
        M(M.with_memory(A.rows(), memory)),
        inner(narrow_A, this->M, narrow_d, narrow_r, memory) {}

  /// The factor belongs into the values: without it they may be out of float's range.
  struct narrow_value {
    decltype(std::declval<Operator>().unscaled.values) from;
    const double* factor;
    float* to;
    WHILST_HD void operator()(index_type k) const {
      to[k] = static_cast<float>(*factor * static_cast<double>(from.get()[k]));
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(float)); }
  };
  struct narrow_residual {
    const T* r;
    float *narrow_r, *narrow_d;
    WHILST_HD auto operator()(index_type i) const {
      const float ri = static_cast<float>(r[i]);
      narrow_r[i] = ri;
      narrow_d[i] = 0;
      return sums{static_cast<double>(ri) * static_cast<double>(ri)};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + 2 * sizeof(float)); }
  };
  /// The loop's tolerance is the solve's, until the next restart sets it again.
  struct aim {
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double wanted = std::ldexp(reduction * sqrt(rr[0]), loop.norm_exponent);
      if (wanted > loop.rtol_norm) loop.rtol_norm = wanted;
    }
  };
  struct widen_correction {
    const float* narrow_d;
    T* d;
    WHILST_HD void operator()(index_type i) const { d[i] = static_cast<T>(narrow_d[i]); }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(float)); }
  };

  template <class Run>
  void prepare(Run& run) const {
    run.step("A in float", A.unscaled.nonzeros, narrow_value{A.unscaled.values, A.factor, values});
    M.prepare(run, narrow_A);
  }
  template <class Run>
  void start(Run& run) const {
    run.step("r in float, (r,r)", A.rows(), narrow_residual{r, narrow_r, narrow_d}, aim{});
    inner.start(run);
  }
  template <class Run>
  void iterate(Run& run) const {
    inner.iterate(run);
  }
  template <class Run>
  void conclude(Run& run) const {
    run.step("d in full", A.rows(), widen_correction{narrow_d, d});
  }
};

}  // namespace whilst
