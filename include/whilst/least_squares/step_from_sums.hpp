#pragma once

#include <limits>

#include "whilst/least_squares/fit_state.hpp"

namespace whilst {

/// Limits for scales and pivots of fits, in both forms.
template <int n, class T>
struct fit_limits {
  static constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  /// The fraction of a squared scale that survives an iteration in which the curvature fell.
  static constexpr double memory_of_scales = 0.9;
  /// For a matrix of products with a unit diagonal: with a smaller pivot its factor keeps fewer than 10 of 16 digits.
  static constexpr double least_pivot = 1e-6;
  static constexpr int most_tries = 60;
};

/// Levenberg-Marquardt steps from J' J and J' r, for problems where these suffice: no squares near the ends of the
/// range, no nearly dependent columns of J, no bounds. step_from_factor handles all others.
template <int n, class T>
struct step_from_sums {
  using state = fit_state<n>;
  using limits = fit_limits<n, T>;

  WHILST_HD static fit_answer advance(state& now, const fit_sums<n>& at, const fit_settings& settings, bool at_limit) {
    fit_answer answer;
    const double f = 0.5 * at[0];
    const bool first = now.asked == fit_point::start;
    const bool usable = all_finite(at.value, 1 + n + packed_size(n)) && now.template trial_is_finite<T>();
    if (first || now.accepts(f, usable, noise_of(now))) {
      if (!first) now.move_to_trial();
      take_in(now, at, f);
      answer.is_unsure = settings.bounded() || !in_range(now);
      answer.is_news = !first || !answer.is_unsure;  // out of range f may be unknown yet
      if (answer.is_news) now.asked = fit_point::trial;
    }
    if (!answer.is_unsure) answer.verdict = propose(now, settings.tolerances, at_limit, answer.is_unsure);
    return answer;
  }

 private:
  WHILST_HD static void take_in(state& now, const fit_sums<n>& at, double f) {
    now.f = f;
    for (int j = 0; j < n; ++j) {
      now.right[j] = at[1 + j];
      now.scale[j] = fmax(limits::memory_of_scales * now.scale[j], product_in<n>(at, j, j));
    }
    for (int k = 0; k < packed_size(n); ++k) now.matrix[k] = at[1 + n + k];
  }
  /// Whether there is room for the numbers to grow and shrink as they do in a fit, and to be multiplied.
  WHILST_HD static bool in_range(const state& now) {
    constexpr double least = 0x1p-400, most = 0x1p400;
    bool inside = now.f > least && now.f < most;
    for (int j = 0; j < n; ++j) {
      const double column = now.matrix[packed_index(j, j)];
      inside &= column > least && column < most;
    }
    return inside;
  }
  WHILST_HD static double noise_of(const state& now) {
    double size = 0;
    for (int j = 0; j < n; ++j) size += now.matrix[packed_index(j, j)] * now.x[j] * now.x[j];
    return rounding_of_fit(now.f, sqrt(size), limits::epsilon);
  }
  /// Whether no cosine of an angle between r and a column of J is larger.
  WHILST_HD static bool is_flat(const state& now, double tolerance) {
    bool flat = true;
    for (int j = 0; j < n; ++j)
      flat &= now.right[j] * now.right[j] <= tolerance * tolerance * 2 * now.f * now.matrix[packed_index(j, j)];
    return flat;
  }

  /// How much steps along the columns of J, one by one, would reduce f.
  WHILST_HD static double promise_of_descent(const state& now) {
    double promise = 0;
    for (int j = 0; j < n; ++j) {
      const double column = now.matrix[packed_index(j, j)];
      if (column > 0) promise += 0.5 * now.right[j] * now.right[j] / column;
    }
    return promise;
  }

  struct model_step {
    double h[n], predicted, step, size;  ///< step and size: the squares of |D h| and |D x|, D of this x alone
  };
  /// Solves (J' J + damping D^2) h = -J' r, in units that make the diagonal one. False if that loses too many digits.
  WHILST_HD static bool solve(const state& now, double damping, model_step& found) {
    double L[packed_size(n)], unit[n];
    for (int j = 0; j < n; ++j) {
      const double diagonal = now.matrix[packed_index(j, j)] + damping * now.scale[j];
      unit[j] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
    }
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < j; ++k) L[packed_index(j, k)] = now.matrix[packed_index(j, k)] * unit[j] * unit[k];
      L[packed_index(j, j)] = 1;
      found.h[j] = -now.right[j] * unit[j];
    }
    if (!factor_cholesky<n>(L, limits::least_pivot)) return false;
    solve_cholesky<n>(L, found.h);
    found.predicted = found.step = found.size = 0;
    for (int j = 0; j < n; ++j) {
      const double h = found.h[j] *= unit[j];
      found.predicted += 0.5 * h * (damping * now.scale[j] * h - now.right[j]);
      found.step += now.matrix[packed_index(j, j)] * h * h;
      found.size += now.matrix[packed_index(j, j)] * now.x[j] * now.x[j];
    }
    return true;
  }

  /// The next trial, or a verdict. Apparent convergence is checked without damping, which makes steps short and
  /// promises small wherever x is; that also shows whether J' J has enough digits to decide.
  WHILST_HD static reason propose(state& now, const least_squares_tolerances& tolerances, bool at_limit, bool& unsure) {
    const bool flat = is_flat(now, tolerances.gradient);
    if (at_limit && !flat) return reason::iteration_limit;
    const double shortest = tolerances.step * tolerances.step;
    bool undamped = flat, looked = false, stalled = false;
    for (int tries = 0; tries < limits::most_tries; ++tries) {
      model_step found;
      unsure = !solve(now, undamped ? 0 : now.damping, found);
      if (unsure) return reason::running;
      const bool is_short = found.step <= shortest * found.size;
      if (undamped) {
        if (flat) return reason::converged_gradient;
        if (is_short) return reason::converged_step;
        const double noise = noise_of(now);
        if (found.predicted <= fmax(noise, tolerances.function * now.f)) return reason::converged_function;
        if (stalled && now.is_hemmed_in() && promise_of_descent(now) <= noise) return reason::converged_function;
        undamped = false;
        looked = true;
        continue;
      }
      if (!is_finite(found.predicted)) return reason::radius_too_small;
      if (now.is_first_trial() && found.size > 0 &&
          found.step > tolerances.first_step * tolerances.first_step * found.size) {
        now.damping *= 4;
        continue;
      }
      if (!looked &&
          (is_short || found.predicted <= tolerances.function * now.f || found.predicted > 0.9 * now.last_promise)) {
        undamped = true;
        continue;
      }
      if (is_short) return reason::radius_too_small;
      now.predicted = found.predicted;
      for (int j = 0; j < n; ++j) now.trial[j] = now.x[j] + found.h[j];
      return reason::running;
    }
    return reason::radius_too_small;
  }
};

}  // namespace whilst
