#pragma once

#include "whilst/least_squares/step_from_sums.hpp"

namespace whilst {

/// Levenberg-Marquardt steps from the triangle of J = Q L' and from c = Q' r, as accurate as a QR factorisation, for
/// numbers of any scale, and within bounds.
///
/// Q is never formed: residuals are evaluated in the basis that L at x defines, a row j of J as L^-1 j. The sums of
/// products are then those of vectors that are nearly orthonormal, which lose no digits; their Cholesky factor U makes
/// L U the triangle of the new point. If they were far from orthonormal, residuals are evaluated again at the same
/// point, in the better basis: T. Fukaya, Y. Nakatsukasa, Y. Yanagisawa, Y. Yamamoto, "CholeskyQR2: a simple and
/// communication-avoiding algorithm for computing a tall-skinny QR factorization on a large-scale parallel system",
/// ScalA (2014), starting from the triangle of the last evaluation.
///
/// A column that depends on those before it to working precision has no direction of its own: its entry of c is 0, and
/// its pivot is raised to the rounding level.
template <int n, class T>
struct step_from_factor {
  using state = fit_state<n>;
  using limits = fit_limits<n, T>;

  /// A fit that leaves the plain form starts from its sums. Out of line: few fits need it, and the others must not pay
  /// for its registers.
  WHILST_NOINLINE WHILST_HD static fit_answer advance(state& now, const fit_sums<n>& at, const fit_settings& settings,
                                                      bool at_limit) {
    constexpr int most_bases = 8;
    const bool known = now.evaluated();
    fit_answer answer;
    bool is_sure = true;
    if (!now.factored()) {
      const fit_sums<n> plain = sums_of(now);
      if (is_nan(plain)) return {.verdict = reason::nan_or_infinity};
      now.bases = 1;
      const bool in_range = begin_basis(now, plain);
      is_sure = in_range && take_in(now, plain);
      answer.is_news = in_range && !known;
    } else if (now.asked == fit_point::trial) {
      answer.is_news = now.accepts(0.5 * at[0], usable(at) && now.template trial_is_finite<T>(), noise_of(now));
      if (answer.is_news) {
        now.move_to_trial();
        now.bases = 1;
        is_sure = take_in(now, at);
      }
    } else {
      if (!usable(at)) return {.verdict = known ? reason::breakdown : reason::nan_or_infinity};
      is_sure = take_in(now, at);
      answer.is_news = !known;
    }
    if (!is_sure && now.bases < most_bases) {
      now.bases += 1;
      now.asked = known || answer.is_news ? fit_point::same : fit_point::start_again;
      for (int j = 0; j < n; ++j) now.trial[j] = now.x[j];
      return answer;
    }
    now.asked = fit_point::trial;
    answer.verdict = propose(now, settings, at_limit);
    return answer;
  }

  /// The factor from the sums of the plain form; on the host. False if that loses too many digits, or if the sums are
  /// out of range.
  static bool factor_plain(state& now) {
    const fit_sums<n> plain = sums_of(now);
    now.bases = 1;
    return begin_basis(now, plain) && take_in(now, plain);
  }

