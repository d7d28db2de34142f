#pragma once

#include <string_view>

#include "kernels/small_cholesky.hpp"
#include "whilst/control.hpp"
#include "whilst/dual.hpp"
#include "whilst/error.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// Tolerances of nonlinear least squares, dimensionless: no scaling of parameters or residuals changes what they mean.
/// J. J. More, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630 (1978).
struct least_squares_tolerances {
  /// Converged where the largest cosine of an angle between r and a column of J is no more.
  double gradient = 1e-13;
  /// Converged where a step is no longer than this times x, both measured by the scales of the parameters.
  double step = 1e-14;
  /// Converged where a step would reduce f by no more than this part of it. Whatever it is: where that part is lost in
  /// the rounding of f, steps are taken as long as each promises much less than the one before, and that is
  /// convergence, too.
  double function = 0;
  /// The first damping, in units of the diagonal of J' J: large, for a start that may be far off.
  double first_damping = 100;
};

/// Throws whilst::error on tolerances that cannot be meant; `doing` opens its message.
inline void check_tolerances(std::string_view doing, const least_squares_tolerances& t) {
  if (!(t.gradient >= 0 && t.step >= 0 && t.function >= 0 && t.first_damping > 0 && is_finite(t.first_damping)))
    throw error(doing, "a tolerance is negative or not a number, or the first damping is not above 0",
                "Give tolerances of 0 or more");
}

/// Levenberg-Marquardt for f(x) = 1/2 sum of r_i(x)^2 with a few unknowns, known when it is compiled: K. Madsen, H. B.
/// Nielsen, O. Tingleff, "Methods for non-linear least squares problems", IMM, DTU (2004), algorithm 3.16, with
/// Nielsen's damping, and scaled nearly as by More (1978): the damping of a parameter is in units of the largest
/// curvature seen in it, of which a tenth is forgotten in each iteration.
///
/// One step an iteration: residuals and Jacobian at the trial point, by dual numbers, as the sums that make J' J, J' r
/// and r' r; its finish accepts or rejects, tests, and solves for the next trial. So a rejected trial costs a Jacobian
/// that is not used, which is less than a second step would cost.
///
/// Problem: unknowns (a constant), count(), and operator()(i, b), residual i for n parameters b of any scalar type.
template <class T, class Problem>
struct levenberg_marquardt {
  static constexpr const char* name = "levenberg-marquardt";
  static constexpr bool runs_in_kernel = true;
  static constexpr int n = Problem::unknowns;
  static constexpr int triangle = packed_size(n);

  /// In the memory of the place. x is the best point so far, whatever became of the last trial.
  struct state {
    double x[n], trial[n];
    double f;                                 ///< 1/2 r' r at x
    double curvature[triangle], gradient[n];  ///< J' J and J' r at x
    double scale[n];                          ///< the diagonal of J' J, or 0.9 of what it was before
    double damping, growth;
    double predicted;     ///< by how much the model says that f falls at the trial
    double last_promise;  ///< the same for the trial before, where rounding hid what became of it; else infinite
    index_type accepted;
    int evaluated;  ///< whether f and what follows it belong to x yet
    least_squares_tolerances tolerances;
  };

  /// The state to begin with at x.
  WHILST_HD static state begin_at(const T* x, const least_squares_tolerances& tolerances) {
    state fresh{};
    for (int j = 0; j < n; ++j) fresh.x[j] = fresh.trial[j] = static_cast<double>(x[j]);
    fresh.damping = tolerances.first_damping;
    fresh.growth = 2;
    fresh.last_promise = HUGE_VAL;
    fresh.tolerances = tolerances;
    return fresh;
  }

  Problem problem;
  state* s;

  /// r' r, J' r and the triangle of J' J, one after the other.
  static constexpr int sums_wanted = 1 + n + triangle;
  using totals = sums<double, sums_wanted>;

  struct evaluate {
    Problem problem;
    const state* s;
    WHILST_HD totals operator()(index_type i) const {
      dual<T, n> b[n];
      for (int j = 0; j < n; ++j) b[j] = dual<T, n>::variable(static_cast<T>(s->trial[j]), j);
      const dual<T, n> r = problem(i, b);
      totals share;
      share.value[0] = static_cast<double>(r.value) * r.value;
      for (int j = 0; j < n; ++j) share.value[1 + j] = static_cast<double>(r.gradient[j]) * r.value;
      for (int j = 0; j < n; ++j)
        for (int k = 0; k <= j; ++k)
          share.value[1 + n + packed_index(j, k)] = static_cast<double>(r.gradient[j]) * r.gradient[k];
      return share;
    }
  };

  struct judge {
    state* s;
    /// How much of a scale outlives an iteration in which the curvature has fallen.
    static constexpr double memory_of_scales = 0.9;
    static constexpr double epsilon = sizeof(T) == 4 ? 1.2e-7 : 2.2e-16;

