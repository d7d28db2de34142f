#pragma once

#include <cmath>
#include <type_traits>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/linear/methods/gmres_memory.hpp"
#include "whilst/linear/methods/gmres_steps.hpp"

namespace whilst {

namespace detail {

WHILST_HD inline double inverse_root(double square) {
#if defined(__CUDA_ARCH__)
  return rsqrt(square);
#else
  return 1 / sqrt(square);
#endif
}
/// Two at once: rsqrt() branches, so that one would wait for the other. Its arithmetic, for numbers within 1e-300 and
/// 1e300.
WHILST_HD inline sums<double, 2> inverse_roots(double one, double other) {
#if defined(__CUDA_ARCH__)
  const auto is_usual = [](double square) { return square > 1e-300 && square < 1e300; };
  if (is_usual(one) && is_usual(other)) {
    sums root{one, other};
    for (double& each : root.value) {
      double near;
      asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(near) : "d"(each));
      const double off = fma(each, -(near * near), 1.0);
      each = fma(fma(off, 0.375, 0.5), near * off, near);
    }
    return root;
  }
#endif
  return sums{inverse_root(one), inverse_root(other)};
}
/// 1 / ||(one, other)||, given its square; see length_of.
WHILST_HD inline double inverse_length(double one, double other, double square) {
  return square > 0x1p-900 && square < 0x1p1000 ? inverse_root(square) : 1 / hypot(one, other);
}

/// The warp of a thread of a block; a smaller team is one itself.
template <class Team>
WHILST_HD auto warp_of(const Team& team) {
  if constexpr (std::is_base_of_v<lanes, Team>) {
    return team;
  } else {
    return team.divided(32);
  }
}
/// Whether a team is the block of a step's own kernel, with as many threads as the map wants.
template <class Team>
constexpr bool is_own_block() {
#if defined(__CUDA_ARCH__)
  return std::is_same_v<Team, block_team>;
#else
  return false;
#endif
}
/// A block's fast memory, or `fallback` where there is none.
template <class Team>
WHILST_HD double* room_of(const Team& team, double* fallback) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_own_block<Team>()) return static_cast<double*>(team.fast_memory());
#endif
  void* const fast = team.fast_memory();
  return fast ? static_cast<double*>(fast) : fallback;
}

}  // namespace detail

/// The arithmetic of a column of gmres and fgmres; see gmres_memory.
///
/// Block 0 makes the column and the verdict. Where V is small, the other blocks update v and q: they need the same
/// totals and a few numbers made of them, and arrive at them by themselves sooner than a step after this one could be
/// told. Otherwise there is only block 0.
template <class T, class Preconditioner>
struct gmres_column {
  static constexpr bool whole_block = true, fetches_constants = false;
  static constexpr int blocks_wanted = 3;  ///< beside blocks of the steps around it, which start early or end late
  static constexpr int rows_a_block = 32;  ///< one for each lane; the warps share the vectors
  using memory = gmres_memory<T>;
  using scalars = typename memory::scalars;

  memory all;
  int pieces;
  Preconditioner M;
  T *q, *u;
  const double* factor;  ///< of w; null for 1
  typename memory::verdict* told = all.told;

  WHILST_HD static constexpr int threads_wanted() { return 256; }
  index_type fast_memory_bytes() const {
    return (all.sums_of_piece() + 2 * index_type{threads_wanted()}) * index_type{sizeof(double)};
  }

