#pragma once

#include "whilst/linear/conjugate_gradient.hpp"

namespace whilst {

/// Pipelined conjugate gradients: P. Ghysels and W. Vanroose, "Hiding global synchronization latency in the
/// preconditioned Conjugate Gradient algorithm", Parallel Computing 40 (2014), algorithm 4. The sums of an iteration do
/// not wait for its product n = A m. With u = M r, w = A u and m = M w,
///
///   p = u + beta p, s = w + beta s, q = m + beta q, z = n + beta z
///   x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z
///
/// where alpha and beta come from (r, u), (w, u) and their last values, as in conjugate_gradient. Two steps an
/// iteration where M is pointwise and A has rows; the second, a sequel, updates all vectors. On one device this hides
/// little, and moves more memory than conjugate_gradient, which has one reduction, too.
///
/// Rounding errors of s, q, z, u and w grow by these recurrences until even the signs of the sums are wrong. A restart
/// mends that but loses p, and with it many iterations. So every 16 iterations all of them are made anew from r and p,
/// by three products. For what drift remains the caller restarts from the recomputed residual (see linear_solve): near
/// the attainable accuracy that takes up to 2.5 times the iterations of conjugate_gradient, or ends a little before it.
///
/// A and M symmetric positive definite; ends as conjugate_gradient. x is changed by finite steps only. There is none in
/// one kernel, which has no latency to hide.
template <class T, class Operator, class Preconditioner>
struct pipelined_conjugate_gradient {
  static constexpr const char* name = "pipelined-cg";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.symmetric = true, .definite = true};
  static constexpr bool lowers_error = false;  ///< rounding may raise it
  /// Iterations between renewals. With 64 or none at all, elasticity2d:16 in float is taken for indefinite.
  static constexpr index_type most_recurrent = 16;

  using plain = conjugate_gradient<T, Operator, Preconditioner>;
  using scalars = typename plain::scalars;

  Operator A;
  Preconditioner M;
  T *x, *r, *u, *w, *m, *n, *p, *s, *q, *z;
  scalars* handed;
  int* renews;  ///< whether the vectors are made anew after this update

  WHILST_HD pipelined_conjugate_gradient(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type rows = A.rows();
    u = result_of(M, rows, r, memory);
    w = memory.take<T>(rows);
    m = result_of(M, rows, w, memory);
    n = memory.take<T>(rows);
    p = memory.take<T>(rows);
    s = memory.take<T>(rows);
    q = result_of(M, rows, s, memory);
    z = memory.take<T>(rows);
    handed = memory.take<scalars>(1);
    renews = memory.take<int>(1);
  }

  /// Of vectors that the last iteration left: entry i of n is not waited for.
  struct dots {
    const T *r, *u, *w;
    struct entries {
      T r, u, w;
    };
    WHILST_HD entries read(index_type i) const {
      const T ui = u[i];
      return {Preconditioner::is_identity ? ui : r[i], ui, w[i]};
    }
    WHILST_HD auto operator()(const entries& e, T) const {
      const double ri = e.r, ui = e.u, wi = e.w;
      if constexpr (Preconditioner::is_identity) {
        return sums{ri * ri, ri * wi};
      } else {
        return sums{ri * ui, ui * wi, ri * ri};
      }
    }
    index_type bytes(index_type rows) const {
      return (Preconditioner::is_identity ? 2 : 3) * rows * static_cast<index_type>(sizeof(T));
    }
  };
  /// w has A's factor already; n gets it from the scalars.
  struct choose_step {
    scalars* handed;
    int* renews;
    const double* factor;  ///< of A; null for 1
    using known = typename plain::choose_step::known;
    WHILST_HD known read() const { return {*handed, factor ? *factor : 1.0}; }
    template <int k>
    WHILST_HD void operator()(const sums<double, k>& total, loop_state& loop, const known& before) const {
      typename plain::choose_step{handed, nullptr}(total, loop, {before.last, 1.0});
      handed->factor = before.factor;
      *renews = loop.running && (loop.iteration + 1 - loop.first_iteration) % most_recurrent == 0;
    }
  };

  /// Returns the entry of w, for M. Without an M, u is r, m is w and q is s.
  struct advance {
    static constexpr bool fetches_constants = false;
    const scalars* handed;
    T *x, *r, *u, *w, *p, *s, *q, *z;
    const T *m, *n;
    struct own {
      T x, r, u, w, m, p, s, q, z;
    };
    struct entries {
      scalars told;
      own e;
      T n;
    };
    // The step before writes n and the scalars only.
    template <class Team>
    WHILST_HD own fetch(index_type i, const Team& team) const {
      const T ri = team.early(r + i), wi = team.early(w + i), si = team.early(s + i);
      constexpr bool same = Preconditioner::is_identity;
      return {team.early(x + i),
              ri,
              same ? ri : team.early(u + i),
              wi,
              same ? wi : team.early(m + i),
              team.early(p + i),
              si,
              same ? si : team.early(q + i),
              team.early(z + i)};
    }
    template <class Team>
    WHILST_HD entries read(index_type i, const Team&, const own& e) const {
      return {*handed, e, n[i]};
    }
    WHILST_HD T operator()(index_type i, const entries& all) const {
      const own& e = all.e;
      const T alpha = static_cast<T>(all.told.alpha), beta = static_cast<T>(all.told.beta);
      const T ni = static_cast<T>(all.told.factor) * all.n;
      // What they hold at first may not even be a number.
      const bool first = beta == 0;
      const T pi = first ? e.u : e.u + beta * e.p, si = first ? e.w : e.w + beta * e.s;
      const T qi = first ? e.m : e.m + beta * e.q, zi = first ? ni : ni + beta * e.z;
      const T wi = e.w - alpha * zi;
      p[i] = pi;
      s[i] = si;
      z[i] = zi;
      x[i] = e.x + alpha * pi;
      r[i] = e.r - alpha * si;
      w[i] = wi;
      if constexpr (!Preconditioner::is_identity) {
        q[i] = qi;
        u[i] = e.u - alpha * qi;
      }
      return wi;
    }
    index_type bytes(index_type rows) const {  // x, r, w, p, s, z read and written, n read; u, q likewise, and m
      return (Preconditioner::is_identity ? 13 : 18) * rows * static_cast<index_type>(sizeof(T));
    }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    renew_residual(run);
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    product(run, "n = A m, (r,u), (w,u)", without_factor(A), m, n, dots{r, u, w},
            choose_step{handed, renews, factor_of(A)}, "p, s, q, z, x += alpha p, r, u, w",
            preconditioned(M, advance{handed, x, r, u, w, p, s, q, z, m, n}, w, m));
    run.branch("renew the vectors", renews, [&](auto& run) {
      renew_residual(run);
      product(run, "s = A p", A, p, s, product_alone{});
      precondition(run, M, A.rows(), s, q);
      product(run, "z = A q", A, q, z, product_alone{});
    });
  }

 private:
  template <class Run>
  WHILST_HD void renew_residual(Run& run) const {
    precondition(run, M, A.rows(), r, u);
    product(run, "w = A u", A, u, w, product_alone{});
    precondition(run, M, A.rows(), w, m);
  }
};

}  // namespace whilst
