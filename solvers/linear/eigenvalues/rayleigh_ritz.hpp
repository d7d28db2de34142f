#pragma once

#include "solvers/linear/eigenvalues/dense_by_team.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// Most columns of the blocks that LOBPCG iterates on.
inline constexpr int most_block_columns = 24;

/// What an eigenvalue solve knows beside its vectors. A is meant as scaled, about 1, except for `norm`.
struct eigenvalue_scalars {
  double norm;                  ///< of A as given: the largest sum of the sizes of a row's entries
  int exponent;                 ///< of the power of two that scales A, half before a product and half after it
  double before, after;         ///< both halves
  double factor;                ///< the whole, for a preconditioner, whose size does not matter
  int side;                     ///< which of two places holds X and P: the others receive the next
  double largest_residual;      ///< of the pairs wanted
  double least_so_far;          ///< in the method's loop
  index_type iterations_since;  ///< it was lowered
  double last_norm;             ///< of the true residuals, when they were last computed
  int slow_restarts;
  std::uint64_t loop_nanoseconds;
  double to_start[most_block_columns];  ///< powers of two that make the columns of the start about 1
  double value[most_block_columns], residual[most_block_columns];
  int locked[most_block_columns];
};

/// The memory of rayleigh_ritz, and what goes in and comes out: for a basis S = [X W P] of 3 m columns, X first.
struct ritz_memory {
  int m;
  double *G, *H;  ///< S'S and S'A S, 3 m x 3 m; overwritten
  double *X, *P;  ///< out, 3 m x m: the next X and P are S times these
  double *basis, *work, *scale, *left, *weights;
  int* order;
  plane_rotation* rotations;

  int columns() const { return 3 * m; }
  template <class Workspace>
  static ritz_memory take(int m, Workspace& memory) {
    const index_type q = 3 * m;
    ritz_memory made{};
    made.m = m;
    for (double** square : {&made.G, &made.H, &made.basis, &made.work}) *square = memory.template take<double>(q * q);
    for (double** block : {&made.X, &made.P}) *block = memory.template take<double>(q * m);
    for (double** row : {&made.scale, &made.left, &made.weights}) *row = memory.template take<double>(q);
    made.order = memory.template take<int>(q);
    made.rotations = memory.template take<plane_rotation>(q / 2 + 1);
    return made;
  }
};

/// The Rayleigh-Ritz method on the columns of S = [X W P], by one block: of all combinations x of these columns the
/// ones with the least (or greatest) x'A x / x'x. The map of a step over one index; tells the finish whether it failed.
///
/// S may have dependent columns, and columns of zeros. With columns scaled to length 1, a Cholesky factorization of S'S
/// keeps the columns of X in their order, then those of W and P by the largest pivot, until the rest lies within a
/// tenth of what was kept, as an angle. What is dropped comes again with the next W. Rounding grows by the inverse of
/// that angle: with 1e-3, solves in which it is all that is left go astray, and need about as many iterations. Only
/// where fewer columns than pairs wanted are left, as of a start whose columns span all there is, lesser angles do. The
/// next P is the part of the next X outside of the span of this one, orthogonal to the next X: U. Hetmaniuk, R.
/// Lehoucq, J. Comput. Phys. 218 (2006), section 4; J. A. Duersch, M. Shao, C. Yang, M. Gu, SIAM J. Sci. Comput. 40
/// (2018), section 3. All of that takes place in coordinates.
template <class T>
struct rayleigh_ritz {
  static constexpr bool whole_block = true;
  static constexpr double least_pivot = 1e-2, least_pivot_for_wanted = 1e-10;
  static constexpr double failed_by_nan = 1, failed_by_rank = 2;
  ritz_memory of;
  eigenvalue_scalars* s;
  int wanted;
  bool largest, uses_w, uses_p;

  WHILST_HD static int threads_wanted() { return 256; }
  index_type bytes(index_type) const {
    return 2 * of.columns() * (of.columns() + of.m) * static_cast<index_type>(sizeof(double));
  }

