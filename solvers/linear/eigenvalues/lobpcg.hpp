#pragma once

#include "solvers/linear/columns/columns_by_parts.hpp"
#include "solvers/linear/eigenvalues/block_vectors.hpp"
#include "solvers/linear/eigenvalues/rayleigh_ritz.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// The preconditioner of lobpcg: none, Jacobi, or parts that prepare by themselves.
template <class T>
struct correction_by {
  bool jacobi = false;
  preconditioner<T>* parts = nullptr;
};

/// Locally optimal block preconditioned conjugate gradients, for some of the least or greatest eigenvalues of a
/// symmetric A: A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001). With the Ritz values Lambda of the block X,
///
///   W = M (A X - X Lambda)      X, Lambda <- the best combinations of [X W P]      P <- what W and P gave to X
///
/// One product a block and iteration, which reads A once for all columns; A X and A P are combined as X and P are. In
/// products A is scaled by a power of two that makes it about 1: half of it goes with x, half with A x.
///
/// Pairs within the tolerance are locked softly: X keeps them, while W and P leave them alone. So is what is not
/// wanted: columns beyond the wanted ones only make these converge faster.
template <class T, class Operator>
struct lobpcg {
  static constexpr const char* name = "lobpcg";
  using entries = column_pair<T>;
  using scalars = eigenvalue_scalars;

  Operator A;
  column_layout of;
  gram_layout gram;
  int wanted;
  bool largest;
  T* inverse_diagonal;    ///< of A as scaled; null without jacobi
  columns_by_parts<T> M;  ///< instead of that
  scalars* s;
  block_vectors<T> vectors;
  ritz_memory ritz;
  double *partial, *gram_partial;  ///< sums over pieces

  lobpcg(const Operator& A, index_type block_columns, int wanted, bool largest, const correction_by<T>& by, scalars* s,
         workspace& memory)
      : A(A), of(A.rows(), block_columns), gram(of), wanted(wanted), largest(largest), s(s) {
    inverse_diagonal = by.jacobi ? memory.take<T>(A.rows()) : nullptr;
    M = columns_by_parts<T>::with_memory(by.parts, of, memory);
    vectors = {memory.take<entries>(block_vectors<T>::blocks * of.entries()), of.entries()};
    ritz = ritz_memory::take(static_cast<int>(of.all_columns()), memory);
    partial = memory.take<double>(of.numbers_of_sums(3));
    gram_partial = memory.take<double>(gram.numbers_of_sums());
  }

  /// Two columns, times a factor.
  struct scaled_pair {
    pair_of_columns<T> of;
    double factor;
    WHILST_HD entries operator[](index_type j) const { return scaled<T>({factor, factor}, of[j]); }
  };
  WHILST_HD static entries row_of_product(const Operator& A, const scalars* s, index_type i, const entries* first,
                                          index_type pairs) {
    return scaled<T>({s->after, s->after}, A.row_of_several(i, scaled_pair{{first, pairs}, s->before}));
  }
  static index_type bytes_of(const column_layout& of, int blocks) {
    return blocks * of.entries() * static_cast<index_type>(sizeof(entries));
  }

  struct product {
    Operator A;
    const scalars* s;
    block_vectors<T> vectors;
    index_type pairs;
    bool of_w;  ///< else of X
    struct known {
      const entries* from;
      entries* to;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const {
      const int part = of_w ? 1 : 0;
      return {vectors.of_basis(part, s->side) + pair, vectors.product_of(part, s->side)};
    }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      here.to[at] = row_of_product(A, s, i, here.from, pairs);
    }
    index_type bytes(const column_layout& of) const { return A.bytes() + bytes_of(of, 2); }
  };

  /// W = M (A X - X Lambda) in a row, or its R = A X - X Lambda for an M in parts; returns the squares of the residual.
  struct correction {
    const scalars* s;
    const T* inverse_diagonal;
    whole_columns<T> R;  ///< for parts
    WHILST_HD auto operator()(index_type i, index_type pair, const entries& x, const entries& Ax, entries& w) const {
      column_sums<1> squares;
      entries next;
      for (int j = 0; j < 2; ++j) {
        const double r = static_cast<double>(Ax[j]) - s->value[2 * pair + j] * static_cast<double>(x[j]);
        squares.value[0].value[j] = r * r;
        next.value[j] = static_cast<T>(inverse_diagonal ? r * static_cast<double>(inverse_diagonal[i]) : r);
      }
      if (R.first) {
        R.put(i, pair, next);
      } else {
        w = next;
      }
      return squares;
    }
  };

