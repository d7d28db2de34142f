#pragma once

#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/linear/methods/gmres_memory.hpp"

namespace whilst {

namespace detail {

/// Whether a map that has asked for 32 lanes has a kernel of its own, not a whole method around it: then it may take
/// registers, and the number of its lanes is a constant.
template <class Team>
constexpr bool in_own_kernel() {
#if defined(__CUDA_ARCH__)
  return std::is_same_v<Team, lanes> || std::is_same_v<Team, lanes_of_whole_warp>;
#else
  return false;
#endif
}
template <class Team>
WHILST_HD int width_of([[maybe_unused]] const Team& team) {
  return in_own_kernel<Team>() ? 32 : team.size();
}
template <class Team, int k>
WHILST_HD sums<double, k> sum_over(const Team& team, const sums<double, k>& value) {
#if defined(__CUDA_ARCH__)
  if (width_of(team) == 32) return sums_of_warp(value);
#endif
  return team.sum(value);
}

}  // namespace detail

/// The steps of gmres and fgmres over vectors. They do not depend on the operator or the preconditioner, so all share
/// kernels.
template <class T>
struct gmres_steps {
  using memory = gmres_memory<T>;
  using scalars = typename memory::scalars;

  struct dot_with_itself {
    const T* r;
    WHILST_HD auto operator()(index_type i) const { return sums{static_cast<double>(r[i]) * r[i]}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct begin_cycle {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& rr, loop_state& loop) const {
      const double beta = sqrt(rr[0]);
      s->columns = s->written = s->complete = 0;
      s->scale = 1 / beta;
      s->last_g = beta;
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
    static constexpr bool fetches_constants = false;
    static constexpr int threads_spread_out = 64;  ///< a lane reads 48 numbers; and the next step's blocks find room
    memory all;
    const T* q;
    const double* factor;  ///< null for 1
    WHILST_HD static int lanes_wanted() { return 32; }

    /// Entries that a lane holds of a vector at once.
    template <class Team>
    static constexpr int held_by = detail::in_own_kernel<Team>() ? 16
                                   : on_device                   ? 4
                                                                 : 1;
    /// Those of v and q from row `next` on.
    template <int count>
    struct entries {
      static constexpr int held = count;
      T v[held], q[held];
      int piece, j;
      index_type next, end;
      double factor;
    };
    // The step before writes w only.
    template <class Team>
    WHILST_HD auto fetch(index_type index, const Team& team) const {
      entries<held_by<Team>> e;
      e.piece = static_cast<int>(index) / (all.most + 1);
      e.j = static_cast<int>(index) - e.piece * (all.most + 1);
      e.next = e.piece * all.rows_a_piece + team.rank();
      const index_type end = (e.piece + 1) * all.rows_a_piece;
      e.end = e.j < all.most && e.j >= team.early(&all.s->columns) ? 0 : end < all.n ? end : all.n;
      e.factor = factor ? team.early(factor) : 1;
      const auto read = [](const T* from) { return Team::early(from); };
      load(e.v, vector(e.j), e.next, e.end, team, read);
      load(e.q, q, e.next, e.end, team, read);
      return e;
    }
    // Entries, not their number, is what these deduce: nvcc 12.4 does not find the number.
    template <class Entries>
    struct entries_and_w {
      Entries e;
      T w[Entries::held];
    };
    template <class Team, class Entries>
    WHILST_HD entries_and_w<Entries> read(index_type, const Team& team, const Entries& e) const {
      entries_and_w<Entries> data{e, {}};
      load(data.w, all.w, e.next, e.end, team, [](const T* from) { return *from; });
      return data;
    }
    template <class Team, class Entries>
    WHILST_HD void operator()(index_type, const Team& team, const entries_and_w<Entries>& data) const {
      constexpr int held = Entries::held;
      const Entries& e = data.e;
      if (e.end == 0) return;
      sums<double, 4> dots = dots_of(e.v, e.q, data.w, e.factor);
      const int step = held * detail::width_of(team);
      WHILST_ROLLED
      for (index_type next = e.next + step; next - team.rank() < e.end; next += step) {
        const auto read = [](const T* from) { return *from; };
        T v[held], of_q[held], w[held];
        load(v, vector(e.j), next, e.end, team, read);
        load(of_q, q, next, e.end, team, read);
        load(w, all.w, next, e.end, team, read);
        dots += dots_of(v, of_q, w, e.factor);
      }
      dots = detail::sum_over(team, dots);
      if (team.rank() != 0) return;
      double* const sums_here = all.partial + e.piece;
      const bool is_vector = e.j < all.most;
      sums_here[(is_vector ? e.j : 2 * all.most) * all.pieces] = dots[0];
      sums_here[(is_vector ? all.most + e.j : 2 * all.most + 1) * all.pieces] = dots[1];
      if (!is_vector) sums_here[(2 * all.most + 2) * all.pieces] = dots[2];
    }
    index_type bytes(index_type) const { return (all.most / 2 + 2) * all.n * static_cast<index_type>(sizeof(T)); }

   private:
    WHILST_HD const T* vector(int j) const { return j < all.most ? all.basis + j * all.n : q; }
    /// Rows from `next` on; zeros from the end on.
    template <class Team, int held, class Read>
    WHILST_HD static void load(T (&into)[held], const T* from, index_type next, index_type end, const Team& team,
                               const Read& read) {
      const T* const first = from + next;
      constexpr int most = 1 << 20;
      const int left = end - next < most ? static_cast<int>(end - next) : most;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int h = 0; h < held; ++h) {
        const int k = h * detail::width_of(team);
        into[h] = k < left ? read(first + k) : T(0);
      }
    }
    /// (v, q), (v, w), (w, w), and a 0, since four sums are formed faster than three.
    template <int held>
    WHILST_HD static sums<double, 4> dots_of(const T (&v)[held], const T (&of_q)[held], const T (&w)[held],
                                             double factor) {
      sums<double, 4> dots{};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int h = 0; h < held; ++h) {
        const double vi = v[h], wi = factor * static_cast<double>(w[h]);
        dots.value[0] += vi * static_cast<double>(of_q[h]);
        dots.value[1] += vi * wi;
        dots.value[2] += wi * wi;
      }
      return dots;
    }
  };
  /// Adds up many pieces, into the first: a warp for each sum.
  struct add_pieces {
    memory all;
    WHILST_HD static int lanes_wanted() { return 32; }
    template <class Team>
    WHILST_HD void operator()(index_type j, const Team& team) const {
      double* const of_sum = all.partial + j * all.pieces;
      double sum = 0;
      for (int piece = team.rank(); piece < all.pieces; piece += team.size()) sum += of_sum[piece];
      sum = team.sum(sum);
      if (team.rank() == 0) *of_sum = sum;
    }
  };

