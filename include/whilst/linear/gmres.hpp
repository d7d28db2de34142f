#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/method_settings.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// The steps of gmres, for methods with and without a basis of their own for x. They do not depend on the operator or
/// the preconditioner, so all of them share kernels.
template <class T>
struct gmres_steps {
  static constexpr double precision = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
  /// How far from orthogonal the basis may be, by a bound: the square of this is lost in rounding.
  static constexpr double most_loss = sizeof(T) == 4 ? 0x1p-12 : 0x1p-26;
  /// Where less than this is left of (w, w), Pythagoras gives too few digits of it.
  static constexpr double least_left = 1e-6;
  enum choice : int { orthogonalize_again, restart };

  struct alignas(16) scalars {
    double scale;            ///< of the vector that becomes the next of the basis
    double weight;           ///< w in memory is to be multiplied by it
    double loss;             ///< bound for the loss of orthogonality so far
    double square, removed;  ///< (w, w), and the part of it in the basis
    double first_square;     ///< (w, w) before any orthogonalization
    double last;             ///< of the new column, rotated
    double last_of_g;        ///< of the right-hand side of R y = g, whose size is that of the residual
    int columns;             ///< of R: steps since the restart
    int special;             ///< whether the step ends with a choice
    int chosen;              ///< the choice
    int restarts;            ///< after the second orthogonalization: whether the cycle is full
  };

  /// All on the place. The basis holds `most` vectors of n entries each.
  index_type n;
  int most;  ///< steps of a cycle
  T *basis, *w;
  index_type rows_a_piece, pieces;
  double *partial, *work, *found, *column, *R, *cosine, *sine, *g, *y;
  scalars* s;

  WHILST_HD gmres_steps(index_type n, int restart, workspace& memory)
      : n(n),
        most(n < 1         ? 1
             : n < restart ? static_cast<int>(n)
                           : restart) {
    // Enough pieces for the smallest grids to spread, and few enough for one block to add up.
    constexpr index_type least_rows = 128, most_pieces = 256;
    const index_type even = (n + most_pieces - 1) / most_pieces;
    rows_a_piece = even < least_rows ? least_rows : (even + 31) / 32 * 32;
    pieces = (n + rows_a_piece - 1) / rows_a_piece;
    basis = memory.take<T>(most * n);
    w = memory.take<T>(n);
    partial = memory.take<double>(pieces * (most + 1));
    work = memory.take<double>(doubles_of_work(1));
    found = memory.take<double>(most);
    column = memory.take<double>(most);
    R = memory.take<double>(index_type{most} * (most + 1) / 2);
    cosine = memory.take<double>(most);
    sine = memory.take<double>(most);
    g = memory.take<double>(most);
    y = memory.take<double>(most);
    s = memory.take<scalars>(1);
  }

  /// Threads that share the sums of one vector's pieces.
  WHILST_HD static int parts_of(int threads, int each) { return threads > each ? threads / each : 1; }
  WHILST_HD index_type doubles_of_work(int threads) const {
    const int each = most + 1;
    return index_type{parts_of(threads, each)} * each + 3 * index_type{most};
  }
  /// Where column k of R begins.
  WHILST_HD static index_type begin_of(int k) { return index_type{k} * (k + 1) / 2; }

  struct dot_with_itself {
    const T* r;
    WHILST_HD auto operator()(index_type i) const { return sums{static_cast<double>(r[i]) * r[i]}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  /// Receives (r, r) at the start of a cycle; gives a verdict only at the start of the loop.
  struct begin_cycle {
    scalars* s;
    bool at_start;
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double beta = sqrt(rr[0]);
      s->columns = 0;
      s->loss = precision;
      s->scale = beta > 0 ? 1 / beta : 0;
      s->special = 0;
      s->last_of_g = beta;
      if (at_start) {
        loop.check(beta);
      } else if (!is_finite(beta)) {
        loop.stop(reason::nan_or_infinity);
      }
    }
  };
  struct first_of_basis {
    const scalars* s;
    const T* r;
    T *basis, *v;
    WHILST_HD T operator()(index_type i) const {
      return v[i] = basis[i] = static_cast<T>(s->scale * static_cast<double>(r[i]));
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };

