// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/rectangular/record_least_squares.hpp"

namespace whilst {

/// CGLS, conjugate gradients for A'A x = A'b with the residual of A x = b as a vector: M. R. Hestenes, E. Stiefel, J.
/// Res. Nat. Bur. Standards 49 (1952), section 10; A. Bjorck, T. Elfving, Z. Strakos, "Stability of conjugate gradient
/// and Lanczos methods for linear least squares problems", SIAM J. Matrix Anal. Appl. 19 (1998), algorithm CGLS1;
/// preconditioned by M, close to the inverse of A'A. With s = A'r and z = M s,
///
///   alpha = (s, z) / ||A p||^2      x += alpha p, r -= alpha A p
///   beta = (s, z) / (s, z)_old      p = z + beta p
///
/// Its iterates are those of lsqr, which takes two steps an iteration where this takes four, but has no vectors r and
/// A'r to look at: here the norms tested are of vectors.
template <class T, class Operator, class Preconditioner>
struct cgls {
  static constexpr const char* name = "cgls";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.definite_preconditioner = true, .transpose = true};

  struct scalars {
    double alpha, beta;
    double sz;  ///< 0 before the first iteration
    double residual_norm;
  };

  Operator A;
  Preconditioner M;
  const double* tolerance;
  bidiagonalization<T, Operator, Preconditioner> vectors;  ///< u is r, p is s, v is z
  T *x, *p, *q;
  scalars* known;

  cgls(const Operator& A, const Preconditioner& M, T* x, T* r, const double* tolerance, workspace& memory)
      : A(A), M(M), tolerance(tolerance), vectors(A, M, r, memory), x(x) {
    p = memory.take<T>(vectors.columns);
    q = memory.take<T>(vectors.rows);
    known = memory.take<scalars>(1);
  }

  struct square_of_product {
    WHILST_HD T read(index_type) const { return 0; }
    WHILST_HD auto operator()(T, T Ap) const {
      const double qi = Ap;
      return sums{qi * qi};
    }
    index_type bytes(index_type) const { return 0; }
  };
  struct choose_alpha {
    scalars* known;
    WHILST_HD void operator()(const sums<double, 1>& qq, loop_state& loop) const {
      known->alpha = known->sz / qq[0];
      if (is_finite(static_cast<T>(known->alpha))) return;
      loop.stop(is_finite(qq[0]) ? reason::breakdown : reason::nan_or_infinity);
    }
  };

  struct lower_residual {
    const scalars* known;
    const T* q;
    T* r;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i] - static_cast<T>(known->alpha) * q[i];
      r[i] = ri;
      const double one = ri;
      return sums{one * one};
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct note_residual {
    scalars* known;
    WHILST_HD void operator()(const sums<double, 1>& rr) const { known->residual_norm = sqrt(rr[0]); }
  };

  struct advance {
    Preconditioner M;
    const scalars* known;
    const double* factor;
    const T* p;
    T *s, *z, *x;
    index_type rows;  ///< of A, for bytes() only
    struct entries {
      double alpha, factor;
      T p, x;
    };
    WHILST_HD entries read(index_type j) const { return {known->alpha, *factor, p[j], x[j]}; }
    WHILST_HD auto operator()(index_type j, const entries& e, T Ar) const {
      x[j] = e.x + static_cast<T>(e.alpha) * e.p;
      const T sj = static_cast<T>(e.factor * static_cast<double>(Ar));
      s[j] = sj;
      return preconditioned_entry(M, j, sj, z);
    }
    index_type bytes(index_type n) const { return ((s == z ? 4 : 5) * n + rows) * static_cast<index_type>(sizeof(T)); }
  };
  struct judge {
    scalars* known;
    const double* tolerance;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      const double sz = total[0], norm = known->residual_norm, beta = known->sz > 0 ? sz / known->sz : 0;
      if (loop.check(norm)) return;
      if (sqrt(total[1]) <= *tolerance * norm) {
        loop.stop(reason::converged_normal);
      } else if (!(sz > 0) || !is_finite(static_cast<T>(beta))) {
        loop.stop(sz < 0 ? reason::indefinite_preconditioner : sz == 0 ? reason::breakdown : reason::nan_or_infinity);
      }
      known->beta = beta;
      known->sz = sz;
    }
  };

  struct next_direction {
    const scalars* known;
    const T* z;
    T* p;
    WHILST_HD void operator()(index_type j) const { p[j] = z[j] + static_cast<T>(known->beta) * p[j]; }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };

  struct begin {
    scalars* known;
    WHILST_HD void operator()(const sums<double, 1>& rr) const { *known = {0, 0, 0, sqrt(rr[0])}; }
  };

  void start(recorder& run) const {
    vectors.clear(run, p, p);
    vectors.measure_u(run, begin{known});
    next_s(run);
  }
  void iterate(recorder& run) const {
    product(run, "q = A p, (q,q)", A, p, q, square_of_product{}, choose_alpha{known});
    run.step("r -= alpha q, (r,r)", vectors.rows, lower_residual{known, q, vectors.u}, note_residual{known});
    next_s(run);
  }

 private:
  void next_s(recorder& run) const {
    vectors.multiply_transposed(run, "s = A'r, z = M s, x += alpha p, (s,z)", A, M,
                                advance{M, known, factor_of(A), p, vectors.p, vectors.v, x, vectors.rows},
                                judge{known, tolerance});
    run.step("p = z + beta p", vectors.columns, next_direction{known, vectors.v, p});
  }
};

template <class T>
linear_method<T> cgls_method() {
  return listed_least_squares<cgls, T>();
}
template linear_method<WHILST_NUMBER> cgls_method();

}  // namespace whilst