  /// For a group: sums `first` and those behind it, of this rank's rows; and where those of all ranks go.
  static constexpr int sums_at_once = 16;
  struct sums_of_rank {
    memory all;
    int first;
    WHILST_HD auto operator()(index_type) const {
      sums<double, sums_at_once> some{};
      if (all.n == 0) return some;  // what is in memory are the totals of the last iteration
      for (int k = 0; k < sums_at_once && first + k < all.sums_of_piece(); ++k)
        some.value[k] = all.partial[index_type{first + k} * all.pieces];
      return some;
    }
  };
  struct take_sums {
    memory all;
    int first;
    WHILST_HD void operator()(const sums<double, sums_at_once>& total) const {
      for (int k = 0; k < sums_at_once && first + k < all.sums_of_piece(); ++k)
        all.partial[index_type{first + k} * all.pieces] = total[k];
    }
  };
  /// For a rank without rows.
  struct note_written {
    scalars* s;
    WHILST_HD void operator()() const { s->written = s->columns; }
  };

  /// v = (q - V a) / rho, and the next q = (w - V b - b_of_v v) / eta.
  struct next_of_basis {
    memory all;
    T* q;
    WHILST_HD T operator()(index_type i) const {
      const scalars& now = *all.s;
      const int k = now.columns - 1;
      const double *const a = all.a + memory::a_of(k), *const b = all.b + memory::b_of(k);
      double of_q = 0, of_w = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int j = 0; j < k; ++j) {
        const double v = all.basis[j * all.n + i];
        of_q += a[j] * v;
        of_w += b[j] * v;
      }
      if (i == 0) all.s->written = k + 1;
      return q[i] = put(all, now, i, of_q, of_w, q[i], all.w[i]);
    }
    /// Writes v_i, and returns the next q_i, given what V takes from q_i and w_i.
    WHILST_HD static T put(const memory& all, const scalars& now, index_type i, double of_q, double of_w, T q, T w) {
      const double v = (static_cast<double>(q) - of_q) * now.inverse_rho;
      all.basis[(now.columns - 1) * all.n + i] = static_cast<T>(v);
      return static_cast<T>(now.scale * (now.weight * static_cast<double>(w) - of_w - now.b_of_v * v));
    }
    index_type bytes(index_type n) const { return (all.most / 2 + 4) * n * static_cast<index_type>(sizeof(T)); }
  };

  /// The sum of y_j times the vectors, of which the last may be q alone; 0 if there is none.
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