  /// Partial sums of (v_j, w) for each vector of the basis, and of (w, w), of w with its factor: a warp takes one
  /// vector and some rows.
  struct dots_of_piece {
    gmres_steps all;
    const double* factor;  ///< null for 1
    WHILST_HD static int lanes_wanted() { return 32; }
    template <class Team>
    WHILST_HD void operator()(index_type k, const Team& team) const {
      const index_type each = all.most + 1, piece = k / each, j = k - piece * each;
      const int columns = all.s->columns;
      if (j > columns && j < all.most) return;
      const T* const v = j == all.most ? all.w : all.basis + j * all.n;
      const index_type begin = piece * all.rows_a_piece;
      const index_type end = begin + all.rows_a_piece < all.n ? begin + all.rows_a_piece : all.n;
      const double of_w = factor ? *factor : 1, of_v = j == all.most ? of_w : 1;
      double sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (index_type i = begin + team.rank(); i < end; i += team.size())
        sum += of_v * static_cast<double>(v[i]) * (of_w * static_cast<double>(all.w[i]));
      sum = team.sum(sum);
      if (team.rank() == 0) all.partial[k] = sum;
    }
    index_type bytes(index_type) const { return (all.most / 2 + 2) * all.n * static_cast<index_type>(sizeof(T)); }
  };
  /// Their totals, and the next column of the Hessenberg matrix under the rotations so far: the block works in shared
  /// memory, one thread applies the rotations while another adds up what is removed from w.
  struct rotate_column {
    static constexpr bool whole_block = true;
    gmres_steps all;
    bool again;
    WHILST_HD static int threads_wanted() { return 256; }
    index_type fast_memory_bytes() const {
      return all.doubles_of_work(threads_wanted()) * index_type{sizeof(double)};  // 32 KiB for a restart of 1000
    }
    template <class Team>
    WHILST_HD void operator()(index_type, const Team& team) const {
      const int each = all.most + 1, k = all.s->columns, threads = team.size();
      const int parts = parts_of(threads, each);
      void* const fast = team.fast_memory();
      double* const part_sums = fast ? static_cast<double*>(fast) : all.work;
      double *const next = part_sums + parts * each, *const c = next + all.most, *const si = c + all.most;
      for (int t = team.rank(); t < parts * each; t += threads) {
        const int part = t / each, j = t - part * each;
        if (j > k && j < all.most) continue;
        double sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
        for (index_type piece = part; piece < all.pieces; piece += parts) sum += all.partial[piece * each + j];
        part_sums[t] = sum;
      }
      for (int j = team.rank(); j < k; j += threads) {
        c[j] = all.cosine[j];
        si[j] = all.sine[j];
      }
      team.sync();
      for (int j = team.rank(); j < each; j += threads) {
        if (j > k && j < all.most) continue;
        double total = 0;
        for (int part = 0; part < parts; ++part) total += part_sums[part * each + j];
        part_sums[j] = total;
        if (j == all.most) {
          all.s->square = total;
        } else {
          all.found[j] = total;
          all.column[j] = next[j] = !again ? total : all.column[j] + total;
        }
      }
      team.sync();
      if (team.rank() == 0) {
        double value = next[0];
        for (int j = 0; j < k; ++j) {
          const double below = next[j + 1];
          next[j] = c[j] * value + si[j] * below;
          value = c[j] * below - si[j] * value;
        }
        all.s->last = value;
      }
      if (team.rank() == (threads > 32 ? 32 : 0)) {
        double removed = 0;
        for (int j = 0; j <= k; ++j) removed += part_sums[j] * part_sums[j];
        all.s->removed = removed;
      }
      team.sync();
      double* const r = all.R + begin_of(k);
      for (int j = team.rank(); j < k; j += threads) r[j] = next[j];
    }
  };
  /// The next rotation and the verdict; or that w is to be orthogonalized again.
  struct rotate {
    gmres_steps all;
    const double* factor;  ///< null for 1
    bool again;
    WHILST_HD void operator()(loop_state& loop) const {
      scalars now = *all.s;
      const int k = now.columns;
      now.weight = factor ? *factor : 1;
      if (!again) now.first_square = now.square;
      // Pythagoras; what is left may be all rounding.
      double left = now.square - now.removed;
      if (!(left > 64 * precision * precision * now.first_square)) left = 0;
      if (!is_finite(now.square) || !is_finite(now.removed)) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      now.special = 1;
      if (!again) {
        const double loss = left > 0 ? now.loss * sqrt(now.square / left) : HUGE_VAL;
        if ((loss > most_loss || left < least_left * now.square) && now.square > 0) {
          now.chosen = orthogonalize_again;
          *all.s = now;
          return;
        }
        now.loss = fmax(now.loss, loss);
      }
      const double norm = sqrt(left), diagonal = hypot(now.last, norm);
      if (!(diagonal > 0) || (left > 0 && !is_finite(static_cast<T>(1 / norm)))) {
        loop.stop(reason::breakdown);
        return;
      }
      const double c = now.last / diagonal, si = norm / diagonal, before = now.last_of_g;
      all.R[begin_of(k) + k] = diagonal;
      all.cosine[k] = c;
      all.sine[k] = si;
      all.g[k] = c * before;
      now.last_of_g = -si * before;
      now.columns = k + 1;
      now.scale = left > 0 ? 1 / norm : 0;
      now.restarts = now.special = k + 1 == all.most;
      now.chosen = restart;
      *all.s = now;
      loop.check(fabs(now.last_of_g));
    }
  };

