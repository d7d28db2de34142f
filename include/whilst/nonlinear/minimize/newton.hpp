#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// Newton's method with a line search, the Hessian dense and factored by one block: for a few hundred unknowns. If the
/// Hessian is not positive definite, adds a multiple of the identity, scaled so that the diagonal is 1: J. Nocedal and
/// S. J. Wright, Numerical Optimization, 2nd ed. (2006), algorithm 3.3.
template <class T>
struct newton {
  static constexpr const char* name = "newton";
  static constexpr bool wants_hessian = true;
  static constexpr index_type most_unknowns = 1000;
  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  double *L, *solution, *unit;

  template <class Function, class Workspace>
  WHILST_HD constexpr newton(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                             const Function&, Workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        L(memory.template take<double>(v.n * v.n)),
        solution(memory.template take<double>(v.n)),
        unit(memory.template take<double>(v.n)) {}

  struct solve {
    [[maybe_unused]] static constexpr bool whole_block = true;
    newton of;
    hessian_view<T> H;

    int threads_wanted() const { return static_cast<int>(of.v.n <= 32 ? 64 : 256); }
    /// g' d.
    template <class Team>
    WHILST_HD sums<double, 1> operator()(index_type, const Team& team) const {
      if (!of.s->accepted) return {};
      const index_type n = of.v.n;
      const double least_diagonal = choose_units(team);
      constexpr int most_tries = 60;
      constexpr double first_shift = 1e-3;
      double shift = least_diagonal > 0 ? 0 : first_shift - least_diagonal;
      for (int tries = 0; tries < most_tries; ++tries) {
        fill(team, shift);
        if (factor(team)) break;
        shift = 2 * shift > first_shift ? 2 * shift : first_shift;
      }
      substitute(team);
      double slope = 0;
      for (index_type i = team.rank(); i < n; i += team.size()) {
        of.solution[i] *= of.unit[i];
        slope += of.solution[i] * of.v.trial_gradient[i];
      }
      slope = team.sum(slope);
      return sums<double, 1>{team.rank() == 0 ? slope : 0};
    }

   private:
    WHILST_HD double magnification() const { return of.s->magnification; }
    /// Scales the diagonal to 1 or -1; returns its least entry after scaling.
    template <class Team>
    WHILST_HD double choose_units(const Team& team) const {
      double negative = 0;
      for (index_type i = team.rank(); i < of.v.n; i += team.size()) {
        double diagonal = 0;
        for (std::int32_t k = H.row_offsets[i]; k < H.row_offsets[i + 1]; ++k)
          if (H.column_indices[k] == i) diagonal = magnification() * H.values[k];
        of.unit[i] = diagonal != 0 ? 1 / sqrt(fabs(diagonal)) : 1;
        negative += diagonal < 0;
      }
      return team.sum(negative) > 0 ? -1 : 1;
    }
    template <class Team>
    WHILST_HD void fill(const Team& team, double shift) const {
      const index_type n = of.v.n;
      team.sync();
      for (index_type k = team.rank(); k < n * n; k += team.size()) of.L[k] = 0;
      team.sync();
      for (index_type i = team.rank(); i < n; i += team.size()) {
        for (std::int32_t k = H.row_offsets[i]; k < H.row_offsets[i + 1]; ++k) {
          const std::int32_t j = H.column_indices[k];
          of.L[i * n + j] = magnification() * H.values[k] * of.unit[i] * of.unit[j];
        }
        if (H.row_offsets[i] == H.row_offsets[i + 1]) of.L[i * n + i] = 1;  // in no term: it stays where it is
        of.L[i * n + i] += shift;
        of.solution[i] = -of.v.trial_gradient[i] * of.unit[i];
      }
      team.sync();
    }
    /// Cholesky by columns, L over the lower triangle and its transpose over the upper one, so that neighbouring
    /// threads read neighbours. False if a pivot is not positive.
    template <class Team>
    WHILST_HD bool factor(const Team& team) const {
      constexpr double least_pivot = 1e-14;
      const index_type n = of.v.n;
      const int lanes = team.size() < 32 ? team.size() : 32, lane = team.rank() % lanes;
      const int group = team.rank() / lanes, groups = team.size() / lanes;
      for (index_type k = 0; k < n; ++k) {
        const double pivot = of.L[k * n + k];
        if (!(pivot > least_pivot)) return false;  // the same for all threads
        const double root = sqrt(pivot);
        team.sync();
        for (index_type i = k + team.rank(); i < n; i += team.size())
          of.L[k * n + i] = of.L[i * n + k] = i == k ? root : of.L[i * n + k] / root;
        team.sync();
        for (index_type i = k + 1 + group; i < n; i += groups) {
          const double lik = of.L[k * n + i];
          for (index_type j = k + 1 + lane; j <= i; j += lanes) of.L[i * n + j] -= lik * of.L[k * n + j];
        }
        team.sync();
      }
      return true;
    }
    template <class Team>
    WHILST_HD void substitute(const Team& team) const {
      const index_type n = of.v.n;
      for (index_type k = 0; k < n; ++k) {
        const double xk = of.solution[k] / of.L[k * n + k];
        team.sync();
        for (index_type i = k + team.rank(); i < n; i += team.size())
          of.solution[i] = i == k ? xk : of.solution[i] - of.L[k * n + i] * xk;
        team.sync();
      }
      for (index_type k = n - 1; k >= 0; --k) {
        const double xk = of.solution[k] / of.L[k * n + k];
        team.sync();
        for (index_type i = team.rank(); i <= k; i += team.size())
          of.solution[i] = i == k ? xk : of.solution[i] - of.L[k * n + i] * xk;
        team.sync();
      }
    }
  };

  struct choose {
    descent_state* s;
    const descent_settings* settings;
    WHILST_HD void operator()(const sums<double, 1>& slope) const {
      change_direction(s, *settings, [&](const accepted_step&) { return proposal{slope[0], 1}; });
    }
  };

  template <class Run, class Function>
  WHILST_HD void propose(Run& run, const Function& f) const {
    f.make_hessian(run, v.trial, &s->accepted, false);
    run.team("d = -(H + shift)^-1 g", 1, solve{*this, f.hessian()}, choose{s, settings});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const { return static_cast<T>(solution[i]); }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