  /// The parameters held at a bound because a descent step would leave it.
  WHILST_HD static void find_held(const state& now, const double* lower, const double* upper, bool (&held)[n]) {
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) {
      held[j] = false;
      if (!lower) continue;
      double slope = 0;
      WHILST_ROLLED
      for (int i = 0; i <= j; ++i) slope += entry(now, j, i) * now.right[i];
      held[j] = !(lower[j] < upper[j]) || (now.x[j] <= lower[j] && slope > 0) || (now.x[j] >= upper[j] && slope < 0);
    }
  }
  /// The triangle of the columns not held, with c alongside; a held column has a 1 on the diagonal.
  WHILST_NOINLINE WHILST_HD static folded_rows<n> without_held(const state& now, const bool (&held)[n],
                                                               const double (&c)[n]) {
    folded_rows<n> rows;
    WHILST_ROLLED
    for (int i = 0; i < 2 * n; ++i) {
      double row[n] = {};
      WHILST_ROLLED
      for (int j = i; j < n; ++j) row[j] = held[j] ? 0 : entry(now, j, i);
      if (i >= n) row[i - n] = held[i - n];
      rows.add(row, i < n ? c[i] : 0);
    }
    return rows;
  }
  /// The length of column j of J.
  WHILST_NOINLINE WHILST_HD static double column_length(const state& now, int j) {
    if (now.matrix[packed_index(j, j)] < 0) return 0;
    double length = 0;
    WHILST_ROLLED
    for (int i = 0; i <= j; ++i) length = hypot(length, entry(now, j, i));
    return length;
  }
  /// The pivot that rounding alone may produce in a column of this length.
  WHILST_HD static double rounding_of_column(double length) {
    constexpr double smallest = 0x1p-1022;
    return fmax(16 * n * limits::epsilon * length, smallest);
  }

 private:
  static constexpr double largest_unit = 0x1p900, least_square = 0x1p-400, most_square = 0x1p400;

