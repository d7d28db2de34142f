#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

/// Preconditioners M, applied as u = M r within the steps of a method. A pointwise one computes entry i of u from entry
/// i of r, so methods fuse it into the step that updates r; any other records its own steps or calls, as the
/// preconditioners in whilst/linear/linear_operator.hpp do. Each declares:
///   pointwise             u_i = M(i, r_i)
///   runs_in_kernel        false if it needs calls
///   made_from_operator()  whether prepare builds it from the operator passed: from c A, M / c
/// takes its memory in with_memory(n, memory), and prepares what it needs from the operator in prepare(run, A). Methods
/// apply it by preconditioned(), in whilst/linear/products.hpp.

/// What a method asks of A and M, and what it minimizes or lowers in each iteration.
struct method_needs {
  bool symmetric = false, definite = false;  ///< A
  bool definite_preconditioner = false;      ///< though A may be indefinite: Jacobi takes absolute values
  bool linear_preconditioner = false;        ///< to the last digit: M r follows a recurrence of its own
  bool transpose = false;                    ///< products with A', too: A may be rectangular, M is for A'A
  bool fixed_preconditioner = true;          ///< the same linear map in each iteration; false of flexible methods
};

/// A pointwise one may declare with bytes(n) what it reads of its own for n entries, as an operator does. It may also
/// have fetch(i, team), which reads for entry i what only its prepare writes, and returns it as a struct of its own:
/// then M(fetched, r) is M(i, r). Steps that fetch themselves read it as early. See phases.hpp.
template <class Preconditioner>
concept says_own_bytes = !Preconditioner::pointwise || requires(const Preconditioner& M) {
  M.bytes(index_type{});
};
template <class Preconditioner>
requires says_own_bytes<Preconditioner> index_type bytes_of([[maybe_unused]] const Preconditioner& M,
                                                            [[maybe_unused]] index_type n) {
  if constexpr (Preconditioner::pointwise) {
    return M.bytes(n);
  } else {
    return 0;
  }
}

/// No preconditioner: u is r itself, in the same memory.
struct identity_preconditioner {
  static constexpr bool pointwise = true, is_identity = true, runs_in_kernel = true;
  WHILST_HD static constexpr bool made_from_operator() { return true; }
  template <class T>
  WHILST_HD T operator()(index_type, T r) const {
    return r;
  }
  index_type bytes(index_type) const { return 0; }
  WHILST_HD identity_preconditioner with_memory(index_type, workspace&) const { return {}; }
  template <class Run, class Operator>
  WHILST_HD void prepare(Run&, const Operator&) const {}
};

/// The inverse of the diagonal (Jacobi), or of its absolute values, which is positive definite for every A; recomputed
/// at the start of every solve, so that new matrix values count. A zero on the diagonal leaves its row unscaled.
template <class T>
struct jacobi_preconditioner {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
  WHILST_HD static constexpr bool made_from_operator() { return true; }
  T* inverse_diagonal = nullptr;
  bool absolute = false;

  struct fetched {
    T inverse;
  };
  template <class Team>
  WHILST_HD fetched fetch(index_type i, const Team& team) const {
    return {team.early(inverse_diagonal + i)};
  }
  WHILST_HD T operator()(const fetched& of, T r) const { return of.inverse * r; }
  WHILST_HD T operator()(index_type i, T r) const { return inverse_diagonal[i] * r; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  WHILST_HD jacobi_preconditioner with_memory(index_type n, workspace& memory) const {
    return {memory.vector<T>(n), absolute};
  }

  template <class Operator>
  struct invert_diagonal {
    Operator A;
    T* inverse_diagonal;
    bool absolute;
    WHILST_HD void operator()(index_type i) const {
      const T d = A.diagonal(i), size = absolute && d < 0 ? -d : d;
      inverse_diagonal[i] = d == 0 ? T(1) : 1 / size;
    }
  };
  template <class Run, class Operator>
  WHILST_HD void prepare(Run& run, const Operator& A) const {
    run.step("invert the diagonal", A.rows(), invert_diagonal<Operator>{A, inverse_diagonal, absolute});
  }
};

/// The vector for M r: r itself for the identity, otherwise memory of its own.
template <class Preconditioner, class T>
WHILST_HD T* result_of([[maybe_unused]] const Preconditioner& M, index_type n, T* r, workspace& memory) {
  if constexpr (Preconditioner::is_identity) {
    return r;
  } else if constexpr (!Preconditioner::pointwise) {
    return M.changes_nothing() ? r : memory.vector<T>(n);
  } else {
    return memory.vector<T>(n);
  }
}

/// u = M r as a step, for a pointwise M.
template <class T, class Preconditioner>
struct precondition_pointwise {
  Preconditioner M;
  const T* r;
  T* u;
  WHILST_HD void operator()(index_type i) const { u[i] = M(i, r[i]); }
  index_type bytes(index_type n) const requires says_own_bytes<Preconditioner> {
    return bytes_of(M, n) + 2 * n * static_cast<index_type>(sizeof(T));
  }
};

/// u = M r, if it cannot be, or has not been, fused into another step. Nothing for the identity, whose u is r.
template <class Run, class T, class Preconditioner, bool has_kernels = by_nvcc>
WHILST_HD void precondition(Run& run, const Preconditioner& M, index_type n, const T* r, T* u) {
  if constexpr (!Preconditioner::pointwise) {
    M.record(run, n, r, u);
  } else if constexpr (!Preconditioner::is_identity) {
    run.step("u = M r", n, precondition_pointwise<T, Preconditioner>{M, r, u});
  }
}

}  // namespace whilst
