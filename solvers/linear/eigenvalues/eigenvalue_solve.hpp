#pragma once

#include <limits>

#include "solvers/linear/eigenvalues/eigenvalue_outcome.hpp"
#include "solvers/linear/eigenvalues/largest_row.hpp"
#include "solvers/linear/eigenvalues/lobpcg.hpp"

namespace whilst {

/// A whole solve for eigenpairs: reads the start, iterates, checks the residuals that are computed anew, and writes the
/// vectors back. Two loops, as in linear_solve: when the method's own residuals have converged, A X is computed from X,
/// X made orthonormal once more, and the pairs have converged, or rounding had parted the two and the method restarts.
///
/// The first block is the best of what the caller's columns and as many random ones span, so that a start of zeros is a
/// random start, and one with dependent columns does no harm.
template <class T, class Operator>
struct eigenvalue_solve {
  using method_type = lobpcg<T, Operator>;
  using scalars = eigenvalue_scalars;
  using entries = column_pair<T>;
  static constexpr int most_slow_restarts = 2;

  /// What the caller binds: vectors column after column.
  struct operands {
    slot<T> x;
    slot<eigenvalue_outcome> outcome;
    int wanted;
  };

  Operator A;
  operands io;
  control *outer, *inner;
  scalars* s;
  double* largest_rows;
  method_type method;

  eigenvalue_solve(const Operator& A, const operands& io, index_type block_columns, bool largest,
                   const correction_by<T>& by, control* outer, control* inner, workspace& memory)
      : A(A),
        io(io),
        outer(outer),
        inner(inner),
        s(memory.take<scalars>(1)),
        largest_rows(memory.take<double>(column_layout(A.rows(), block_columns).pieces)),
        method(A, block_columns, io.wanted, largest, by, s, memory) {}

  struct start_norms {
    operands io;
    index_type n;
    struct known {
      index_type pair;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair}; }
    WHILST_HD auto operator()(index_type i, index_type, const known& here) const {
      entries x{};
      for (int j = 0; j < 2; ++j)
        if (2 * here.pair + j < io.wanted) x.value[j] = io.x.get()[(2 * here.pair + j) * n + i];
      return squares_of_pair(x);
    }
    index_type bytes(const column_layout& of) const { return method_type::bytes_of(of, 1); }
  };
  struct choose_start_scales {
    scalars* s;
    WHILST_HD bool is_asked(index_type) const { return true; }
    WHILST_HD void operator()(index_type column, const sums<double, 3>& xx) const {
      s->to_start[column] = power_of_two(-binary_exponent(norm_of({xx[0], xx[1], xx[2]})));
      s->locked[column] = 0;
      s->value[column] = static_cast<double>(NAN);  // not known yet
      s->residual[column] = HUGE_VAL;
    }
  };

