#pragma once

#include <cmath>
#include <type_traits>
#include <utility>

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Pipelined conjugate gradients: P. Ghysels and W. Vanroose, "Hiding global synchronization latency in the
/// preconditioned Conjugate Gradient algorithm", Parallel Computing 40 (2014); in the form that predicts and
/// recomputes: T. Chen and E. Carson, "Predict-and-recompute conjugate gradient variants", SIAM J. Sci. Comput. 42
/// (2020), algorithm 5. With u = M r, q = M s, s = A p from the last iteration, w = A u and z = A q,
///
///   x += alpha p, r -= alpha s, u -= alpha q
///   p = u + beta p, s = w - alpha z + beta s, q = M w - alpha M z + beta q
///
/// for which beta is predicted: (r, u) - 2 alpha (u, s) + alpha^2 (s, q) will be the next (r, u). The sums of an
/// iteration are of vectors that it leaves, so that one kernel multiplies, updates and sums where M is pointwise and A
/// has rows; it reads A once for both products. conjugate_gradient takes two, and more bytes: without M, 11 passes over
/// a vector beside the matrix instead of 8.
///
/// The older form updates w = A u by a recurrence of its own, whose rounding errors grow until the signs of the sums
/// are wrong; it needs residual replacement, three products more each time. Here w and z are products, and nothing is
/// to be replaced. For what drift remains the caller restarts from the recomputed residual (see linear_solve).
///
/// A and M symmetric positive definite; ends as conjugate_gradient. x is changed by finite steps only. There is none in
/// one kernel, which has no latency to hide.
template <class T, class Operator, class Preconditioner>
struct pipelined_conjugate_gradient {
  static constexpr const char* name = "pipelined-cg";
  static constexpr bool runs_in_kernel = false;
  static constexpr method_needs needs{.symmetric = true, .definite = true};
  static constexpr bool lowers_error = false;  ///< rounding may raise it
  static constexpr bool is_identity = Preconditioner::is_identity;
  /// Ranks of a group exchange u and q at once, and take the sums of the last iteration in the kernel of the next,
  /// whose products they do not wait for.
  static constexpr bool exchanges_two =
      whilst::exchanges_two<std::remove_cvref_t<decltype(without_factor(std::declval<const Operator&>()))>> &&
      Preconditioner::pointwise;
  /// One kernel, whose rows gather what other rows update: u and q then alternate between two places.
  static constexpr bool is_one_kernel =
      exchanges_two || (multiplies_two_at_once<T, Operator> && Preconditioner::pointwise);

  struct alignas(16) scalars {
    double alpha, beta;
    double factor;  ///< of A
  };
  struct gathered {
    T *u, *q;
  };

  Operator A;
  Preconditioner M;
  T *x, *r, *p, *s;
  gathered even, odd;
  T *w, *z, *Mw, *Mz;  ///< where they are in memory
  scalars* handed;

  WHILST_HD pipelined_conjugate_gradient(const Operator& A, const Preconditioner& M, T* x, T* r, workspace& memory)
      : A(A), M(M), x(x), r(r) {
    const index_type n = A.rows();
    p = memory.take<T>(n);
    s = memory.take<T>(n);
    even = odd = {result_of(M, n, r, memory), result_of(M, n, s, memory)};
    w = z = Mw = Mz = nullptr;
    if (is_one_kernel) {
      odd = {memory.take<T>(n), memory.take<T>(n)};
    } else {
      w = memory.take<T>(n);
      z = memory.take<T>(n);
      if constexpr (!Preconditioner::pointwise) {
        Mw = result_of(M, n, w, memory);
        Mz = result_of(M, n, z, memory);
      }
    }
    handed = memory.take<scalars>(1);
  }

