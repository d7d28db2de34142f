#pragma once

#include <cmath>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// The steps of gmres and fgmres. They do not depend on the operator or the preconditioner, so all share kernels.
///
/// One cycle, A z_j = V h_j: the basis V holds v_0 .. v_{k-1}; q is about v_k, made orthogonal to them once and scaled.
/// With a = V'q, b = V'w and w = A M q from one reduction, the second orthogonalization is
///
///   v_k = (q - V a) / rho,  rho^2 = (q, q) - (a, a),  b_k = (v_k, w) = ((q, w) - (a, b)) / rho
///
/// and makes z_k = (M q - Z a) / rho, A z_k = (w - V H a) / rho, so that column k of the Hessenberg matrix H is (b - H
/// a) / rho, and the next q is w - V b - b_k v_k, whose length follows from Pythagoras until the next reduction
/// measures it. Column k - 1 was made with q in place of v_k, and is corrected: H_{., k-1} += eta a, H_{k, k-1} = eta
/// rho.
template <class T>
struct gmres_steps {
  static constexpr double precision = 0x1p-52;
  static constexpr double no_direction = -HUGE_VAL;  ///< as scalars::left

  struct alignas(16) scalars {
    double weight;  ///< w in memory is to be multiplied by it
    double rho, b_of_v;
    double square, left;  ///< (w, w), and of w - V b
    double scale;         ///< of the next q
    double eta;           ///< the length that the last column has below its diagonal, for q in place of v_k
    double last;          ///< of that column, under the rotations before its own
    double last_of_g;     ///< of the right-hand side of R y = g, under the rotations before the last
    int columns;          ///< since the cycle began
    int written;          ///< of them, those whose v is in the basis
  };