  /// Between -1 and 1, the same on every machine: S. Vigna's splitmix64 of the index.
  WHILST_HD static double random_entry(index_type i, index_type column) {
    std::uint64_t z = (static_cast<std::uint64_t>(i) * most_block_columns + static_cast<std::uint64_t>(column) + 1) *
                      0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1;
  }
  struct bring_in {
    operands io;
    const scalars* s;
    index_type n;
    entries *x, *w;
    struct known {
      index_type pair;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair}; }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      entries given{}, random;
      for (int j = 0; j < 2; ++j) {
        const index_type column = 2 * here.pair + j;
        random.value[j] = static_cast<T>(random_entry(i, column));
        if (column < io.wanted)
          given.value[j] = static_cast<T>(s->to_start[column] * static_cast<double>(io.x.get()[column * n + i]));
      }
      x[at] = given;
      w[at] = random;
    }
    index_type bytes(const column_layout& of) const { return method_type::bytes_of(of, 3); }
  };

  struct begin {
    largest_of_pieces rows;
    scalars* s;
    control* inner;
    WHILST_HD void operator()() const {
      s->norm = rows.largest();
      s->exponent = s->norm > 0 ? -binary_exponent(s->norm) : 0;
      s->before = power_of_two(s->exponent / 2);
      s->after = power_of_two(s->exponent - s->exponent / 2);
      s->factor =
          power_of_two(s->exponent < 1000 ? s->exponent : 1000);  // of the tiniest norms not even that is finite
      s->side = 0;
      s->largest_residual = s->last_norm = HUGE_VAL;
      s->slow_restarts = 0;
      s->loop_nanoseconds = 0;
      inner->first_iteration = 0;
      // A solve that ends before the inner loop starts must keep nothing of the last one's.
      inner->iteration = 0;
      inner->residual_norm = HUGE_VAL;  // not known yet
      inner->why = reason::running;
      inner->forget_history();
      inner->norm_exponent = -s->exponent;
    }
  };
  struct invert_diagonal {
    Operator A;
    const scalars* s;
    T* inverse_diagonal;
    WHILST_HD void operator()(index_type i) const {
      const double d = fabs(s->after * (s->before * static_cast<double>(A.diagonal(i))));
      constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
      inverse_diagonal[i] = d > epsilon ? static_cast<T>(1 / d) : T(1);  // A is about 1: less is zero
    }
    index_type bytes(index_type n) const { return A.bytes() + n * static_cast<index_type>(sizeof(T)); }
  };

  struct judge_true_residual {
    scalars* s;
    control *outer, *inner;
    bool is_first;
    WHILST_HD void operator()(const sums<double, 1>& largest) const {
      s->largest_residual = largest[0];
      const double norm = largest[0] * power_of_two(-s->exponent), last = s->last_norm;
      if (is_first) {
        outer->set_reference(s->norm, norm);
        inner->set_reference(*outer);
      } else {
        s->loop_nanoseconds += inner->stopped_at - inner->started_at;
      }
      s->last_norm = norm;
      if (outer->check(norm)) return;
      s->slow_restarts = norm <= 0.5 * last ? 0 : s->slow_restarts + 1;
      if (!is_first && !converged(inner->why)) {
        outer->stop(inner->why);
      } else if (s->slow_restarts > most_slow_restarts) {
        outer->stop(reason::attainable_accuracy);
      }
      inner->first_iteration = inner->iteration;
    }
  };

  struct hand_back {
    operands io;
    const scalars* s;
    index_type n;
    block_vectors<T> vectors;
    struct known {
      index_type pair;
      const entries* x;
      bool runs;
    };
    /// What a start or a matrix that is not finite leaves is nothing to hand back.
    WHILST_HD known read(index_type pair) const {
      return {pair, vectors.x(s->side), 2 * pair < io.wanted && is_finite(s->last_norm)};
    }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      const entries x = here.x[at];
      for (int j = 0; j < 2; ++j)
        if (2 * here.pair + j < io.wanted) io.x.get()[(2 * here.pair + j) * n + i] = x[j];
    }
    index_type bytes(const column_layout& of) const { return method_type::bytes_of(of, 2); }
  };
  struct tell {
    operands io;
    const scalars* s;
    const control *outer, *inner;
    WHILST_HD void operator()() const {
      eigenvalue_outcome& target = *io.outcome.get();
      const double unit = power_of_two(-s->exponent);
      double largest = 0;
      for (int c = 0; c < io.wanted; ++c) {
        target.eigenvalues[c] = s->value[c] * unit;
        target.residual_norms[c] = s->residual[c] * unit;
        if (!(target.residual_norms[c] <= largest)) largest = target.residual_norms[c];
      }
      solve_outcome& told = target.outcome;
      told.iterations = inner->iteration;
      told.residual_norm = largest;
      told.rhs_norm = s->norm;
      told.normal_residual_norm = 0;
      told.nanoseconds = now_nanoseconds() - outer->started_at;
      told.loop_nanoseconds = s->loop_nanoseconds;
      told.history_count = inner->history_count;
      told.why = outer->why;
      inner->show_history();
      announce(told, outer->settings.launch);
    }
  };

  void operator()(recorder& run) const {
    const column_layout& of = method.of;
    const index_type n = A.rows();
    visit_rows(run, "how long the start is", of, start_norms{io, n}, method.partial);
    judge_columns<3>(run, "scales of the start", of, method.partial, choose_start_scales{s});
    run.step("the largest row of A", of.pieces, largest_row<T, Operator>{A, of.rows_a_piece, largest_rows},
             begin{{largest_rows, of.pieces}, s, inner});
    visit_rows(run, "bring in X, W at random", of, bring_in{io, s, n, method.vectors.x(0), method.vectors.w(0)});
    if (method.inverse_diagonal) run.step("invert the diagonal", n, invert_diagonal{A, s, method.inverse_diagonal});
    run.loop(
        "until the true residuals agree", outer,
        [&](recorder& run) {
          if (method.M.parts) method.M.parts->prepare_by_itself(run, &s->factor);
          method.take_in_w(run);  // from columns far from orthogonal: X is made orthonormal next
          method.project(run, outer, judge_true_residual{s, outer, inner, true});
        },
        [&](recorder& run) {
          run.loop(
              method_type::name, inner, [&](recorder& run) { method.start(run); },
              [&](recorder& run) { method.iterate(run, outer); });
          method.project(run, outer, judge_true_residual{s, outer, inner, false});
        });
    visit_rows(run, "hand X back", of, hand_back{io, s, n, method.vectors});
    run.once("tell", tell{io, s, outer, inner});
  }
};

}  // namespace whilst