  /// What the step before does not write.
  struct entries {
    static constexpr int held = on_device ? 4 : 1;
    int columns;
    int sum;                             // where a thread's first begins
    double last, last_g, eta, last_row;  // block 0
    T v[held], q, w;                     // the others
    double weight;
  };
  struct entries_and_sum {
    entries e;
    double sum;  ///< a thread's first
  };
  template <class Team>
  WHILST_HD entries fetch(index_type index, const Team& team) const {
    const auto warp = detail::warp_of(team);
    const int warps = threads_of(team) / warp.size(), of_warp = team.rank() / warp.size();
    entries e{};
    e.columns = team.early(&all.s->columns);
    e.sum = team.rank() * all.pieces;
    e.weight = factor ? team.early(factor) : 1;
    if (index == 0) {
      if (e.columns == 0) e.last_g = team.early(&all.s->last_g);
      if (e.columns > 0) {
        e.last = team.early(&all.s->last);
        e.last_g = team.early(&all.s->last_g);
        e.eta = team.early(all.eta + e.columns - 1);
        if (warp.rank() < e.columns) e.last_row = team.early(all.last_row + warp.rank());
      }
      return e;
    }
    const index_type i = (index - 1) * rows_a_block + warp.rank();
    if (i >= all.n) return e;
    if (of_warp == 0) {
      e.q = team.early(q + i);
      e.w = team.early(all.w + i);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int h = 0; h < entries::held; ++h) {
      const int j = of_warp + h * warps;
      e.v[h] = j < e.columns ? team.early(all.basis + j * all.n + i) : T(0);
    }
    return e;
  }
  template <class Team>
  WHILST_HD entries_and_sum read(index_type, const Team& team, const entries& e) const {
    return {e, team.rank() < all.sums_of_piece() ? sum_of_pieces(all.partial + e.sum) : 0};
  }

  template <class Team>
  WHILST_HD void operator()(index_type index, const Team& team, const entries_and_sum& data) const {
    (*this)(index, team, data, [] {});
  }
  template <class Team, class Call>
  WHILST_HD void operator()(index_type index, const Team& team, const entries_and_sum& data,
                            const Call& has_read) const {
    const entries& e = data.e;
    const int each = all.sums_of_piece(), threads = threads_of(team), rank = team.rank();
    double* const total = detail::room_of(team, all.work);
    if (rank < each) total[rank] = data.sum;
    WHILST_ROLLED
    for (int j = rank + threads; j < each; j += threads) total[j] = sum_of_pieces(all.partial + j * all.pieces);
    team.sync();
    if (index == 0) return make_column(team, e, total);
    has_read();
    update_row(index - 1, team, e, total);
  }