  template <class Team>
  WHILST_HD auto operator()(index_type, const Team& team) const {
    const int q = 3 * of.m;
    const bool is_finite_all = scale_columns(team, q);
    const kept rank = choose_basis(team, q);
    project(team, q, rank.all);
    diagonalize(team, rank.all, q, of.G, of.H, of.rotations);
    const bool are_finite = is_finite_all && sort_values(team, q, rank.all);
    const double failed = !are_finite ? failed_by_nan : rank.all < wanted ? failed_by_rank : 0;
    if (failed == 0) {
      choose_directions(team, q, rank);
      combine(team, q, rank.all);
      if (team.rank() == 0) s->side ^= 1;
    }
    return sums{failed};
  }

 private:
  /// How many columns were kept, of all and of those of X.
  struct kept {
    int all, of_x;
  };

  WHILST_HD bool is_used(int column) const {
    const int block = column / of.m;
    return block == 0 || ((block == 1 ? uses_w : uses_p) && !s->locked[column % of.m]);
  }

  /// False if a number is not finite.
  template <class Team>
  WHILST_HD bool scale_columns(const Team& team, int q) const {
    double bad = 0;
    for (int k = team.rank(); k < q; k += team.size()) {
      const double square = of.G[k * q + k], along = of.H[k * q + k];
      const bool used = is_used(k);
      if (used && !(is_finite(square) && is_finite(along))) bad = 1;
      constexpr double least_square = 1e-290;
      of.scale[k] = used && square > least_square ? 1 / sqrt(square) : 0;
      of.left[k] = of.scale[k] > 0 ? 1 : 0;
    }
    team.sync();
    entries_of_thread(team, q).each(q, q, [&](int i, int k) {
      const double factor = of.scale[i] * of.scale[k];
      double &g = of.G[i * q + k], &h = of.H[i * q + k];
      g = factor > 0 ? factor * g : 0;
      h = factor > 0 ? factor * h : 0;
    });
    bad = team.sum(bad);
    team.sync();
    return bad == 0 && is_finite(s->norm);
  }

  /// Row j of `basis` holds the j-th of orthonormal combinations of the columns.
  template <class Team>
  WHILST_HD kept choose_basis(const Team& team, int q) const {
    double* const factor = of.work;  // its row j: the j-th combination's products with the columns
    kept rank{};
    for (int turn = 0; turn < of.m + q; ++turn) {
      int k = turn;
      if (turn >= of.m) {
        k = 0;
        for (int i = 1; i < q; ++i)
          if (of.left[i] > of.left[k]) k = i;
      }
      const double pivot = of.left[k];
      team.sync();  // all have seen it before it changes
      const bool is_needed = turn >= of.m && rank.all < wanted;
      if (!(pivot > (is_needed ? least_pivot_for_wanted : least_pivot))) {
        if (turn < of.m) continue;
        break;
      }
      const double inverse = 1 / sqrt(pivot);
      for (int i = team.rank(); i < q; i += team.size()) {
        double along = of.G[k * q + i], entry = i == k ? 1 : 0;
        for (int j = 0; j < rank.all; ++j) {
          along -= factor[j * q + k] * factor[j * q + i];
          entry -= factor[j * q + k] * of.basis[j * q + i];
        }
        factor[rank.all * q + i] = along * inverse;
        of.basis[rank.all * q + i] = entry * inverse;
        of.left[i] = i == k ? 0 : of.left[i] - along * inverse * along * inverse;
      }
      team.sync();
      rank.all += 1;
      if (turn < of.m) rank.of_x += 1;
    }
    return rank;
  }

  /// G becomes the matrix of A in that basis.
  template <class Team>
  WHILST_HD void project(const Team& team, int q, int rank) const {
    entries_of_thread(team, q).each(rank, q, [&](int j, int i) {
      double sum = 0;
      for (int k = 0; k < q; ++k) sum += of.basis[j * q + k] * of.H[k * q + i];
      of.work[j * q + i] = sum;
    });
    team.sync();
    entries_of_thread(team, rank).each(rank, rank, [&](int i, int j) {
      if (i > j) return;
      double sum = 0;
      for (int k = 0; k < q; ++k) sum += of.work[i * q + k] * of.basis[j * q + k];
      of.G[i * q + j] = of.G[j * q + i] = sum;
    });
    team.sync();
  }

