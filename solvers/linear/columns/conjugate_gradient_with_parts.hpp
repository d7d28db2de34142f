#pragma once

#include "solvers/linear/columns/columns_by_parts.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"

namespace whilst {

/// Conjugate gradients for several right-hand sides with a preconditioner that records steps of its own. M costs most
/// here, so each iteration has it once: the recurrences and the verdicts are those of conjugate_gradient, column by
/// column, which has one reduction an iteration as well.
///
/// M is applied to all columns, also to those that have stopped; these change no more, not in a bit.
template <class T, class Operator, class Preconditioner>
struct conjugate_gradient_with_parts {
  static constexpr const char* name = "cg";
  using entries = column_pair<T>;
  using single = conjugate_gradient<T, scaled_operator<T, Operator>, Preconditioner>;
  using scalars = typename single::scalars;

  scaled_operator<T, Operator> A;
  columns_by_parts<T> M;
  column_layout of;
  control* columns;  ///< of each: its loop, armed before start
  entries *x, *r, *u, *w, *p, *q;
  double* partial;  ///< sums over pieces
  scalars* s;

  /// x and r = b - A x are the caller's, and so is the memory for the sums.
  conjugate_gradient_with_parts(const scaled_operator<T, Operator>& A, const Preconditioner& M, const column_layout& of,
                                control* columns, entries* x, entries* r, double* sums, workspace& memory)
      : A(A),
        M(columns_by_parts<T>::with_memory(M.parts, of, memory)),
        of(of),
        columns(columns),
        x(x),
        r(r),
        partial(sums) {
    for (entries** vector : {&u, &w, &p, &q}) *vector = memory.take<entries>(of.entries());
    s = memory.take<scalars>(of.all_columns());
  }

  /// Which of two columns run.
  struct running {
    index_type pair;
    bool runs, each[2];
    WHILST_HD running(const control* columns, index_type pair)
        : pair(pair), each{columns[2 * pair].running != 0, columns[2 * pair + 1].running != 0} {
      runs = each[0] || each[1];
    }
  };

  struct hand_to_parts {
    const control* columns;
    const entries* r;
    whole_columns<T> R;
    WHILST_HD running read(index_type pair) const { return {columns, pair}; }
    WHILST_HD void operator()(index_type i, index_type at, const running& here) const { R.put(i, here.pair, r[at]); }
    index_type bytes(const column_layout& of) const { return 2 * bytes_of_vector(of); }
  };
  struct turn_back {
    const control* columns;
    whole_columns<T> MR;
    entries* u;
    WHILST_HD running read(index_type pair) const { return {columns, pair}; }
    WHILST_HD void operator()(index_type i, index_type at, const running& here) const { u[at] = MR.get(i, here.pair); }
    index_type bytes(const column_layout& of) const { return 2 * bytes_of_vector(of); }
  };

  struct product_of_u {
    const control* columns;
    scaled_operator<T, Operator> A;
    const entries *r, *u;
    entries* w;
    index_type pairs;
    struct known : running {
      double factor;
      pair_of_columns<T> u;
    };
    WHILST_HD known read(index_type pair) const { return {{columns, pair}, *A.factor, {u + pair, pairs}}; }
    WHILST_HD auto operator()(index_type i, index_type at, const known& here) const {
      const entries wi = scaled({here.factor, here.factor}, A.unscaled.row_of_several(i, here.u)), ri = r[at],
                    ui = u[at];
      w[at] = wi;
      return column_sums<3>{{product_of(ri, ui), product_of(ui, wi), product_of(ri, ri)}};
    }
    index_type bytes(const column_layout& of) const { return A.bytes() + 3 * bytes_of_vector(of); }
  };

  struct choose_step {
    control* columns;
    scalars* s;
    WHILST_HD bool is_asked(index_type column) const { return columns[column].running != 0; }
    WHILST_HD bool operator()(index_type column, const sums<double, 3>& total) const {
      const typename single::choose_step of_one{s + column, nullptr};
      auto before = of_one.read();
      of_one.prepare(before);
      of_one(total, columns[column], before);
      return is_asked(column);
    }
  };

  struct advance {
    const control* columns;
    const scalars* s;
    entries *x, *r, *p, *q;
    const entries *u, *w;
    whole_columns<T> R;
    struct known : running {
      T alpha[2], beta[2];
    };
    WHILST_HD known read(index_type pair) const {
      const scalars one = s[2 * pair], other = s[2 * pair + 1];
      return {{columns, pair},
              {static_cast<T>(one.alpha), static_cast<T>(other.alpha)},
              {static_cast<T>(one.beta), static_cast<T>(other.beta)}};
    }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      const entries ui = u[at], wi = w[at];
      entries xi = x[at], ri = r[at], pi = p[at], qi = q[at];
      for (int j = 0; j < 2; ++j) {
        if (!here.each[j]) continue;
        // What p and q hold at first may not even be a number.
        const T beta = here.beta[j], alpha = here.alpha[j];
        pi.value[j] = beta == 0 ? ui[j] : ui[j] + beta * pi[j];
        qi.value[j] = beta == 0 ? wi[j] : wi[j] + beta * qi[j];
        xi.value[j] += alpha * pi[j];
        ri.value[j] -= alpha * qi[j];
      }
      x[at] = xi;
      r[at] = ri;
      p[at] = pi;
      q[at] = qi;
      R.put(i, here.pair, ri);
    }
    index_type bytes(const column_layout& of) const { return 11 * bytes_of_vector(of); }
  };

  static index_type bytes_of_vector(const column_layout& of) {
    return of.entries() * static_cast<index_type>(sizeof(entries));
  }

  void start(recorder& run) const {
    visit_rows(run, "R for M", of, hand_to_parts{columns, r, M.R});
    precondition(run);
  }
  void iterate(recorder& run) const {
    visit_rows(run, "W = A U, (r,u), (w,u), (r,r)", of, product_of_u{columns, A, r, u, w, of.pairs}, partial);
    judge_columns<3>(run, "alpha and beta of each column", of, partial, choose_step{columns, s},
                     while_a_column_goes_on{});
    visit_rows(run, "P, Q, X += alpha P, R -= alpha Q", of, advance{columns, s, x, r, p, q, u, w, M.R});
    precondition(run);
  }

 private:
  void precondition(recorder& run) const {
    M.apply(run);
    visit_rows(run, "U = M R", of, turn_back{columns, M.MR, u});
  }
};

}  // namespace whilst
