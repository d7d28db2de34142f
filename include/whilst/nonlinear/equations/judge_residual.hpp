#pragma once

#include "whilst/nonlinear/descent/descent.hpp"

namespace whilst {

/// What a step must do to ||F||.
enum class residual_rule {
  /// Reduce it: ||F(x + t d)|| <= (1 - 1e-4 t (1 - eta)) ||F||, where eta ||F|| is what the linear model leaves of it.
  /// S. C. Eisenstat, H. F. Walker, "Globally convergent inexact Newton methods", SIAM J. Optim. 4 (1994), algorithm
  /// INB. If no length does, the solve ends: no better direction is available.
  reduce,
  /// Not raise it beyond twice the lowest since the method's last restart: quasi-Newton steps learn from a worse point,
  /// and a search that forbids it takes many more. It tries a few lengths along the method's proposal, then restarts
  /// along -F, requiring ||F(x - t F)|| <= (1 + e_k - 1e-4 t^2) ||F||, where the sum of e_k over all steps is finite
  /// and some length passes: D.-H. Li, M. Fukushima, "A derivative-free line search and global convergence of
  /// Broyden-like method for nonlinear equations", Optim. Methods Softw. 13 (2000); relative to ||F||.
  hardly_raise
};

/// The full step d, for methods under the second rule: its `slope` is minus the square of the lowest ||F||.
WHILST_HD inline proposal whole_step(const accepted_step& step) {
  const double norm = sqrt(step.gradient_square), square = norm * norm;  // rounded as the norm that is judged
  return {step.first ? -square : fmax(-square, step.slope), 1};
}

/// Lets the line search judge a trial point of a system of equations, whose descent_state holds F as the gradient and
/// 1/2 ||F||^2 as the value. Only shortens the step, by values alone.
template <residual_rule rule>
struct judge_residual {
  static constexpr bool may_rise = rule == residual_rule::hardly_raise;
  descent_record* records;  ///< as many as the loop's history holds
  const descent_settings& settings;

  WHILST_HD void operator()(descent_state& now, const trial_sums& total, loop_state& loop) const {
    const double norm = sqrt(total.gg);
    now.evaluations += 1;
    now.accepted = now.was_lowest = 0;
    if (now.first) {
      now.first_gradient_norm = now.gradient_norm = norm;
      if (judge_trial{records, settings}.changes_magnification(now, total)) return;
      if (!usable(total)) {
        loop.stop(reason::nan_or_infinity);
      } else {
        accept(now, norm, total, loop);
      }
      return;
    }
    line_search& search = now.search;
    const bool is_usable = usable(total);
    search.trials += 1;
    if (is_usable && suffices(now, norm, loop)) {
      accept(now, norm, total, loop);
      return;
    }
    const bool proposed = rule == residual_rule::hardly_raise && !now.steepest;
    if (search.trials < (proposed ? most_proposed : settings.search.most_trials)) {
      search.step = search.backtracking.next(search.origin, {search.step, 0.5 * total.gg, 0}, is_usable);
    } else if (proposed) {
      now.restarts += 1;
      begin_search_along_gradient(now, settings.search);
    } else {
      // If full steps are within rounding of x, or of F because of it, x is as good as it gets. In float the root would
      // be 1e-3, a step that is not negligible.
      const double hidden = fmin(sqrt(settings.search.rounding), 1e-4);
      const bool is_rounding = sqrt(total.dd) <= hidden * sqrt(total.xx);
      loop.stop(is_rounding ? reason::attainable_accuracy : reason::line_search_failed);
    }
  }

  /// The value that a search from the trial point would begin with.
  WHILST_HD static double value_of(const trial_sums& total) { return 0.5 * total.gg; }

 private:
  /// How many lengths along the method's proposal may do worse before it restarts.
  static constexpr int most_proposed = 4;

  /// If x is not finite, F'x is not, even if F is.
  WHILST_HD static bool usable(const trial_sums& total) { return is_finite(total.gg) && is_finite(total.gx); }

  WHILST_HD bool suffices(const descent_state& now, double norm, const loop_state& loop) const {
    const double step = now.search.step, before = now.gradient_norm, demand = settings.search.sufficient_decrease;
    if (rule == residual_rule::reduce) {
      const double promised = -now.slope / (before * before);
      return norm < before && norm <= (1 - demand * step * promised) * before;
    }
    constexpr double most_growth = 2;
    if (!now.steepest) return norm <= most_growth * sqrt(-now.slope);
    const auto k = static_cast<double>(loop.iteration);
    return norm <= (1 + 1 / ((1 + k) * (1 + k)) - demand * step * step) * before;
  }

  WHILST_HD void accept(descent_state& now, double norm, const trial_sums& total, loop_state& loop) const {
    const descent_tolerances& t = settings.tolerances;
    constexpr int most_idle = 10;
    const double size = sqrt(total.xx);
    const bool lower = now.first || norm <= now.lowest_norm;
    now.was_lowest = now.is_lowest && !lower;
    now.is_lowest = lower;
    if (lower) now.lowest_norm = norm;
    now.accepted = 1;
    now.step_length = now.first ? 0 : now.search.step * sqrt(total.dd);
    now.idle = now.first || now.step_length > settings.search.rounding * size ? 0 : now.idle + 1;
    now.value = value_of(total);
    now.gradient_norm = norm;
    loop.complete_update();
    // ||F||^2 is magnified twice; the square of the factor may overflow.
    judge_trial{records, settings}.note(now, loop, now.value * now.reduction * now.reduction);
    const reason verdict = now.norm_of_gradient() <= t.gradient                    ? reason::converged_atol
                           : norm <= t.relative_gradient * now.first_gradient_norm ? reason::converged_rtol
                           : !now.first && t.step > 0 && is_finite(size) && now.step_length <= t.step * size
                               ? reason::converged_step
                           : now.idle >= most_idle        ? reason::attainable_accuracy
                           : loop.iteration >= loop.limit ? reason::iteration_limit
                                                          : reason::running;
    if (verdict != reason::running) {
      loop.stop(verdict);
    } else {
      loop.updating = 1;
    }
  }
};

}  // namespace whilst
