#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/methods/flexible_conjugate_gradient.hpp"
#include "whilst/linear/preconditioners.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {

/// Conjugate gradients in mixed precision, for a matrix, alone or with Jacobi: flexible_conjugate_gradient on vectors
/// and a copy of the matrix that are stored in float, within the refinements in T that linear_solve makes. It hands
/// over the residual, scaled to about 1, and adds the correction that comes back to x. That halves what an iteration
/// reads and writes, but for column indices and the correction: rounded to float, it would leave noise in the next
/// residual.
///
/// An inner loop ends where its residual is `reduction` times what it was, since float's residual goes on falling long
/// after the true one. Iterative refinement would then build a new Krylov space each time; here the direction outlives
/// the refinement, as in the residual replacement of G. L. G. Sleijpen and H. A. van der Vorst, "Reliable updated
/// residuals in hybrid Bi-CG methods", Computing 56 (1996), and is conjugate to the next. All is computed in double
/// between float and float: rounding to float once an entry disturbs the directions far less than a sum in float.
///
/// Converges where the condition of A, or of M A, is well below float's 1.7e7; elsewhere it ends with
/// attainable_accuracy.
///
/// Operator: a csr_operator with a factor. FloatPreconditioner: of float, made from the matrix.
template <class T, class Operator, class FloatPreconditioner>
struct refined_conjugate_gradient {
  using float_matrix = sliced_operator<decltype(Operator::unscaled), true>;
  using inner_method = flexible_conjugate_gradient_loop<float, T, float_matrix, FloatPreconditioner>;
  static constexpr const char* name = "refined-cg";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs = inner_method::needs;
  static constexpr bool lowers_error = false;  ///< rounding to float may raise it
  static constexpr double reduction = 1e-2;

  Operator A;
  const T* r;
  float* float_r;
  float_matrix float_A;
  FloatPreconditioner M;
  inner_method inner;

  refined_conjugate_gradient(const Operator& A, const FloatPreconditioner& M, T* d, const T* r, workspace& memory)
      : A(A),
        r(r),
        float_r(memory.take<float>(A.rows())),
        float_A(float_matrix(A.unscaled, A.factor).with_memory(memory)),
        M(M.with_memory(A.rows(), memory)),
        inner(float_A, this->M, d, float_r, memory) {}

  struct narrow_residual {
    const T* r;
    float* float_r;
    WHILST_HD auto operator()(index_type i) const {
      const float ri = static_cast<float>(r[i]);
      float_r[i] = ri;
      return sums{static_cast<double>(ri) * static_cast<double>(ri)};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(float)); }
  };
  /// The loop's tolerance is the solve's, until the next restart sets it again.
  struct aim {
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double wanted = reduction * sqrt(rr[0]) * power_of_two(loop.norm_exponent);
      if (wanted > loop.rtol_norm) loop.rtol_norm = wanted;
    }
  };

  template <class Run>
  void prepare(Run& run) const {
    float_A.prepare(run);
    M.prepare(run, float_A);
    inner.prepare(run);
  }
  template <class Run>
  void start(Run& run) const {
    run.step("r in float, (r,r)", A.rows(), narrow_residual{r, float_r}, aim{});
    inner.start(run);
  }
  template <class Run>
  void iterate(Run& run) const {
    inner.iterate(run);
  }
};

}  // namespace whilst