  /// w minus its part in the basis.
  WHILST_HD double without_basis(index_type i, int vectors) const {
    double part = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int j = 0; j < vectors; ++j) part += found[j] * static_cast<double>(basis[j * n + i]);
    return s->weight * static_cast<double>(w[i]) - part;
  }
  struct project {
    gmres_steps all;
    WHILST_HD void operator()(index_type i) const {
      all.w[i] = static_cast<T>(all.without_basis(i, all.s->columns + 1));
    }
    index_type bytes(index_type n) const { return (all.most / 2 + 2) * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The next vector of the basis, unless a restart has just made the first.
  struct next_of_basis {
    gmres_steps all;
    T* v;
    WHILST_HD T operator()(index_type i) const {
      const int columns = all.s->columns;
      if (columns == 0) return v[i];
      const T value = static_cast<T>(all.s->scale * all.without_basis(i, columns));
      return v[i] = all.basis[columns * all.n + i] = value;
    }
    index_type bytes(index_type n) const { return (all.most / 2 + 3) * n * static_cast<index_type>(sizeof(T)); }
  };

  /// y = R^-1 g, column by column.
  struct substitute {
    static constexpr bool whole_block = true;
    gmres_steps all;
    WHILST_HD static int threads_wanted() { return 64; }
    template <class Team>
    WHILST_HD void operator()(index_type, const Team& team) const {
      const int columns = all.s->columns;
      for (int j = team.rank(); j < columns; j += team.size()) all.y[j] = all.g[j];
      team.sync();
      for (int k = columns - 1; k >= 0; --k) {
        const double* const r = all.R + begin_of(k);
        const double value = all.y[k] / r[k];
        team.sync();
        if (team.rank() == 0) all.y[k] = value;
        for (int j = team.rank(); j < k; j += team.size()) all.y[j] -= value * r[j];
        team.sync();
      }
    }
  };
  /// x is changed by finite numbers only.
  struct check_solution {
    gmres_steps all;
    WHILST_HD void operator()() const {
      bool is_good = true;
      for (int j = 0; j < all.s->columns; ++j) is_good &= is_finite(static_cast<T>(all.y[j]));
      if (!is_good) all.s->columns = 0;
    }
  };
  /// The combination of vectors that the cycle found; 0 if it has no column.
  struct combine {
    const scalars* s;
    const double* y;
    const T* vectors;
    T* sum;
    index_type n;
    int most;
    WHILST_HD T operator()(index_type i) const {
      double value = 0;
      const int columns = s->columns;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int j = 0; j < columns; ++j) value += y[j] * static_cast<double>(vectors[j * n + i]);
      return sum[i] = static_cast<T>(value);
    }
    index_type bytes(index_type n) const { return (most + 1) * n * static_cast<index_type>(sizeof(T)); }
  };
  struct add_to_x {
    const T* u;
    T* x;
    WHILST_HD void operator()(index_type i) const { x[i] += u[i]; }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct dots_of_next_residual {
    const T* r;
    WHILST_HD T read(index_type i) const { return r[i]; }
    WHILST_HD auto operator()(T r, T Au) const {
      const double next = r - Au;
      return sums{next * next};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  /// x += u, r -= A u, which w is, and the first vector of the next cycle.
  struct add_and_begin {
    const scalars* s;
    const T *u, *w;
    T *x, *r, *basis, *v;
    WHILST_HD void operator()(index_type i) const {
      x[i] += u[i];
      const T ri = r[i] - w[i];
      r[i] = ri;
      v[i] = basis[i] = static_cast<T>(s->scale * static_cast<double>(ri));
    }
    index_type bytes(index_type n) const { return 8 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct copy {
    const scalars* s;
    const T* from;
    T* vectors;
    index_type n;
    WHILST_HD void operator()(index_type i) const { vectors[s->columns * n + i] = from[i]; }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
};

/// GMRES(m), for any square matrix: Y. Saad and M. H. Schultz, "GMRES: a generalized minimal residual algorithm for
/// solving nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 7 (1986); right-preconditioned, so that its norm is
/// that of b - A x. With a basis of its own for x, FGMRES(m), whose M may differ from step to step: Y. Saad, SIAM J.
/// Sci. Comput. 14 (1993).
///
/// The basis is made orthogonal by classical Gram-Schmidt, in one pass as long as a bound says that it stays so to half
/// the digits, and in two from there on. The length of what is left follows from Pythagoras, so that one reduction an
/// iteration yields a column of the Hessenberg matrix; a finish rotates it. Four steps an iteration, and three more
/// where the second pass is needed. After m iterations x is updated and r computed anew, in the same loop.
///
/// Ends with breakdown if A M maps the space to itself and is singular there.
template <class T, class Operator, class Preconditioner, bool flexible>
struct gmres_loop {
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{};

  using steps = gmres_steps<T>;

  Operator A;
  Preconditioner M;
  T *x, *r, *v, *u;
  steps all;
  T* basis_of_x;

  gmres_loop(const Operator& A, const Preconditioner& M, T* x, T* r, const method_settings& settings, workspace& memory)
      : A(A),
        M(M),
        x(x),
        r(r),
        v(memory.take<T>(A.rows())),
        u(result_of(M, A.rows(), v, memory)),
        all(A.rows(), settings.restart, memory),
        basis_of_x(flexible ? memory.take<T>(A.rows() * all.most) : nullptr) {}

  template <class Run>
  void start(Run& run) const {
    const index_type n = A.rows();
    run.step("(r,r)", n, typename steps::dot_with_itself{r}, typename steps::begin_cycle{all.s, true});
    update(run, "v = r / beta", n, preconditioned(M, typename steps::first_of_basis{all.s, r, all.basis, v}, v, u));
  }

  template <class Run>
  void iterate(Run& run) const {
    const index_type n = A.rows();
    if constexpr (flexible) run.step("keep M v", n, typename steps::copy{all.s, u, basis_of_x, n});
    product_without_factor(run, "w = A M v", A, u, all.w);
    orthogonalize(run, factor_of(A), false);
    const auto begin_anew = [&](auto& run) {
      combine(run);
      product(run, "A M V y, (r - A M V y)^2", A, u, all.w, typename steps::dots_of_next_residual{r},
              typename steps::begin_cycle{all.s, false});
      run.step("x += M V y, r -= A M V y, v = r / beta", n,
               typename steps::add_and_begin{all.s, u, all.w, x, r, all.basis, v});
    };
    // A branch costs less than a select, and is seldom taken.
    run.branch("full or not orthogonal", &all.s->special, [&](auto& run) {
      run.select(
          "orthogonalize again, restart", &all.s->chosen,
          [&](auto& run) {
            run.step("w -= V V'w", n, typename steps::project{all});
            orthogonalize(run, nullptr, true);
            run.branch("restart", &all.s->restarts, begin_anew);
          },
          begin_anew);
    });
    update(run, "v = w - V V'w, to length 1", n, preconditioned(M, typename steps::next_of_basis{all, v}, v, u));
  }

  template <class Run>
  void conclude(Run& run) const {
    combine(run);
    run.step("x += M V y", A.rows(), typename steps::add_to_x{u, x});
  }

 private:
  template <class Run>
  void orthogonalize(Run& run, const double* factor, bool again) const {
    run.step("V'w, (w,w) by pieces", all.pieces * (all.most + 1), typename steps::dots_of_piece{all, factor});
    run.team("V'w, (w,w), rotation", 1, typename steps::rotate_column{all, again},
             typename steps::rotate{all, factor, again});
  }
  /// u = M V y.
  template <class Run>
  void combine(Run& run) const {
    const index_type n = A.rows();
    run.team("y = R^-1 g", 1, typename steps::substitute{all}, typename steps::check_solution{all});
    using sum = typename steps::combine;
    if constexpr (flexible) {
      update(run, "M V y", n,
             preconditioned(identity_preconditioner(), sum{all.s, all.y, basis_of_x, u, n, all.most}, u, u));
    } else {
      update(run, "V y", n, preconditioned(M, sum{all.s, all.y, all.basis, v, n, all.most}, v, u));
    }
  }
};

template <class T, class Operator, class Preconditioner>
struct gmres : gmres_loop<T, Operator, Preconditioner, false> {
  static constexpr const char* name = "gmres";
  using gmres_loop<T, Operator, Preconditioner, false>::gmres_loop;
};
template <class T, class Operator, class Preconditioner>
struct fgmres : gmres_loop<T, Operator, Preconditioner, true> {
  static constexpr const char* name = "fgmres";
  using gmres_loop<T, Operator, Preconditioner, true>::gmres_loop;
};

}  // namespace whilst