  /// All on the place. The basis holds `most` vectors of n entries each.
  index_type n;
  int most;  ///< columns of a cycle
  T *basis, *w;
  index_type rows_a_piece, pieces;
  /// a, b, (q, q), (q, w), (w, w), for each piece of the rows; and a and b of the last reduction.
  double *partial, *work, *found;
  double *H, *R;       ///< column j begins at begin_of(j) and has j + 2 entries in H, j + 1 in R
  double* correction;  ///< a / rho of each column, at begin_of(j)
  double *cosine, *sine, *g, *y, *rhos;
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
    partial = memory.take<double>(pieces * sums_of_piece());
    work = memory.take<double>(doubles_of_work(1));
    found = memory.take<double>(2 * index_type{most});
    H = memory.take<double>(begin_of(most));
    R = memory.take<double>(begin_of(most));
    correction = memory.take<double>(begin_of(most));
    cosine = memory.take<double>(most);
    sine = memory.take<double>(most);
    g = memory.take<double>(most);
    y = memory.take<double>(most);
    rhos = memory.take<double>(most);
    s = memory.take<scalars>(1);
  }

  WHILST_HD int sums_of_piece() const { return 2 * most + 3; }
  WHILST_HD static index_type begin_of(int column) { return index_type{column} * (column + 3) / 2; }
  /// Threads of a block that share the pieces of each sum.
  WHILST_HD int parts_of(int threads) const { return threads > sums_of_piece() ? threads / sums_of_piece() : 1; }
  WHILST_HD index_type doubles_of_work(int threads) const {
    return index_type{parts_of(threads)} * sums_of_piece() + 5 * index_type{most} + 8;
  }

  struct dot_with_itself {
    const T* r;
    WHILST_HD auto operator()(index_type i) const { return sums{static_cast<double>(r[i]) * r[i]}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct begin_cycle {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double beta = sqrt(rr[0]);
      s->columns = s->written = 0;
      s->scale = 1 / beta;
      s->last_of_g = beta;
      loop.check(beta);
    }
  };
  struct first_of_basis {
    const scalars* s;
    const T* r;
    T* q;
    WHILST_HD T operator()(index_type i) const { return q[i] = static_cast<T>(s->scale * static_cast<double>(r[i])); }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };

  /// The sums over a piece of the rows, of w with its factor: a warp takes one vector of the basis, or q and w.
  struct dots_of_piece {
    gmres_steps all;
    const T* q;
    const double* factor;  ///< null for 1
    WHILST_HD static int lanes_wanted() { return 32; }
    template <class Team>
    WHILST_HD void operator()(index_type index, const Team& team) const {
      const index_type each = all.most + 1, piece = index / each;
      const int j = static_cast<int>(index - piece * each);
      const bool is_vector = j < all.most;
      if (is_vector && j >= all.s->columns) return;
      const T* const v = is_vector ? all.basis + j * all.n : q;
      const index_type begin = piece * all.rows_a_piece;
      const index_type end = begin + all.rows_a_piece < all.n ? begin + all.rows_a_piece : all.n;
      const double of_w = factor ? *factor : 1;
      double with_q = 0, with_w = 0, square = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (index_type i = begin + team.rank(); i < end; i += team.size()) {
        const double vi = v[i], qi = q[i], wi = of_w * static_cast<double>(all.w[i]);
        with_q += vi * qi;
        with_w += vi * wi;
        square += wi * wi;
      }
      with_q = team.sum(with_q);
      with_w = team.sum(with_w);
      square = team.sum(square);
      if (team.rank() != 0) return;
      double* const sums_here = all.partial + piece * all.sums_of_piece();
      sums_here[is_vector ? j : 2 * all.most] = with_q;
      sums_here[is_vector ? all.most + j : 2 * all.most + 1] = with_w;
      if (!is_vector) sums_here[2 * all.most + 2] = square;
    }
    index_type bytes(index_type) const { return (all.most / 2 + 2) * all.n * static_cast<index_type>(sizeof(T)); }
  };

  // What one thread does after another: pieces of 8 in registers, since memory answers a piece as fast as a number.
  static constexpr int piece_in_registers = 8;
  WHILST_HD static double dot(int k, const double* one, const double* other) {
    double sums_of[4] = {};
    for (int begin = 0; begin < k; begin += piece_in_registers) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece_in_registers; ++j)
        if (begin + j < k) sums_of[j % 4] += one[begin + j] * other[begin + j];
    }
    return sums_of[0] + sums_of[1] + (sums_of[2] + sums_of[3]);
  }
  /// Column k of H, from its k + 1 first entries on: the rotations before that of its diagonal.
  WHILST_HD static void rotate_before_last(int k, double* column, const double* c, const double* si) {
    double value = column[0];
    for (int begin = 0; begin < k - 1; begin += piece_in_registers) {
      double cosine[piece_in_registers], sine[piece_in_registers], entry[piece_in_registers];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece_in_registers; ++j) {
        const bool is_there = begin + j < k - 1;
        cosine[j] = is_there ? c[begin + j] : 0;
        sine[j] = is_there ? si[begin + j] : -1;  // which hands the value on
        entry[j] = is_there ? column[begin + j + 1] : 0;
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece_in_registers; ++j) {
        const double below = entry[j];
        entry[j] = cosine[j] * value + sine[j] * below;
        value = cosine[j] * below - sine[j] * value;
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < piece_in_registers; ++j)
        if (begin + j < k - 1) column[begin + j] = entry[j];
    }
    if (k > 0) column[k - 1] = value;
  }

  /// The totals, the correction of the last column, and the next one under the rotations so far. A block works in
  /// shared memory; what is one after another is done by one thread each.
  struct next_column {
    static constexpr bool whole_block = true;
    gmres_steps all;
    const double* factor;  ///< of w; null for 1
    WHILST_HD static int threads_wanted() { return 256; }
    index_type fast_memory_bytes() const {
      return all.doubles_of_work(threads_wanted()) * index_type{sizeof(double)};  // 56 KB for a restart of 1000
    }
    template <class Team>
    WHILST_HD void operator()(index_type, const Team& team) const {
      const int most = all.most, each = all.sums_of_piece(), threads = team.size(), rank = team.rank();
      const int k = all.s->columns, before = k > 0 ? k - 1 : 0, parts = all.parts_of(threads);
      // One thread of another warp for each task, as long as there are warps.
      const auto has_task = [&](int task) { return rank == (threads > 32 * task ? 32 * task : 0); };
      constexpr int first_of_many = 128;  // threads from here on have no such task, if there are so many
      const int spare = threads > first_of_many ? rank - first_of_many : rank;
      const int spare_threads = threads > first_of_many ? threads - first_of_many : threads;
      void* const fast = team.fast_memory();
      double* const total = fast ? static_cast<double*>(fast) : all.work;
      double *const h = total + parts * each, *const rotated_a = h + most + 1, *const Ha = rotated_a + most,
                    *const c = Ha + most + 1, *const si = c + most, *const told = si + most;
      const double *const a = total, *const b = total + most;
      const double eta = all.s->eta, last_before = all.s->last, g_before = all.s->last_of_g;

      const auto is_there = [&](int j) { return j >= 2 * most || (j < most ? j : j - most) < k; };
      for (int t = rank; t < parts * each; t += threads) {
        const int part = t / each, j = t - part * each;
        double sum = 0;
        if (is_there(j)) {
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
          for (index_type piece = part; piece < all.pieces; piece += parts) sum += all.partial[piece * each + j];
        }
        total[t] = sum;
      }
      for (int j = rank; j + 1 < k; j += threads) {
        c[j] = all.cosine[j];
        si[j] = all.sine[j];
      }
      team.sync();
      for (int j = rank; j < each; j += threads) {
        double sum = 0;
        for (int part = 0; part < parts; ++part) sum += total[part * each + j];
        total[j] = sum;
        if (j < 2 * most) all.found[j] = sum;
        if (j < most) rotated_a[j] = sum;
      }
      team.sync();

      if (has_task(0)) told[0] = dot(k, a, a);
      if (has_task(1)) told[1] = dot(k, a, b);
      if (has_task(2)) told[2] = dot(k, b, b);
      if (has_task(3)) rotate_before_last(k, rotated_a, c, si);
      // H a, but for what is below the diagonal of the last column, which needs rho.
      double* const column_before = all.H + begin_of(before);
      for (int i = spare; i >= 0 && i < k; i += spare_threads) {
        const double corrected = column_before[i] + eta * a[i];
        column_before[i] = corrected;
        double sum = corrected * a[k - 1];
#if defined(__CUDA_ARCH__)
#pragma unroll 16
#endif
        for (int j = i > 0 ? i - 1 : 0; j < k - 1; ++j) sum += all.H[begin_of(j) + i] * a[j];
        Ha[i] = sum;
      }
      team.sync();

      const double qq = total[2 * most], aa = told[0], rho = sqrt(qq - aa);
      if (!(qq - aa > 1e-4 * qq)) {  // q all but lies in the basis after all: it is no new direction
        if (rank == 0) {
          all.s->square = qq;
          all.s->left = no_direction;
        }
        return;
      }
      const double b_of_v = (total[2 * most + 1] - told[1]) / rho, below_last = eta * rho;
      // Where a is rounding, so is H a.
      const bool corrects = aa > 64 * precision * precision * qq;
      for (int i = rank; i <= k; i += threads) {
        const double part = !corrects || k == 0 ? 0 : i < k ? Ha[i] : below_last * a[k - 1];
        const double value = ((i < k ? b[i] : b_of_v) - part) / rho;
        h[i] = all.H[begin_of(k) + i] = value;
        if (i < k) all.correction[begin_of(k) + i] = a[i] / rho;
      }
      if (has_task(1) && k > 0) {
        column_before[k] = below_last;
        const double above = last_before + eta * rotated_a[k - 1], diagonal = length_of(above, below_last);
        told[3] = above / diagonal;
        told[4] = below_last / diagonal;
        all.R[begin_of(k - 1) + k - 1] = diagonal;
      }
      team.sync();
      double* const column_of_R = all.R + begin_of(k);
      if (has_task(0)) {
        rotate_before_last(k, h, c, si);
        double last = h[k], last_of_g = g_before * rho;
        if (k > 0) {
          const double cosine = told[3], sine = told[4], above = h[k - 1];
          all.cosine[k - 1] = cosine;
          all.sine[k - 1] = sine;
          all.g[k - 1] = cosine * g_before;
          last_of_g = -sine * g_before;
          last = cosine * h[k] - sine * above;
          column_of_R[k - 1] = cosine * above + sine * h[k];
        }
        scalars& now = *all.s;
        now.weight = factor ? *factor : 1;
        now.rho = all.rhos[k] = rho;
        now.b_of_v = b_of_v;
        now.square = total[2 * most + 2];
        now.left = now.square - told[2] - b_of_v * b_of_v;
        now.last = last;
        now.last_of_g = last_of_g;
      }
      double* const R_before = all.R + begin_of(before);
      for (int j = spare; j >= 0 && j < k - 1; j += spare_threads) R_before[j] += eta * rotated_a[j];
      team.sync();
      for (int j = rank; j < k - 1; j += threads) column_of_R[j] = h[j];
    }
  };
  /// The rotation of the column with q in place of the next v, and the verdict.
  struct rotate {
    gmres_steps all;
    WHILST_HD void operator()(loop_state& loop) const {
      scalars now = *all.s;
      const int k = now.columns;
      if (!is_finite(now.square) || (now.left != no_direction && !is_finite(now.last))) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      if (now.left == no_direction) {
        loop.stop(k > 0 ? reason::completed : reason::breakdown);
        return;
      }
      // What is left may be all rounding: then the space is exhausted.
      if (!(now.left > 16 * precision * now.square)) now.left = 0;
      now.eta = sqrt(now.left) / now.rho;
      const double diagonal = length_of(now.last, now.eta);
      now.scale = now.left > 0 ? 1 / sqrt(now.left) : 0;
      // A column that is all rounding: A M is singular on the space.
      const double least = 32 * (sizeof(T) == 4 ? 0x1p-23 : precision) * sqrt(now.square) / now.rho;
      if (!(diagonal > least) || !is_finite(static_cast<T>(now.scale))) {
        loop.stop(reason::breakdown);
        return;
      }
      all.R[begin_of(k) + k] = diagonal;
      all.g[k] = now.last / diagonal * now.last_of_g;
      now.columns = k + 1;
      *all.s = now;
      const double norm = fabs(now.eta / diagonal * now.last_of_g);
      if (loop.check(norm)) return;
      if (now.columns == all.most) loop.stop(reason::completed);  // the caller adds to x and begins again
    }
  };

  struct next_of_basis {
    gmres_steps all;
    T* q;
    WHILST_HD T operator()(index_type i) const {
      const scalars& now = *all.s;
      const int k = now.columns - 1;
      const double *const a = all.found, *const b = a + all.most;
      double of_q = 0, of_w = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int j = 0; j < k; ++j) {
        const double v = all.basis[j * all.n + i];
        of_q += a[j] * v;
        of_w += b[j] * v;
      }
      const double v = (static_cast<double>(q[i]) - of_q) / now.rho;
      all.basis[k * all.n + i] = static_cast<T>(v);
      if (i == 0) all.s->written = k + 1;
      const double next = now.weight * static_cast<double>(all.w[i]) - of_w - now.b_of_v * v;
      return q[i] = static_cast<T>(now.scale * next);
    }
    index_type bytes(index_type n) const { return (all.most / 2 + 4) * n * static_cast<index_type>(sizeof(T)); }
  };

  /// y = R^-1 g; then, of the combination of z_0, z_1, ... that it is, the factors of M q_0, M q_1, ...: of all, or
  /// only of the last, whose v is not in the basis if the loop has just stopped.
  struct substitute {
    static constexpr bool whole_block = true;
    gmres_steps all;
    bool of_all;
    WHILST_HD static int threads_wanted() { return 64; }
    index_type fast_memory_bytes() const { return all.most * index_type{sizeof(double)}; }
    template <class Team>
    WHILST_HD void operator()(index_type, const Team& team) const {
      const int columns = all.s->columns;
      void* const fast = team.fast_memory();
      double* const rest = fast ? static_cast<double*>(fast) : all.work;
      for (int j = team.rank(); j < columns; j += team.size()) rest[j] = all.g[j];
      // Nobody changes rest[k] while it is read; the result goes elsewhere.
      const auto eliminate = [&](int k, double by, double factor, const double* column) {
        const double first = team.rank() < k ? column[team.rank()] : 0;  // read before the wait
        team.sync();
        const double value = rest[k] / by;
        if (team.rank() == 0) all.y[k] = value * factor;
        for (int j = team.rank(); j < k; j += team.size()) rest[j] -= value * (j < team.size() ? first : column[j]);
      };
      for (int k = columns - 1; k >= 0; --k) eliminate(k, all.R[begin_of(k) + k], 1, all.R + begin_of(k));
      const int least = of_all ? 0 : all.s->written;
      team.sync();
      for (int j = team.rank(); j < columns; j += team.size()) rest[j] = all.y[j];
      // correction is a / rho, and what is subtracted is y a / rho.
      for (int k = columns - 1; k >= least; --k) eliminate(k, 1, 1 / all.rhos[k], all.correction + begin_of(k));
      team.sync();
      for (int j = team.rank(); j < least && j < columns; j += team.size()) all.y[j] = rest[j];
    }
  };
  /// x is changed by finite numbers only.
  struct check_solution {
    gmres_steps all;
    WHILST_HD void operator()() const {
      bool is_good = true;
      for (int j = 0; j < all.s->columns; ++j) is_good &= is_finite(static_cast<T>(all.y[j]));
      if (!is_good) all.s->columns = all.s->written = 0;
    }
  };
  /// That combination, of vectors in memory and of q; 0 if there is no column.
  struct combine {
    const scalars* s;
    const double* y;
    const T* vectors;
    const T* q;  ///< null if all are in memory
    T* sum;
    index_type n;
    int most;
    WHILST_HD T operator()(index_type i) const {
      const int columns = s->columns, there = q ? s->written : columns;
      double value = there < columns ? y[there] * static_cast<double>(q[i]) : 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int j = 0; j < there; ++j) value += y[j] * static_cast<double>(vectors[j * n + i]);
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
  struct copy {
    const scalars* s;
    const T* from;
    T* vectors;
    index_type n;
    WHILST_HD void operator()(index_type i) const { vectors[s->columns * n + i] = from[i]; }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
};

}  // namespace whilst