  WHILST_HD static double entry(const state& now, int i, int j) {
    const double stored = now.matrix[packed_index(i, j)];
    return i == j ? fabs(stored) : stored;
  }
  WHILST_HD static bool usable(const fit_sums<n>& at) { return all_finite(at.value, 1 + n + packed_size(n)); }
  WHILST_HD static bool is_nan(const fit_sums<n>& at) {
    bool nan = at[0] != at[0];
    for (int j = 0; j < n; ++j) nan |= product_in<n>(at, j, j) != product_in<n>(at, j, j);
    return nan;
  }
  WHILST_HD static fit_sums<n> sums_of(const state& plain) {
    fit_sums<n> at;
    at.value[0] = 2 * plain.f;
    for (int j = 0; j < n; ++j) at.value[1 + j] = plain.right[j];
    for (int k = 0; k < packed_size(n); ++k) at.value[1 + n + k] = plain.matrix[k];
    return at;
  }
  /// Sets the basis and the unit of the plain form's sums, unless these are out of range: such squares say nothing
  /// else, and residuals are evaluated again in units that bring them into range. Returns whether they are in range.
  WHILST_HD static bool begin_basis(state& now, const fit_sums<n>& plain) {
    now.unit = now.f < least_square ? 0x1p500 : now.f > most_square ? 0x1p-600 : 1;
    bool in_range = now.unit == 1;
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) {
      WHILST_ROLLED
      for (int i = 0; i < j; ++i) now.matrix[packed_index(j, i)] = 0;
      const double square = product_in<n>(plain, j, j);
      const double length = square < least_square ? 0x1p-700 : square > most_square ? 0x1p600 : 1;
      now.matrix[packed_index(j, j)] = length;
      now.scale[j] = length == 1 ? sqrt(now.scale[j]) : 0;
      in_range &= length == 1;
    }
    return in_range;
  }

  /// Takes in the sums at x. Returns whether they need no better basis.
  WHILST_HD static bool take_in(state& now, const fit_sums<n>& at) {
    now.f = 0.5 * at[0];
    if (now.f == 0 && now.unit < largest_unit) {  // is r zero, or only its square?
      now.unit = fmin(now.unit * 0x1p500, largest_unit);
      return false;
    }
    const bool is_sure = renew_factor(now, at);
    rescale(now);
    return is_sure;
  }
  WHILST_HD static bool renew_factor(state& now, const fit_sums<n>& at) {
    constexpr double raised = 1e-14;  // above what rounding does to a pivot of 1
    double length[n], U[packed_size(n)], L[packed_size(n)], c[n];
    bool depends[n], is_sure = true;
    WHILST_ROLLED
    for (int k = 0; k < n; ++k) {
      length[k] = sqrt(product_in<n>(at, k, k));
      const bool is_vague = is_square_lost(at, k);
      double* const row = U + packed_index(k, 0);  // of the factor, in units of the lengths
      const double unit = length[k] > 0 ? 1 / length[k] : 0;
      double pivot = 1, right = at[1 + k] * unit;
      WHILST_ROLLED
      for (int j = 0; j < k; ++j) {
        double sum = length[j] > 0 ? product_in<n>(at, k, j) * unit / length[j] : 0;
        WHILST_ROLLED
        for (int i = 0; i < j; ++i) sum -= row[i] * U[packed_index(j, i)];
        row[j] = depends[j] ? 0 : sum / U[packed_index(j, j)];
        pivot -= row[j] * row[j];
        right -= row[j] * c[j];
      }
      row[k] = sqrt(fmax(pivot, raised));
      double size = 0;
      WHILST_ROLLED
      for (int j = 0; j <= k; ++j) {
        double sum = 0;
        WHILST_ROLLED
        for (int i = j; i <= k; ++i) sum += entry(now, k, i) * (length[i] * U[packed_index(i, j)]);
        L[packed_index(k, j)] = j < k && depends[j] ? 0 : sum;
        size = hypot(size, L[packed_index(k, j)]);
      }
      double& diagonal = L[packed_index(k, k)];
      const double rounding = rounding_of_column(size);
      depends[k] = !(diagonal > rounding);
      if (depends[k]) diagonal = size > 0 ? rounding : is_vague ? -0x1p-700 : -1;
      c[k] = depends[k] ? 0 : right / row[k];
      is_sure &= !is_vague && (depends[k] || pivot >= limits::least_pivot);
      now.scale[k] = fmax(sqrt(limits::memory_of_scales) * now.scale[k], size);
    }
    for (int k = 0; k < packed_size(n); ++k) now.matrix[k] = L[k];
    for (int k = 0; k < n; ++k) now.right[k] = c[k];
    return is_sure;
  }
  /// Whether column k is not zero, but its square is, or has lost digits: as of one that was zero until this point.
  WHILST_HD static bool is_square_lost(const fit_sums<n>& at, int k) {
    const double square = product_in<n>(at, k, k);
    bool is_there = square > 0 || at[1 + k] != 0;
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) is_there |= j != k && (j < k ? product_in<n>(at, k, j) : product_in<n>(at, j, k)) != 0;
    return is_there && square < 0x1p-960;
  }
  /// Chooses a unit in which f is near 1.
  WHILST_HD static void rescale(state& now) {
    if (!(now.f > 0) || (now.f > 0x1p-200 && now.f < 0x1p200)) return;
    const double wanted = now.unit * ldexp(1.0, -ilogb(sqrt(now.f)));
    const double factor = fmin(wanted, largest_unit) / now.unit;
    now.unit *= factor;
    now.f *= factor * factor;
    now.last_promise *= factor * factor;
    for (int j = 0; j < n; ++j) now.right[j] *= factor;
  }
  WHILST_NOINLINE WHILST_HD static double noise_of(const state& now) {
    double size = 0;
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) size = hypot(size, column_length(now, j) * now.x[j]);
    return fmin(rounding_of_fit(now.f, size * now.unit, limits::epsilon), now.f);
  }

  /// How much steps along the columns of J not held, one by one, would reduce f.
  WHILST_HD static double promise_of_descent(const state& now, const bool (&held)[n]) {
    double promise = 0;
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) {
      const double length = column_length(now, j);
      if (held[j] || !(length > 0)) continue;
      double slope = 0;
      WHILST_ROLLED
      for (int i = 0; i <= j; ++i) slope += entry(now, j, i) / length * now.right[i];
      promise += 0.5 * slope * slope;
    }
    return promise;
  }

  struct model_step {
    double trial[n], predicted, step, size;  ///< step and size: |D h| and |D x|, D of this x alone
  };
  /// The step from x with this damping. Parameters that would leave their bounds stop there and are held, and the
  /// others are solved for again.
  WHILST_NOINLINE WHILST_HD static model_step solve(const state& now, const fit_settings& settings,
                                                    const bool (&held)[n], double damping) {
    bool fixed[n];
    double h[n], moved[n] = {};  // h in the unit of r
    for (int j = 0; j < n; ++j) fixed[j] = held[j];
    for (bool again = true; again;) {
      double c[n];
      WHILST_ROLLED
      for (int i = 0; i < n; ++i) {
        c[i] = now.right[i];
        WHILST_ROLLED
        for (int j = i; j < n; ++j) c[i] += entry(now, j, i) * moved[j] * now.unit;
      }
      folded_rows<n> rows = without_held(now, fixed, c);
      WHILST_ROLLED
      for (int j = 0; j < n; ++j) {
        double row[n] = {};
        row[j] = fixed[j] ? 0 : sqrt(damping) * now.scale[j];
        rows.add(row, 0);
      }
      rows.solve(h);
      again = false;
      WHILST_ROLLED
      for (int j = 0; j < n; ++j) {
        if (fixed[j]) continue;
        if (!settings.bounded()) continue;
        const double there = now.x[j] + h[j] / now.unit;
        if (!(there < settings.lower[j] || there > settings.upper[j])) continue;
        moved[j] = (there < settings.lower[j] ? settings.lower[j] : settings.upper[j]) - now.x[j];
        fixed[j] = again = true;
      }
    }
    model_step found{};
    WHILST_ROLLED
    for (int j = 0; j < n; ++j) {
      if (fixed[j]) h[j] = moved[j] * now.unit;
      const double length = column_length(now, j);
      found.step = hypot(found.step, length * h[j]);  // not of h itself, which may underflow
      found.size = hypot(found.size, length * now.x[j]);
      found.trial[j] = now.x[j] + h[j] / now.unit;
      if (settings.bounded()) found.trial[j] = fmin(fmax(found.trial[j], settings.lower[j]), settings.upper[j]);
    }
    found.step /= now.unit;
    WHILST_ROLLED
    for (int i = 0; i < n; ++i) {
      double change = 0;  // of entry i of c
      WHILST_ROLLED
      for (int j = i; j < n; ++j) change += entry(now, j, i) * h[j];
      found.predicted -= change * (now.right[i] + 0.5 * change);
    }
    return found;
  }

  /// The next trial, or a verdict, which is that of the undamped step.
  WHILST_HD static reason propose(state& now, const fit_settings& settings, bool at_limit) {
    const least_squares_tolerances& tolerances = settings.tolerances;
    bool held[n];
    find_held(now, settings.lower, settings.upper, held);
    const folded_rows<n> rows = without_held(now, held, now.right);
    double slope = 0;
    for (int j = 0; j < n; ++j) slope = hypot(slope, rows.right[j]);
    if (slope <= tolerances.gradient * sqrt(2 * now.f)) return reason::converged_gradient;
    if (at_limit) return reason::iteration_limit;
    const double promise = 0.5 * slope * slope;  // of the undamped step without bounds
    if (promise <= tolerances.function * now.f) return reason::converged_function;
    const model_step undamped = solve(now, {}, held, 0);
    if (is_finite(undamped.step) && undamped.step <= tolerances.step * undamped.size) return reason::converged_step;
    for (int tries = 0; tries < limits::most_tries; ++tries) {
      const model_step found = solve(now, settings, held, now.damping);
      if (!is_finite(found.predicted)) break;
      const bool is_long = now.is_first_trial() && found.size > 0 && found.step > tolerances.first_step * found.size;
      if (is_long || !(found.predicted > 0)) {
        now.damping *= 4;
        continue;
      }
      if (found.step <= tolerances.step * found.size) break;
      if (found.predicted > 0.9 * now.last_promise) {
        const double least = now.is_hemmed_in() ? fmin(promise, promise_of_descent(now, held)) : promise;
        if (least <= noise_of(now)) return reason::converged_function;
      }
      now.predicted = found.predicted;
      for (int j = 0; j < n; ++j) now.trial[j] = found.trial[j];
      return reason::running;
    }
    return reason::radius_too_small;
  }
};

}  // namespace whilst
