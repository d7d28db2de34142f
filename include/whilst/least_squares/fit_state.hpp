#pragma once

#include "whilst/basics/views.hpp"
#include "whilst/dense/small_cholesky.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/least_squares/least_squares_tolerances.hpp"

namespace whilst {

/// The settings of a fit. The bounds, in memory of the place, are both set or both null; entries may be infinite.
struct fit_settings {
  least_squares_tolerances tolerances;
  const double *lower = nullptr, *upper = nullptr;

  WHILST_HD bool bounded() const { return lower != nullptr; }
};

/// Where residuals are evaluated next: at the start, there again in other units, at a trial point, or again in another
/// basis at an x whose f is known.
enum class fit_point : int { start, start_again, trial, same };

/// The state of a fit of n unknowns between two evaluations. x is the best point so far, whatever happened to the last
/// trial.
///
/// It is kept in one of two forms. Plain: the sums of products J' J and J' r, which are cheap, and lose twice as many
/// digits as J has. Factored: the triangle of J = Q L' and Q' r, as a QR factorisation gives them; see
/// step_from_factor.
template <int n>
struct fit_state {
  double x[n], trial[n];
  double f;                       ///< 1/2 r' r at x
  double matrix[packed_size(n)];  ///< J' J, or L; for a zero column, L has only a negative pivot, whose size counts
  double right[n];                ///< J' r, or Q' r
  double scale[n];                ///< per parameter: the diagonal of J' J, or 0.9 of its last value; factored: its root
  double damping, growth;
  double predicted;     ///< the decrease of f at the trial, according to the model
  double last_promise;  ///< the same for the previous trial, if rounding hid its actual gain; else infinite
  double unit;          ///< a power of two that multiplies r in all this; 1 in the plain form
  index_type accepted;
  int bases;  ///< 0 in the plain form, else 1 plus the evaluations at x made for a better basis
  fit_point asked;

  WHILST_HD bool factored() const { return bases > 0; }
  /// Whether f belongs to x yet.
  WHILST_HD bool evaluated() const { return asked == fit_point::trial || asked == fit_point::same; }
  /// Row j of J as L^-1 j. Divides by the pivots: with reciprocals the code is so short that GPUs would not branch
  /// around it.
  WHILST_HD void to_basis(double (&row)[n]) const {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) row[i] -= matrix[packed_index(i, k)] * row[k];
      row[i] /= fabs(matrix[packed_index(i, i)]);
    }
  }

  /// |r| at x, which does not underflow or overflow where its square would.
  WHILST_HD double residual_norm() const { return sqrt(2 * f) / unit; }
  WHILST_HD double value() const { return f / unit / unit; }
  /// For a proposal after one whose gain rounding hid: whether less damping has been tried since, and increased f. Then
  /// the undamped model's promise is worthless, as at a minimum where J is singular and r is not 0.
  WHILST_HD bool is_hemmed_in() const { return growth > 2; }
  WHILST_HD bool is_first_trial() const { return accepted == 0 && growth == 2; }

  /// The initial state at x, or at the nearest point of the box.
  template <class T>
  WHILST_HD static fit_state begin_at(const T* x, const fit_settings& settings) {
    fit_state fresh{};
    for (int j = 0; j < n; ++j) {
      double at = static_cast<double>(x[j]);
      if (settings.bounded())
        at = at < settings.lower[j] ? settings.lower[j] : at > settings.upper[j] ? settings.upper[j] : at;
      fresh.x[j] = fresh.trial[j] = at;
    }
    fresh.damping = settings.tolerances.first_damping;
    fresh.growth = 2;
    fresh.last_promise = HUGE_VAL;
    fresh.unit = 1;
    fresh.asked = fit_point::start;
    return fresh;
  }

  /// Entry by entry, so that compilers see that the state need not be in memory.
  WHILST_HD void assign(const fit_state& other) {
    for (int j = 0; j < n; ++j) {
      x[j] = other.x[j];
      trial[j] = other.trial[j];
      right[j] = other.right[j];
      scale[j] = other.scale[j];
    }
    for (int k = 0; k < packed_size(n); ++k) matrix[k] = other.matrix[k];
    f = other.f;
    damping = other.damping;
    growth = other.growth;
    predicted = other.predicted;
    last_promise = other.last_promise;
    unit = other.unit;
    accepted = other.accepted;
    bases = other.bases;
    asked = other.asked;
  }

  /// Accepts or rejects the trial, where f is `f_there`, and changes the damping by Nielsen's rule. `noise`: how much
  /// rounding may have changed f.
  WHILST_HD bool accepts(double f_there, bool usable, double noise) {
    const double gain = f - f_there;
    const bool hidden = predicted <= noise;
    if (!usable || !(gain >= (hidden ? -noise : 0))) {
      damping *= growth;
      growth *= 2;
      return false;
    }
    // The ratio of the gain to the model's promise, if rounding does not hide it.
    const double ratio = hidden ? 1 : gain / predicted, t = 2 * ratio - 1;
    last_promise = hidden ? predicted : HUGE_VAL;
    damping *= fmax(1.0 / 3, 1 - t * t * t);
    growth = 2;
    return true;
  }
  /// Whether the trial is finite in T, in which residuals are evaluated and parameters handed back: r may well be,
  /// where a parameter has overflowed.
  template <class T>
  WHILST_HD bool trial_is_finite() const {
    T sum = 0;
    for (int j = 0; j < n; ++j) sum += static_cast<T>(trial[j]) - static_cast<T>(trial[j]);
    return sum == 0;
  }
  WHILST_HD void move_to_trial() {
    for (int j = 0; j < n; ++j) x[j] = trial[j];
    accepted += 1;
  }
};

/// The sums of an evaluation: r' r, J' r and the triangle of J' J, consecutively; r and J in the basis and the unit of
/// the state.
template <int n>
using fit_sums = sums<double, 1 + n + packed_size(n)>;
template <int n>
WHILST_HD double product_in(const fit_sums<n>& at, int j, int k) {
  return at[1 + n + packed_index(j, k)];
}
WHILST_HD inline bool all_finite(const double* values, int count) {
  double sum = 0;
  for (int k = 0; k < count; ++k) sum += values[k] - values[k];
  return sum == 0;
}

/// The result of an evaluation.
struct fit_answer {
  whilst::reason verdict = reason::running;
  bool is_news = false;    ///< x is a new point, or its f is known for the first time
  bool is_unsure = false;  ///< plain form: sums of products are not accurate enough here
};

/// The effect of rounding on f: residuals are differences of numbers about as large as J x, whose length is `size`.
WHILST_HD inline double rounding_of_fit(double f, double size, double epsilon) {
  const double of_r = 4 * epsilon * size;
  return of_r * (sqrt(2 * f) + of_r) + 16 * epsilon * f;
}

}  // namespace whilst
