#pragma once

#include <cmath>
#include <vector>

#include "whilst/least_squares/step_from_factor.hpp"

namespace whilst {

/// See least_squares_report.
struct spread_of_fit {
  std::vector<double> covariance, standard_errors;
};

/// s^2 (J' J)^-1 at the x of a fit, row by row, and the roots of its diagonal, free of underflow and overflow in
/// squares; on the host. The bounds are null if there are none.
template <int n, class T>
spread_of_fit estimate_spread(const fit_state<n>& state, index_type residuals, const double* lower,
                              const double* upper) {
  using factored = step_from_factor<n, T>;
  if (state.asked != fit_point::trial) return {};  // not evaluated yet, or stopped before the factor was good
  fit_state<n> at = state;
  if (!at.factored() && !factored::factor_plain(at)) return {};
  bool held[n];
  factored::find_held(at, lower, upper, held);
  const folded_rows<n> rows = factored::without_held(at, held, at.right);
  index_type freedom = residuals;
  for (int j = 0; j < n; ++j) {
    if (held[j]) continue;
    freedom -= 1;
    const double length = factored::column_length(at, j);
    // Twice, since the fold rounds too.
    if (!(length > 0) || !(rows.R[packed_index(j, j)] > 2 * factored::rounding_of_column(length))) return {};
  }
  if (freedom < 1) return {};

  // R^-1, column by column, times the standard deviation of a residual.
  const double deviation = at.residual_norm() / std::sqrt(static_cast<double>(freedom));
  double inverse[n][n] = {};
  for (int k = 0; k < n; ++k) {
    if (held[k]) continue;
    inverse[k][k] = deviation / rows.R[packed_index(k, k)];
    for (int i = k - 1; i >= 0; --i) {
      double sum = 0;
      for (int j = i + 1; j <= k; ++j) sum += rows.R[packed_index(j, i)] * inverse[j][k];
      inverse[i][k] = -sum / rows.R[packed_index(i, i)];
    }
  }
  spread_of_fit found;
  for (int i = 0; i < n; ++i) {
    double error = 0;
    for (int k = 0; k < n; ++k) error = std::hypot(error, inverse[i][k]);
    found.standard_errors.push_back(error);
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += inverse[i][k] * inverse[j][k];
      found.covariance.push_back(sum);
    }
  }
  return found;
}

}  // namespace whilst