  /// Puts the values wanted in order. False if one is not finite.
  template <class Team>
  WHILST_HD bool sort_values(const Team& team, int q, int rank) const {
    const double sign = largest ? -1 : 1;
    double bad = 0;
    for (int k = team.rank(); k < rank; k += team.size()) {
      const double mine = sign * of.G[k * q + k];
      int before = 0;
      for (int j = 0; j < rank; ++j) {
        const double other = sign * of.G[j * q + j];
        before += other < mine || (other == mine && j < k);
      }
      if (is_finite(mine)) {
        of.order[before] = k;
      } else {
        bad = 1;
      }
    }
    bad = team.sum(bad);
    team.sync();
    return bad == 0;
  }

  WHILST_HD static double dot(const double* a, const double* b, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }

  /// Coordinates of the next X as the first rows of `work`, and of the next P as the rows after these. A locked pair
  /// has no P: scaled up, the little that it changed would take the room of directions of the others.
  template <class Team>
  WHILST_HD void choose_directions(const Team& team, int q, const kept& rank) const {
    const int m = of.m, found = rank.all < m ? rank.all : m;
    double *const x = of.work, *const p = of.work + m * q;
    entries_of_thread(team, rank.all).each(m, rank.all, [&](int c, int i) {
      const double entry = c < found ? of.H[i * q + of.order[c]] : 0;
      x[c * q + i] = entry;
      p[c * q + i] = uses_p && !s->locked[c] && i >= rank.of_x ? entry : 0;
    });
    for (int c = team.rank(); c < m; c += team.size())
      s->value[c] = c < found ? of.G[of.order[c] * q + of.order[c]] : 0;
    team.sync();
    if (!uses_p) return;
    for (int c = 0; c < found; ++c) {
      double* const mine = p + c * q;
      bool is_there = shorten(team, mine, rank.all, 1e-150);
      for (int pass = 0; pass < 2 && is_there; ++pass) {
        for (int j = team.rank(); j < found + c; j += team.size())
          of.weights[j] = dot(j < found ? x + j * q : p + (j - found) * q, mine, rank.all);
        team.sync();
        for (int i = team.rank(); i < rank.all; i += team.size()) {
          double entry = mine[i];
          for (int j = 0; j < found + c; ++j)
            entry -= of.weights[j] * (j < found ? x[j * q + i] : p[(j - found) * q + i]);
          mine[i] = entry;
        }
        team.sync();
        constexpr double mostly_rounding = 1e-6;
        is_there = shorten(team, mine, rank.all, mostly_rounding);
      }
    }
  }
  /// To length 1. If it is too short to have a direction, makes it 0 and returns false.
  template <class Team>
  WHILST_HD static bool shorten(const Team& team, double* vector, int n, double least) {
    const double length = sqrt(dot(vector, vector, n));
    const bool is_there = length > least;
    team.sync();  // all have seen it before it changes
    for (int i = team.rank(); i < n; i += team.size()) vector[i] = is_there ? vector[i] / length : 0;
    team.sync();
    return is_there;
  }

  /// From coordinates to weights of the columns as they are.
  template <class Team>
  WHILST_HD void combine(const Team& team, int q, int rank) const {
    const int m = of.m;
    entries_of_thread(team, m).each(q, m, [&](int k, int c) {
      double x = 0, p = 0;
      for (int j = 0; j < rank; ++j) {
        x += of.basis[j * q + k] * of.work[c * q + j];
        p += of.basis[j * q + k] * of.work[(m + c) * q + j];
      }
      of.X[k * m + c] = of.scale[k] * x;
      of.P[k * m + c] = of.scale[k] * p;
    });
    team.sync();
  }
};

/// The finish of that step.
struct stop_where_it_failed {
  WHILST_HD void operator()(const sums<double, 1>& failed, loop_state& loop) const {
    if (failed[0] == 0) return;
    loop.stop(failed[0] == rayleigh_ritz<double>::failed_by_nan ? reason::nan_or_infinity : reason::breakdown);
  }
};

}  // namespace whilst