  /// (r, u), (p, s), (u, s), (s, q), and (r, r) if u is not r.
  WHILST_HD static auto sums_of(double r, double u, double p, double s, double q) {
    if constexpr (is_identity) {
      return sums{r * r, p * s, r * s, s * s};
    } else {
      return sums{r * u, p * s, u * s, s * q, r * r};
    }
  }
  struct begin {
    const T *r, *u, *s, *q;
    T* p;
    WHILST_HD auto operator()(index_type i) const {
      const T ui = u[i];
      p[i] = ui;
      return sums_of(r[i], ui, ui, s[i], q[i]);
    }
  };
  struct choose_step {
    static constexpr bool by_each_block = true;
    scalars* handed;
    const double* factor;  ///< of A; null for 1
    WHILST_HD double read() const { return factor ? *factor : 1.0; }
    template <int k>
    WHILST_HD void operator()(const sums<double, k>& total, loop_state& loop, double factor_of_A) const {
      const double gamma = total[0], curvature = total[1], rr = total[k == 4 ? 0 : 4];
      const double alpha = gamma / curvature;
      const double next = gamma + alpha * (alpha * total[3] - 2 * total[2]), beta = next > 0 ? next / gamma : 0;
      if (loop.check(sqrt(rr))) return;
      const bool fit = is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(beta));
      if (gamma > 0 && curvature > 0 && fit) [[likely]] {
        *handed = {alpha, beta, factor_of_A};
        return;
      }
      loop.stop(!is_finite(gamma) || !is_finite(curvature) ? reason::nan_or_infinity
                : gamma <= 0                               ? reason::indefinite_preconditioner
                : curvature <= 0                           ? reason::indefinite_operator
                                                           : reason::breakdown);
    }
  };

  /// For the products w = A u and z = A q.
  struct advance {
    static constexpr int blocks_wanted = 2;  // with more, registers are short
    Preconditioner M;
    const scalars* handed;
    T *x, *r, *p, *s;
    gathered from, to;
    const T *Mw, *Mz;  ///< null where M is pointwise
    struct entries {
      scalars handed;
      T x, r, u, p, s, q;
    };
    WHILST_HD entries read(index_type i) const {
      const T ui = from.u[i], qi = from.q[i];
      return {*handed, x[i], is_identity ? ui : r[i], ui, p[i], is_identity ? qi : s[i], qi};
    }
    WHILST_HD auto operator()(index_type i, const entries& e, const two<T>& product) const {
      const T alpha = static_cast<T>(e.handed.alpha), beta = static_cast<T>(e.handed.beta);
      const T factor = static_cast<T>(e.handed.factor);
      const auto step_of = [&](const two<T>& of) { return factor * (of.first - alpha * of.second); };
      const T ri = e.r - alpha * e.s, si = step_of(product) + beta * e.s;
      x[i] = e.x + alpha * e.p;
      T ui = ri, qi = si;
      if constexpr (!is_identity) {
        r[i] = ri;
        s[i] = si;
        ui = e.u - alpha * e.q;
        qi = step_of(preconditioned_entries(i, product)) + beta * e.q;
      }
      const T pi = ui + beta * e.p;
      p[i] = pi;
      to.u[i] = ui;
      to.q[i] = qi;
      return sums_of(ri, ui, pi, si, qi);
    }
    WHILST_HD two<T> preconditioned_entries(index_type i, const two<T>& of) const {
      if constexpr (Preconditioner::pointwise) {
        return {M(i, of.first), M(i, of.second)};
      } else {
        return {Mw[i], Mz[i]};
      }
    }
    index_type bytes(index_type n) const {  // x, p, u, q read and written; r and s if they are others
      return (is_identity ? 8 : 12) * n * static_cast<index_type>(sizeof(T));
    }
  };

  template <class Run>
  WHILST_HD void start(Run& run) const {
    const index_type n = A.rows();
    precondition(run, M, n, r, even.u);
    product(run, "s = A u", A, even.u, s, product_alone{});
    precondition(run, M, n, s, even.q);
    const char* const name = "p = u, (r,u), (p,s), (u,s), (s,q)";
    const begin first{r, even.u, s, even.q, p};
    if constexpr (exchanges_two && in_rounds<Run>) {
      run.give(name, n, first);
      without_factor(A).send_two(run, two_vectors<T>{even.u, even.q});
    } else {
      run.step(name, n, first, choose_step{handed, factor_of(A)});
    }
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    iterate_once(run, even, odd);
    if constexpr (is_one_kernel) iterate_once(run, odd, even);
  }

 private:
  template <class Run>
  WHILST_HD void iterate_once(Run& run, const gathered& from, const gathered& to) const {
    const advance next{M, handed, x, r, p, s, from, to, Mw, Mz};
    const choose_step choose{handed, factor_of(A)};
    [[maybe_unused]] const char* const name = "w = A u, z = A q, x, r, u, p, s, q";
    if constexpr (exchanges_two && in_rounds<Run>) {
      product_of_two_between_rounds(run, name, A, from.u, from.q, choose, next, two_vectors<T>{to.u, to.q});
    } else if constexpr (is_one_kernel && !exchanges_two) {
      product_of_two(run, name, A, from.u, from.q, next, choose);
    } else {
      product_without_factor(run, "w = A u", A, from.u, w);
      product_without_factor(run, "z = A q", A, from.q, z);
      if constexpr (!Preconditioner::pointwise) {
        precondition(run, M, A.rows(), w, Mw);
        precondition(run, M, A.rows(), z, Mz);
      }
      use_products(run, "x, r, u, p, s, q", A.rows(), w, z, next, choose);
    }
  }
};

}  // namespace whilst