    WHILST_HD void operator()(const totals& at_trial, loop_state& loop) const {
      state& now = *s;
      const double f = 0.5 * at_trial[0];
      const bool first = !now.evaluated;
      if (first && !usable(at_trial)) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      loop.complete_update();
      const double gain = now.f - f, noise = rounding_of_f(now);
      const bool hidden = !first && now.predicted <= noise;
      if (first || (gain >= (hidden ? -noise : 0) && usable(at_trial))) {
        // The ratio of what was gained to what the model promised, where it can be told.
        const double ratio = first || hidden ? 1 : gain / now.predicted;
        now.last_promise = hidden ? now.predicted : HUGE_VAL;
        accept(now, at_trial, f);
        loop.record(loop.iteration, sqrt(2 * f));
        loop.residual_norm = sqrt(2 * f);
        if (!first) {
          const double t = 2 * ratio - 1;
          now.damping *= fmax(1.0 / 3, 1 - t * t * t);
          now.growth = 2;
        }
        if (flattest(now) <= now.tolerances.gradient) {
          loop.stop(reason::converged_gradient);
          return;
        }
      } else {
        now.damping *= now.growth;
        now.growth *= 2;
      }
      if (loop.iteration >= loop.limit) {
        loop.stop(reason::iteration_limit);
        return;
      }
      if (const reason verdict = choose_trial(now); verdict != reason::running) {
        loop.stop(verdict);
        return;
      }
      loop.updating = 1;
    }

    /// What rounding does to f: residuals are differences of numbers as large as J x, about.
    WHILST_HD static double rounding_of_f(const state& now) {
      double size = 0;
      for (int j = 0; j < n; ++j) size += now.curvature[packed_index(j, j)] * now.x[j] * now.x[j];
      const double of_r = 4 * epsilon * sqrt(size);
      return of_r * (sqrt(2 * now.f) + of_r) + 16 * epsilon * now.f;
    }
    WHILST_HD static bool usable(const totals& t) {
      double sum = 0;
      for (int k = 0; k < sums_wanted; ++k) sum += t[k] - t[k];
      return sum == 0;
    }
    WHILST_HD static void accept(state& now, const totals& t, double f) {
      now.f = f;
      for (int j = 0; j < n; ++j) {
        now.x[j] = now.trial[j];
        now.gradient[j] = t[1 + j];
        now.scale[j] = fmax(memory_of_scales * now.scale[j], t[1 + n + packed_index(j, j)]);
      }
      for (int k = 0; k < triangle; ++k) now.curvature[k] = t[1 + n + k];
      now.accepted += now.evaluated;
      now.evaluated = 1;
    }
    /// The largest cosine of an angle between r and a column of J; 0 where r is.
    WHILST_HD static double flattest(const state& now) {
      double largest = 0;
      for (int j = 0; j < n; ++j) {
        const double column = now.curvature[packed_index(j, j)];
        if (column > 0 && now.f > 0) largest = fmax(largest, fabs(now.gradient[j]) / sqrt(2 * column * now.f));
      }
      return largest;
    }

    /// Solves (J' J + damping D) h = -J' r, in units that make the diagonal ones; trial = x + h. A verdict where h is
    /// so short that it changes nothing.
    WHILST_HD static reason choose_trial(state& now) {
      constexpr int most_tries = 60;
      constexpr double least_pivot = 1e-15;
      double L[triangle], h[n], unit[n];
      for (int tries = 0;; ++tries) {
        for (int j = 0; j < n; ++j) {
          const double diagonal = now.curvature[packed_index(j, j)] + now.damping * now.scale[j];
          unit[j] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
        }
        for (int j = 0; j < n; ++j) {
          for (int k = 0; k < j; ++k) L[packed_index(j, k)] = now.curvature[packed_index(j, k)] * unit[j] * unit[k];
          L[packed_index(j, j)] = 1;
          h[j] = -now.gradient[j] * unit[j];
        }
        if (factor_cholesky<n>(L, least_pivot)) break;
        if (tries == most_tries || !is_finite(now.damping)) return reason::radius_too_small;
        now.damping *= now.growth;
        now.growth *= 2;
      }
      solve_cholesky<n>(L, h);
      double step = 0, size = 0, predicted = 0;
      for (int j = 0; j < n; ++j) {
        h[j] *= unit[j];
        predicted += 0.5 * h[j] * (now.damping * now.scale[j] * h[j] - now.gradient[j]);
        step += now.scale[j] * h[j] * h[j];
        size += now.scale[j] * now.x[j] * now.x[j];
        now.trial[j] = now.x[j] + h[j];
      }
      now.predicted = predicted;
      if (!is_finite(predicted)) return reason::radius_too_small;
      const double tolerance = now.tolerances.step;
      if (step <= tolerance * tolerance * size) return reason::converged_step;
      if (predicted <= now.tolerances.function * now.f || predicted > 0.9 * now.last_promise)
        return reason::converged_function;
      return reason::running;
    }
  };

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    run.step("r and J at the trial point, next trial", problem.count(), evaluate{problem, s}, judge{s});
  }
};

}  // namespace whilst
