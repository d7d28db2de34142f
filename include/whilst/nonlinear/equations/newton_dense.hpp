#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/nonlinear/equations/judge_residual.hpp"
#include "whilst/nonlinear/equations/posed_equations.hpp"

namespace whilst {

/// Newton's method for equations with a line search, the Jacobian dense and factored by one block: for a few hundred
/// unknowns. Gaussian elimination with partial pivoting, rows first scaled by their largest entries: G. H. Golub, C. F.
/// Van Loan, Matrix Computations, 4th ed. (2013), sections 3.4 and 3.5.2.
template <class T>
struct newton_dense {
  static constexpr const char* name = "newton";
  using trial_judge = judge_residual<residual_rule::reduce>;
  static constexpr int threads = 256;
  /// A pivot no larger than this fraction of its column's largest entry, rows being scaled, is only rounding.
  static constexpr double least_pivot = sizeof(T) == 4 ? 1e-6 : 2e-15;

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  double *A, *solution;  ///< A column after column
  double* of_columns;    ///< the largest entry of each when A was filled
  double* largest;       ///< one per thread
  std::int32_t* where;   ///< likewise

  newton_dense(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
               const posed_equations<T>&, workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        A(memory.take<double>(v.n * v.n)),
        solution(memory.take<double>(v.n)),
        of_columns(memory.take<double>(v.n)),
        largest(memory.take<double>(threads)),
        where(memory.take<std::int32_t>(threads)) {}

  struct solve {
    [[maybe_unused]] static constexpr bool whole_block = true;
    newton_dense of;
    jacobian_view<T> J;

    int threads_wanted() const { return of.v.n <= 32 ? 64 : threads; }
    /// Whether there is no solution; and the sum of |d|, for d as used, which must be finite.
    template <class Team>
    WHILST_HD sums<double, 2> operator()(index_type, const Team& team) const {
      if (!of.s->accepted) return {};
      // Before a pivot vanishes: NaN or infinity may lie behind it.
      if (team.sum(fill(team)) > 0) return {0, team.rank() == 0 ? NAN : 0.0};
      const bool regular = eliminate(team);
      if (regular) substitute(team);
      double size = 0;
      for (index_type i = team.rank(); regular && i < of.v.n; i += team.size())
        size += fabs(static_cast<double>(of.read_entry(i)));
      size = team.sum(size);
      if (team.rank() != 0) return {};
      return {regular ? 0.0 : 1.0, size};
    }

   private:
    /// Returns how many of a thread's rows contain values that are not finite.
    template <class Team>
    WHILST_HD double fill(const Team& team) const {
      const index_type n = of.v.n;
      double rows_not_finite = 0;
      for (index_type k = team.rank(); k < n * n; k += team.size()) of.A[k] = 0;
      team.sync();
      for (index_type i = team.rank(); i < n; i += team.size()) {
        double largest = 0;
        bool finite = true;
        for (std::int32_t k = J.row_offsets[i]; k < J.row_offsets[i + 1]; ++k) {
          largest = fmax(largest, fabs(static_cast<double>(J.values[k])));
          finite = finite && is_finite(J.values[k]);
        }
        if (!finite) rows_not_finite += 1;
        const double scale = largest > 0 ? 1 / largest : 1;
        for (std::int32_t k = J.row_offsets[i]; k < J.row_offsets[i + 1]; ++k)
          of.A[J.column_indices[k] * n + i] += J.values[k] * scale;
        of.solution[i] = -scale * (of.v.trial_gradient[i] * of.s->reduction);
      }
      team.sync();
      for (index_type j = team.rank(); j < n; j += team.size()) {
        double largest = 0;
        for (index_type i = 0; i < n; ++i) largest = fmax(largest, fabs(of.A[j * n + i]));
        of.of_columns[j] = largest;
      }
      team.sync();
      return rows_not_finite;
    }

    /// The row of a column's largest entry, from the diagonal down: per thread, then among the threads, where 16 of
    /// them first search a share each.
    template <class Team>
    WHILST_HD index_type pivot_row(const Team& team, const double* column, index_type k) const {
      double largest = -1;
      index_type row = k;
      for (index_type i = k + team.rank(); i < of.v.n; i += team.size()) {
        // Take NaN at once and keep it, so that it shows.
        if (largest == largest && !(fabs(column[i]) <= largest)) {
          largest = fabs(column[i]);
          row = i;
        }
      }
      of.largest[team.rank()] = largest;
      of.where[team.rank()] = static_cast<std::int32_t>(row);
      team.sync();
      const int shares = team.size() < 16 ? team.size() : 16;
      if (team.rank() < shares) {
        const int best = best_of(team.rank(), team.size(), shares);
        of.largest[team.rank()] = of.largest[best];
        of.where[team.rank()] = of.where[best];
      }
      team.sync();
      return of.where[best_of(0, shares, 1)];
    }
    WHILST_HD int best_of(int first, int end, int stride) const {
      int best = first;
      double largest = of.largest[first];
      for (int t = first + stride; t < end; t += stride) {
        const double here = of.largest[t];
        if (!(largest == largest) || here <= largest) continue;
        largest = here;
        best = t;
      }
      return best;
    }

    /// False if a pivot vanishes. A NaN pivot passes, and makes the solution NaN.
    template <class Team>
    WHILST_HD bool eliminate(const Team& team) const {
      const index_type n = of.v.n;
      const int lanes = team.size() < 32 ? team.size() : 32, lane = team.rank() % lanes;
      const int group = team.rank() / lanes, groups = team.size() / lanes;
      for (index_type k = 0; k < n; ++k) {
        double* const column = of.A + k * n;
        const index_type p = pivot_row(team, column, k);
        if (fabs(column[p]) <= least_pivot * of.of_columns[k]) return false;  // the same for all threads
        team.sync();
        for (index_type j = k + team.rank(); j <= n; j += team.size())
          exchange(j < n ? of.A + j * n : of.solution, k, p);
        team.sync();
        const double inverse = 1 / column[k];
        for (index_type i = k + 1 + team.rank(); i < n; i += team.size()) column[i] *= inverse;
        team.sync();
        for (index_type j = k + 1 + group; j <= n; j += groups) {
          double* const other = j < n ? of.A + j * n : of.solution;
          const double factor = other[k];
          if (factor == 0) continue;
          for (index_type i = k + 1 + lane; i < n; i += lanes) other[i] -= column[i] * factor;
        }
        team.sync();
      }
      return true;
    }
    WHILST_HD static void exchange(double* column, index_type a, index_type b) {
      const double kept = column[a];
      column[a] = column[b];
      column[b] = kept;
    }
    template <class Team>
    WHILST_HD void substitute(const Team& team) const {
      const index_type n = of.v.n;
      for (index_type k = n - 1; k >= 0; --k) {
        const double* const column = of.A + k * n;
        const double xk = of.solution[k] / column[k];
        team.sync();
        for (index_type i = team.rank(); i <= k; i += team.size())
          of.solution[i] = i == k ? xk : of.solution[i] - column[i] * xk;
        team.sync();
      }
    }
  };

  struct choose {
    descent_state* s;
    const descent_settings* settings;
    WHILST_HD void operator()(const sums<double, 2>& found, loop_state& loop) const {
      if (!s->accepted) return;
      if (found[0] > 0) {
        loop.stop(reason::singular_jacobian);
      } else if (!is_finite(found[1])) {
        loop.stop(reason::nan_or_infinity);
      } else {
        // F vanishes entirely at step 1 if it is as linear as the step assumes.
        change_direction(s, *settings, [](const accepted_step& step) { return proposal{-step.gradient_square, 1}; });
      }
    }
  };

  template <class Run>
  void propose(Run& run, const posed_equations<T>& f) const {
    f.system->make_jacobian(run, v.trial, &s->accepted);
    run.team("d = -J^-1 F", 1, solve{*this, f.system->jacobian()}, choose{s, settings});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return static_cast<T>(solution[i]); }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