 private:
  template <class Team>
  WHILST_HD static int threads_of(const Team& team) {
    return detail::is_own_block<Team>() ? threads_wanted() : team.size();
  }
  WHILST_HD double sum_of_pieces(const double* of_piece) const {
    double sum = sum_of_some(of_piece, pieces);
    WHILST_ROLLED
    for (int first = at_once; first < pieces; first += at_once) sum += sum_of_some(of_piece + first, pieces - first);
    return sum;
  }
  static constexpr int at_once = 8;
  /// Of up to so many, all of which are read before the first is waited for.
  WHILST_HD static double sum_of_some(const double* of_piece, int left) {
    double value[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int p = 0; p < at_once; ++p) value[p] = p < left ? of_piece[p] : 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int distance = 1; distance < at_once; distance *= 2)
      for (int p = 0; p < at_once; p += 2 * distance) value[p] += value[p + distance];
    return value[0];
  }
  /// What follows from the totals and from (a, a), (a, b), (b, b).
  struct arithmetic {
    scalars now;
    double qq, ww, square_of_rho, eta;
    bool is_direction;  ///< otherwise q all but lies in the basis after all
  };
  WHILST_HD arithmetic arithmetic_of(const entries& e, const double* total, double aa, double ab, double bb) const {
    const double qq = total[2 * all.most], qw = total[2 * all.most + 1], ww = total[2 * all.most + 2];
    arithmetic of{};
    scalars& now = of.now;
    of.qq = qq;
    of.ww = ww;
    of.square_of_rho = qq - aa;
    now.columns = e.columns + 1;
    now.weight = e.weight;
    // Of w is left eta^2 = ww - bb - b_of_v^2. Here it is times rho^2, so that its root does not wait for that of rho.
    const double left = (ww - bb) * of.square_of_rho - (qw - ab) * (qw - ab);
    const sums<double, 2> inverse = detail::inverse_roots(of.square_of_rho, left);
    now.inverse_rho = inverse[0];
    now.b_of_v = (qw - ab) * inverse[0];
    // What is left may be all rounding: then the space is exhausted.
    const bool is_left = left > 16 * memory::precision * ww * of.square_of_rho;
    now.scale = is_left ? of.square_of_rho * inverse[0] * inverse[1] : 0;
    of.eta = is_left ? left * inverse[1] * inverse[0] : 0;
    of.is_direction = of.square_of_rho > 1e-4 * qq;
    return of;
  }

  /// The column and the verdict, by the block's first warp.
  template <class Team>
  WHILST_HD void make_column(const Team& team, const entries& e, const double* total) const {
    const auto warp = detail::warp_of(team);
    const int k = e.columns, rank = team.rank(), lanes = warp.size();
    const double *const a = total, *const b = total + all.most;
    // The others keep what is summed up already.
    const int keeping = threads_of(team) > lanes ? threads_of(team) - lanes : lanes, keeper = rank - lanes;
    if (threads_of(team) == lanes || rank >= lanes) {
      WHILST_ROLLED
      for (int j = threads_of(team) > lanes ? keeper : rank; j < k; j += keeping) {
        all.a[memory::a_of(k) + j] = a[j];
        all.b[memory::b_of(k) + j] = b[j];
      }
    }
    if (rank >= lanes) return;
    const auto row_entry = [&](int j) { return j == rank ? e.last_row : all.last_row[j]; };
    sums<double, 5> dots{};  // (a, a), (a, b), (b, b), the last row times a and b
    WHILST_ROLLED
    for (int j = rank; j < k; j += lanes) {
      const double aj = a[j], bj = b[j], of_row = row_entry(j);
      dots += sums{aj * aj, aj * bj, bj * bj, of_row * aj, of_row * bj};
    }
    dots = detail::sum_over(warp, dots);
    arithmetic of = arithmetic_of(e, total, dots[0], dots[1], dots[2]);
    scalars& now = of.now;
    if (!of.is_direction) {
      const reason because = k > 0 ? reason::completed : reason::breakdown;
      if (rank == 0) *told = {0, is_finite(of.qq) ? because : reason::nan_or_infinity, k};
      return;
    }
    const double rho = of.square_of_rho * now.inverse_rho, eta = of.eta;
    double sine = 0, cosine = 1;
    now.last = now.b_of_v;
    now.last_g = e.last_g * rho;
    if (k > 0) {  // the last column's rotation, complete
      const double above = e.last + e.eta * dots[3], below = e.eta * rho;
      // In the square not rho itself, whose root need not be there.
      const double inverse = detail::inverse_length(above, below, above * above + e.eta * e.eta * of.square_of_rho);
      cosine = above * inverse;
      sine = below * inverse;
      now.last = cosine * now.b_of_v - sine * dots[4];
      now.last_g = -sine * e.last_g;
    }
    WHILST_ROLLED
    for (int j = rank; j < k; j += lanes) all.last_row[j] = -sine * row_entry(j);
    if (rank != 0) return;
    const double inverse = detail::inverse_length(now.last, eta, now.last * now.last + eta * eta);
    *told = {fabs(eta * inverse * now.last_g), verdict_on(now, eta, of.ww), now.columns};
    all.last_row[k] = cosine;
    if (k > 0) {
      all.cosine[k - 1] = cosine;
      all.sine[k - 1] = sine;
      all.g[k - 1] = cosine * e.last_g;
    }
    all.b[memory::b_of(k) + k] = now.b_of_v;
    all.rho[k] = rho;
    all.eta[k] = eta;
    all.cosine[k] = now.last * inverse;
    all.sine[k] = eta * inverse;
    all.g[k] = now.last * inverse * now.last_g;
    scalars& s = *all.s;  // but for columns, which other blocks may still read
    s.weight = now.weight;
    s.inverse_rho = now.inverse_rho;
    s.b_of_v = now.b_of_v;
    s.scale = now.scale;
    s.last = now.last;
    s.last_g = now.last_g;
    s.complete = k;
  }
  WHILST_HD static reason verdict_on(const scalars& now, double eta, double ww) {
    if (!is_finite(ww) || !is_finite(now.last)) return reason::nan_or_infinity;
    // A column that is all rounding: A M is singular on the space.
    constexpr double least = 32 * (sizeof(T) == 4 ? 0x1p-23 : memory::precision);
    if (!(now.last * now.last + eta * eta > least * least * ww) || !is_finite(static_cast<T>(now.scale)))
      return reason::breakdown;
    return reason::running;
  }
  /// v and q in the rows of a block, a lane for each: the warps share the vectors. The first one adds up, and does the
  /// arithmetic meanwhile.
  template <class Team>
  WHILST_HD void update_row(index_type block, const Team& team, const entries& e, double* total) const {
    const auto warp = detail::warp_of(team);
    const int threads = threads_of(team), rank = team.rank(), k = e.columns, lanes = warp.size();
    const int warps = threads / lanes, of_warp = rank / lanes;
    const index_type i = block * rows_a_block + warp.rank();
    const double *const a = total, *const b = total + all.most;
    double* const share = total + all.sums_of_piece();
    double aj[entries::held], bj[entries::held], of_q = 0, of_w = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int h = 0; h < entries::held; ++h) {
      const int j = of_warp + h * warps;
      aj[h] = j < k ? a[j] : 0;
      bj[h] = j < k ? b[j] : 0;
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int h = 0; h < entries::held; ++h) {
      of_q += aj[h] * static_cast<double>(e.v[h]);
      of_w += bj[h] * static_cast<double>(e.v[h]);
    }
    WHILST_ROLLED
    for (int j = of_warp + entries::held * warps; j < k && i < all.n; j += warps) {
      const double v = all.basis[j * all.n + i];
      of_q += a[j] * v;
      of_w += b[j] * v;
    }
    share[rank] = of_q;
    share[threads + rank] = of_w;
    sums<double, 4> dots{};  // and a 0, since four sums are formed faster than three
    if (of_warp == 0) {
      WHILST_ROLLED
      for (int j = rank; j < k; j += lanes) dots += sums{a[j] * a[j], a[j] * b[j], b[j] * b[j], 0.0};
      dots = detail::sum_over(warp, dots);
    }
    team.sync();
    if (of_warp > 0) return;
    constexpr int most_warps = threads_wanted() / 32;
    double q_of_warp[most_warps], w_of_warp[most_warps];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int other = 0; other < most_warps; ++other) {
      q_of_warp[other] = other < warps ? share[other * lanes + rank] : 0;
      w_of_warp[other] = other < warps ? share[threads + other * lanes + rank] : 0;
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int distance = 1; distance < most_warps; distance *= 2) {
      for (int other = 0; other < most_warps; other += 2 * distance) {
        q_of_warp[other] += q_of_warp[other + distance];
        w_of_warp[other] += w_of_warp[other + distance];
      }
    }
    const arithmetic of = arithmetic_of(e, total, dots[0], dots[1], dots[2]);
    if (!of.is_direction || i >= all.n) return;
    const T next = gmres_steps<T>::next_of_basis::put(all, of.now, i, q_of_warp[0], w_of_warp[0], e.q, e.w);
    q[i] = next;
    if constexpr (Preconditioner::pointwise && !Preconditioner::is_identity) u[i] = M(i, next);
  }
};

/// Counts the column and tests the norm.
template <class T>
struct gmres_judge {
  gmres_memory<T> all;
  bool has_written;  ///< the blocks of the column write v
  typename gmres_memory<T>::verdict* told = all.told;
  static constexpr bool follows_from_totals = true;  ///< each rank makes what is told of the same sums
  WHILST_HD void operator()(loop_state& loop) const {
    const typename gmres_memory<T>::verdict of_column = *told;
    if (of_column.why != reason::running) {
      loop.stop(of_column.why);
      return;
    }
    all.s->columns = of_column.columns;
    if (has_written) all.s->written = of_column.columns;
    if (loop.check(of_column.norm)) return;
    if (of_column.columns == all.most) loop.stop(reason::completed);  // the caller adds to x and begins again
  }
};

}  // namespace whilst
