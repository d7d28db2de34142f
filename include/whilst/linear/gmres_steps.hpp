#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/linear/gmres_memory.hpp"

namespace whilst {

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
    memory all;
    const T* q;
    const double* factor;  ///< null for 1
    WHILST_HD static int lanes_wanted() { return 32; }

    /// Entries of v and q that a lane holds at once, from `next` on, `left` of which are there.
    struct entries {
      static constexpr int held = on_device ? 16 : 1;
      T v[held], q[held];
      index_type next, end;
    };
    // The step before writes w only.
    template <class Team>
    WHILST_HD entries fetch(index_type index, const Team& team) const {
      const index_type each = all.most + 1, piece = index / each;
      const auto j = static_cast<int>(index - piece * each);
      entries e;
      e.next = piece * all.rows_a_piece + team.rank();
      const index_type end = (piece + 1) * all.rows_a_piece;
      e.end = end < all.n ? end : all.n;
      if (j < all.most && j >= team.early(&all.s->columns)) e.end = 0;
      load(e, vector(j), team, [](const T* from) { return Team::early(from); });
      return e;
    }
    template <class Team>
    WHILST_HD void operator()(index_type index, const Team& team, entries e) const {
      const index_type each = all.most + 1, piece = index / each;
      const auto j = static_cast<int>(index - piece * each);
      if (e.end == 0) return;
      const double of_w = factor ? *factor : 1;
      double with_q = 0, with_w = 0, square = 0;
      while (true) {
        T w[entries::held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int k = 0; k < entries::held; ++k) {
          const index_type i = e.next + k * team.size();
          w[k] = i < e.end ? all.w[i] : T(0);
        }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int k = 0; k < entries::held; ++k) {
          const double vi = e.v[k], qi = e.q[k], wi = of_w * static_cast<double>(w[k]);
          with_q += vi * qi;
          with_w += vi * wi;
          square += wi * wi;
        }
        e.next += entries::held * team.size();
        if (e.next - team.rank() >= e.end) break;
        load(e, vector(j), team, [](const T* from) { return *from; });
      }
      with_q = team.sum(with_q);
      with_w = team.sum(with_w);
      square = team.sum(square);
      if (team.rank() != 0) return;
      double* const sums_here = all.partial + piece * all.sums_of_piece();
      const bool is_vector = j < all.most;
      sums_here[is_vector ? j : 2 * all.most] = with_q;
      sums_here[is_vector ? all.most + j : 2 * all.most + 1] = with_w;
      if (!is_vector) sums_here[2 * all.most + 2] = square;
    }
    index_type bytes(index_type) const { return (all.most / 2 + 2) * all.n * static_cast<index_type>(sizeof(T)); }

   private:
    WHILST_HD const T* vector(int j) const { return j < all.most ? all.basis + j * all.n : q; }
    template <class Team, class Read>
    WHILST_HD void load(entries& e, const T* v, const Team& team, const Read& read) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < entries::held; ++k) {
        const index_type i = e.next + k * team.size();
        const bool is_there = i < e.end;
        e.v[k] = is_there ? read(v + i) : T(0);
        e.q[k] = is_there ? read(q + i) : T(0);
      }
    }
  };
  /// Adds up many pieces, into the first: a warp for each sum.
  struct add_pieces {
    memory all;
    WHILST_HD static int lanes_wanted() { return 32; }
    template <class Team>
    WHILST_HD void operator()(index_type j, const Team& team) const {
      const index_type each = all.sums_of_piece();
      double sum = 0;
      for (index_type piece = team.rank(); piece < all.pieces; piece += team.size())
        sum += all.partial[piece * each + j];
      sum = team.sum(sum);
      if (team.rank() == 0) all.partial[j] = sum;
    }
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
