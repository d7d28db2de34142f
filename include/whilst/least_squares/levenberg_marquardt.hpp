#pragma once

#include "whilst/basics/views.hpp"
#include "whilst/derivatives/dual.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/least_squares/fit_state.hpp"
#include "whilst/least_squares/step_from_factor.hpp"
#include "whilst/least_squares/step_from_sums.hpp"

namespace whilst {

/// Levenberg-Marquardt for f(x) = 1/2 sum of r_i(x)^2 with a few unknowns, their number known at compile time: K.
/// Madsen, H. B. Nielsen, O. Tingleff, "Methods for non-linear least squares problems", IMM, DTU (2004), algorithm
/// 3.16, with Nielsen's damping, and scaling close to More's (1978): the damping of a parameter is in units of the
/// largest curvature seen in it, of which each iteration forgets a tenth.
///
/// One step per iteration: residuals and Jacobian at the trial point, by dual numbers, as the sums that make J' J, J' r
/// and r' r; its finish accepts or rejects, tests, and solves for the next trial. So a rejected trial costs an unused
/// Jacobian, which is less than a second step would cost. If sums of products lose too many digits, the residuals are
/// evaluated in a basis in which they do not (step_from_factor), a few times more.
///
/// Problem: unknowns (a constant), count(), and operator()(i, b), residual i for n parameters b of any scalar type.
template <class T, class Problem>
struct levenberg_marquardt {
  static constexpr const char* name = "levenberg-marquardt";
  static constexpr bool runs_in_kernel = true;
  static constexpr int n = Problem::unknowns;
  /// In the memory of the place.
  using state = fit_state<n>;
  using totals = fit_sums<n>;
  using factored = step_from_factor<n, T>;

  Problem problem;
  state* s;
  fit_settings settings;

  struct evaluate {
    Problem problem;
    const state* s;
    WHILST_HD totals operator()(index_type i) const {
      dual<T, n> b[n];
      for (int j = 0; j < n; ++j) b[j] = dual<T, n>::variable(static_cast<T>(s->trial[j]), j);
      const dual<T, n> r = problem(i, b);
      double value = static_cast<double>(r.value), row[n];
      for (int j = 0; j < n; ++j) row[j] = static_cast<double>(r.gradient[j]);
      if (s->factored()) {
        value *= s->unit;
        s->to_basis(row);
      }
      totals share;
      share.value[0] = value * value;
      for (int j = 0; j < n; ++j) share.value[1 + j] = row[j] * value;
      for (int j = 0; j < n; ++j)
        for (int k = 0; k <= j; ++k) share.value[1 + n + packed_index(j, k)] = row[j] * row[k];
      return share;
    }
  };

  struct judge {
    state* s;
    fit_settings settings;

    WHILST_HD void operator()(const totals& at, loop_state& loop) const {
      state& now = *s;
      loop.complete_update();
      const bool at_limit = loop.iteration >= loop.limit;
      fit_answer answer;
      if (!now.factored()) answer = step_from_sums<n, T>::advance(now, at, settings, at_limit);
      if (now.factored() || answer.is_unsure) {
        state copy;  // what is passed by address cannot stay in registers
        copy.assign(now);
        const fit_answer better = factored::advance(copy, totals(at), fit_settings(settings), at_limit);
        now.assign(copy);
        answer = {better.verdict, answer.is_news || better.is_news};
      }
      if (answer.is_news) {
        loop.residual_norm = now.residual_norm();
        loop.record(loop.iteration, loop.residual_norm);
      }
      if (answer.verdict != reason::running) {
        loop.stop(answer.verdict);
      } else {
        loop.updating = now.asked == fit_point::trial;
      }
    }
  };

  template <class Run>
  WHILST_HD auto iterate(Run& run) const {
    return run.step("r and J at the trial point, next trial", problem.count(), evaluate{problem, s},
                    judge{s, settings});
  }
};

}  // namespace whilst
