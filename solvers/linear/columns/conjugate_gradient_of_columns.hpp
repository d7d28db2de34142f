#pragma once

#include "solvers/linear/columns/by_column.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// Preconditioned conjugate gradients for several right-hand sides, each with scalars of its own; with one reduction an
/// iteration: G. Meurant, "Multitasking the conjugate gradient method on the CRAY X-MP/48", Parallel Comput. 5 (1987),
/// with the sum recomputed as in T. Chen, E. Carson, "Predict-and-recompute conjugate gradient variants", SIAM J. Sci.
/// Comput. 42 (2020).
///
/// With q = A p the next rho = (r, M r) is predicted as alpha^2 (q, M q) - rho, and beta follows before r is updated;
/// so one step updates x, r and p. It also leaves the true rho for the next iteration, hence errors of the prediction
/// do not add up. The vectors are four, x r p q, where the single method has five; the step over them moves seven
/// entries instead of nine, and with several columns the vectors are nearly all there is to move.
///
/// A column that has stopped does not change any more, not in a bit, while the others go on.
template <class T, class Operator, class Preconditioner>
struct conjugate_gradient_of_columns {
  static constexpr const char* name = "cg";
  static constexpr int sums_an_iteration = 4;
  using entries = column_pair<T>;
  struct alignas(16) scalars {
    double alpha, beta;
  };

  scaled_operator<T, Operator> A;
  Preconditioner M;
  column_layout of;
  control* columns;  ///< of each: its loop, armed before start
  entries *x, *r, *p, *q;
  double *rho_and_norm, *curvature;  ///< sums over pieces; the second follow the first
  scalars* s;

  /// x and r = b - A x are the caller's, and so is the memory for the sums.
  WHILST_HD conjugate_gradient_of_columns(const scaled_operator<T, Operator>& A, const Preconditioner& M,
                                          const column_layout& of, control* columns, entries* x, entries* r,
                                          double* sums, workspace& memory)
      : A(A), M(M), of(of), columns(columns), x(x), r(r), rho_and_norm(sums) {
    p = memory.take<entries>(of.entries());
    q = memory.take<entries>(of.entries());
    s = memory.take<scalars>(of.all_columns());
    curvature = sums ? sums + of.numbers_of_sums(2) : nullptr;
  }

  /// Which of two columns run.
  struct running {
    bool runs, first, second;
    WHILST_HD running(const control* columns, index_type pair)
        : first(columns[2 * pair].running), second(columns[2 * pair + 1].running) {
      runs = first || second;
    }
    /// The new entry of a column that runs, the old one of another.
    WHILST_HD column_pair<T> chosen(const column_pair<T>& now, const column_pair<T>& before) const {
      return {first ? now[0] : before[0], second ? now[1] : before[1]};
    }
  };
  WHILST_HD static column_sums<2> rho_and_norm_of(const entries& r, const entries& u) {
    return {{product_of(r, u), product_of(r, r)}};
  }

  struct first_direction {
    const control* columns;
    Preconditioner M;
    const entries* r;
    entries* p;
    WHILST_HD running read(index_type pair) const { return {columns, pair}; }
    WHILST_HD auto operator()(index_type i, index_type at, const running&) const {
      const entries ri = r[at], u = preconditioned_pair(M, i, ri);
      p[at] = u;
      return rho_and_norm_of(ri, u);
    }
    index_type bytes(const column_layout& of) const { return bytes_of(M, of.rows) + 2 * bytes_of_vector(of); }
  };

  struct direction_product {
    const control* columns;
    scaled_operator<T, Operator> A;
    Preconditioner M;
    const entries* p;
    entries* q;
    index_type pairs;
    struct known : running {
      double factor;
      pair_of_columns<T> p;
    };
    WHILST_HD known read(index_type pair) const { return {{columns, pair}, *A.factor, {p + pair, pairs}}; }
    WHILST_HD auto operator()(index_type i, index_type at, const known& of_pair) const {
      const entries qi = scaled({of_pair.factor, of_pair.factor}, A.unscaled.row_of_several(i, of_pair.p));
      q[at] = qi;
      return column_sums<2>{{product_of(p[at], qi), product_of(qi, preconditioned_pair(M, i, qi))}};
    }
    index_type bytes(const column_layout& of) const {
      return A.bytes() + bytes_of(M, of.rows) + 2 * bytes_of_vector(of);
    }
  };

  struct choose_step {
    control* columns;
    scalars* s;
    WHILST_HD bool is_asked(index_type column) const { return columns[column].running != 0; }
    WHILST_HD bool operator()(index_type column, const sums<double, 4>& total) const {
      loop_state& loop = columns[column];
      const double rho = total[0], curvature = total[2];
      const double alpha = rho / curvature, predicted = alpha * alpha * total[3] - rho;
      // Where r all but vanishes the prediction may be rounding, even of the wrong sign.
      const double beta = predicted > 0 ? predicted / rho : predicted <= 0 ? 0 : predicted;
      if (loop.check(sqrt(total[1]))) return false;
      const bool fit = is_finite(static_cast<T>(alpha)) && is_finite(static_cast<T>(beta));
      if (rho > 0 && curvature > 0 && fit) [[likely]] {
        s[column] = {alpha, beta};
        return true;
      }
      loop.stop(!is_finite(rho) || !is_finite(curvature) ? reason::nan_or_infinity
                : rho <= 0                               ? reason::indefinite_preconditioner
                : curvature <= 0                         ? reason::indefinite_operator
                                                         : reason::breakdown);
      return false;
    }
  };

  struct advance {
    const control* columns;
    const scalars* s;
    Preconditioner M;
    entries *x, *r, *p;
    const entries* q;
    struct known : running {
      entries alpha, beta;
    };
    WHILST_HD known read(index_type pair) const {
      const scalars one = s[2 * pair], other = s[2 * pair + 1];
      return {{columns, pair},
              {static_cast<T>(one.alpha), static_cast<T>(other.alpha)},
              {static_cast<T>(one.beta), static_cast<T>(other.beta)}};
    }
    WHILST_HD auto operator()(index_type i, index_type at, const known& of_pair) const {
      const entries xi = x[at], ri = r[at], pi = p[at], qi = q[at];
      const entries next = ri - of_pair.alpha * qi, u = preconditioned_pair(M, i, next);
      x[at] = of_pair.chosen(xi + of_pair.alpha * pi, xi);
      r[at] = of_pair.chosen(next, ri);
      p[at] = of_pair.chosen(u + of_pair.beta * pi, pi);
      return rho_and_norm_of(next, u);
    }
    index_type bytes(const column_layout& of) const { return bytes_of(M, of.rows) + 7 * bytes_of_vector(of); }
  };

  static index_type bytes_of_vector(const column_layout& of) {
    return of.entries() * static_cast<index_type>(sizeof(entries));
  }

  template <class Run>
  WHILST_HD void start(Run& run) const {
    visit_rows(run, "p = M r, (r,p), (r,r)", of, first_direction{columns, M, r, p}, rho_and_norm);
  }

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    visit_rows(run, "q = A p, (p,q), (q,M q)", of, direction_product{columns, A, M, p, q, of.pairs}, curvature);
    judge_columns<sums_an_iteration>(run, "alpha and beta of each column", of, rho_and_norm, choose_step{columns, s},
                                     while_a_column_goes_on{});
    visit_rows(run, "x += alpha p, r -= alpha q, p = M r + beta p", of, advance{columns, s, M, x, r, p, q},
               rho_and_norm);
  }
};

}  // namespace whilst