  /// The next X and P from their weights, and the residuals of that X. The Rayleigh-Ritz step has changed sides.
  struct advance {
    const scalars* s;
    block_vectors<T> vectors;
    const double *to_x, *to_p;
    int m;
    correction correct;
    struct known {
      index_type pair;
      int from;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair, s->side ^ 1}; }
    WHILST_HD auto operator()(index_type i, index_type at, const known& here) const {
      const index_type pairs = m / 2, row = i * pairs;
      double x[2] = {}, p[2] = {}, Ax[2] = {}, Ap[2] = {};
      for (int part = 0; part < 3; ++part) {
        const entries* const v = vectors.of_basis(part, here.from) + row;
        const entries* const Av = vectors.product_of(part, here.from) + row;
        const index_type weights = part * m * m + 2 * here.pair;
        for (int k = 0; k < m; ++k) {
          const double entry = static_cast<double>(v[k / 2][k % 2]), image = static_cast<double>(Av[k / 2][k % 2]);
          for (int j = 0; j < 2; ++j) {
            const double of_x = to_x[weights + k * m + j], of_p = to_p[weights + k * m + j];
            // A weight of 0 leaves alone what is not in use, and may not be finite.
            x[j] += of_x == 0 ? 0 : of_x * entry;
            Ax[j] += of_x == 0 ? 0 : of_x * image;
            p[j] += of_p == 0 ? 0 : of_p * entry;
            Ap[j] += of_p == 0 ? 0 : of_p * image;
          }
        }
      }
      const int to = here.from ^ 1;
      const entries new_x = rounded(x), new_Ax = rounded(Ax);
      vectors.x(to)[at] = new_x;
      vectors.Ax(to)[at] = new_Ax;
      vectors.p(to)[at] = rounded(p);
      vectors.Ap(to)[at] = rounded(Ap);
      return correct(i, here.pair, new_x, new_Ax, vectors.w(to)[at]);
    }
    WHILST_HD static entries rounded(const double (&of)[2]) { return {static_cast<T>(of[0]), static_cast<T>(of[1])}; }
    index_type bytes(const column_layout& of) const { return bytes_of(of, 11); }
  };

  /// A X anew, and the true residuals.
  struct residual {
    Operator A;
    const scalars* s;
    block_vectors<T> vectors;
    index_type pairs;
    correction correct;
    struct known {
      index_type pair;
      const entries* x;
      entries *Ax, *w;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const {
      return {pair, vectors.x(s->side) + pair, vectors.Ax(s->side), vectors.w(s->side)};
    }
    WHILST_HD auto operator()(index_type i, index_type at, const known& here) const {
      const entries Ax = row_of_product(A, s, i, here.x, pairs);
      here.Ax[at] = Ax;
      return correct(i, here.pair, here.x[i * pairs], Ax, here.w[at]);
    }
    index_type bytes(const column_layout& of) const { return A.bytes() + bytes_of(of, 3); }
  };

  /// W, of an M in parts.
  struct turn_back {
    const scalars* s;
    block_vectors<T> vectors;
    whole_columns<T> MR;
    struct known {
      index_type pair;
      entries* w;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair, vectors.w(s->side)}; }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      here.w[at] = MR.get(i, here.pair);
    }
    index_type bytes(const column_layout& of) const { return bytes_of(of, 2); }
  };

  /// W -= X X'W.
  struct leave_x_out {
    const scalars* s;
    block_vectors<T> vectors;
    const double* G;  ///< S'S, 3 m x 3 m
    int m;
    struct known {
      index_type pair;
      const entries* x;
      entries* w;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair, vectors.x(s->side), vectors.w(s->side)}; }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      const entries* const x = here.x + i * (m / 2);
      entries w = here.w[at];
      for (int j = 0; j < 2; ++j) {
        const double* const of_w = G + m + 2 * here.pair + j;
        double sum = 0;
        for (int k = 0; k < m; ++k) sum += static_cast<double>(x[k / 2][k % 2]) * of_w[k * 3 * m];
        w.value[j] = static_cast<T>(static_cast<double>(w[j]) - sum);
      }
      here.w[at] = w;
    }
    index_type bytes(const column_layout& of) const { return bytes_of(of, 3); }
  };

  /// The norms of the residuals, and which pairs are locked; returns the largest that is wanted. By one block.
  struct measure_residuals {
    static constexpr bool whole_block = true;
    column_layout of;
    const double* partial;
    const control* tolerance;
    scalars* s;
    int wanted;
    WHILST_HD static int threads_wanted() { return 256; }
    index_type bytes(index_type) const { return of.numbers_of_sums(1) * static_cast<index_type>(sizeof(double)); }
    template <class Team>
    WHILST_HD auto operator()(index_type, const Team& team) const {
      double largest = 0;
      const double most = tolerance->settings.rtol * (s->norm * power_of_two(s->exponent));
      for (int c = 0; c < of.all_columns(); ++c) {
        double square = 0;
        for (index_type piece = team.rank(); piece < of.pieces; piece += team.size())
          square += partial[of.sums_of(0, c) + piece];
        const double norm = sqrt(team.sum(square));
        if (c < wanted) largest = norm > largest || !is_finite(norm) ? norm : largest;
        if (team.rank() != 0) continue;
        s->residual[c] = norm;
        s->locked[c] = norm <= most;
      }
      return sums{largest};
    }
  };
  /// In the loop. Rounding makes A X, as it is combined, part from A times X, and once that is what W consists of,
  /// errors grow from one iteration to the next. So where few digits are left to gain, and the largest residual rises
  /// or has not been lowered for a while, the loop ends as completed, and a restart from X computes A X anew.
  struct judge {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& largest, loop_state& loop) const {
      constexpr double epsilon = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52, half_the_digits = sizeof(T) == 4 ? 3e-4 : 1e-8;
      s->largest_residual = largest[0];
      const bool is_lower = largest[0] < s->least_so_far;
      s->iterations_since = is_lower ? 0 : s->iterations_since + 1;
      if (is_lower) s->least_so_far = largest[0];
      if (loop.check(largest[0]) || s->least_so_far > half_the_digits) return;
      const bool is_near_rounding = s->least_so_far <= 1000 * epsilon;
      const double most_rise = is_near_rounding ? 4 : 1000;
      const index_type most_waiting = is_near_rounding ? 10 : 50;
      if (largest[0] > most_rise * s->least_so_far || s->iterations_since >= most_waiting) loop.stop(reason::completed);
    }
  };
  struct begin {
    scalars* s;
    WHILST_HD void operator()(loop_state& loop) const {
      s->least_so_far = s->largest_residual;
      s->iterations_since = 0;
      loop.check(s->largest_residual);
    }
  };

  void start(recorder& run) const { run.once("the first residuals", begin{s}); }
  void iterate(recorder& run, const control* tolerance) const {
    precondition(run);
    visit_rows(run, "A W", of, product{A, s, vectors, of.pairs, true});
    combine(run, true, true);
    run.team("the largest residual", 1, measure_residuals{of, partial, tolerance, s, wanted}, judge{s});
  }

  /// X becomes the best of what X and W span.
  void take_in_w(recorder& run) const {
    visit_rows(run, "A X", of, product{A, s, vectors, of.pairs, false});
    visit_rows(run, "A W", of, product{A, s, vectors, of.pairs, true});
    combine(run, true, false);
  }
  /// X becomes orthonormal and the best of what it spans, and its residuals are computed from it.
  template <class Judge>
  void project(recorder& run, const control* tolerance, const Judge& judge) const {
    visit_rows(run, "A X", of, product{A, s, vectors, of.pairs, false});
    combine(run, false, false);
    visit_rows(run, "A X, W = M (A X - X Lambda)", of, residual{A, s, vectors, of.pairs, corrected()}, partial);
    run.team("the largest true residual", 1, measure_residuals{of, partial, tolerance, s, wanted}, judge);
  }

 private:
  correction corrected() const { return {s, inverse_diagonal, M.R}; }
  void precondition(recorder& run) const {
    if (!M.parts) return;
    M.apply(run);
    visit_rows(run, "W = M R", of, turn_back{s, vectors, M.MR});
    products(run);
    visit_rows(run, "W -= X X'W", of, leave_x_out{s, vectors, ritz.G, ritz.m});
  }
  void products(recorder& run) const {
    run.team("S'S, S'A S, S = [X W P]", gram.pieces, gram_of_pieces<T>{gram, vectors, &s->side, gram_partial});
    run.step("sums of the pieces", index_type{gram.tiles()} * gram_layout::sums_a_tile,
             add_up_gram{gram, gram_partial, ritz.G, ritz.H});
  }
  void combine(recorder& run, bool with_w, bool with_p) const {
    products(run);
    run.team("Rayleigh-Ritz", 1, rayleigh_ritz<T>{ritz, s, wanted, largest, with_w, with_p}, stop_where_it_failed{});
    visit_rows(run, "X, P, A X, A P, W = M (A X - X Lambda)", of,
               advance{s, vectors, ritz.X, ritz.P, ritz.m, corrected()}, partial);
  }
};

}  // namespace whilst
