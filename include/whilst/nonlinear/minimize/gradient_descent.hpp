#pragma once

#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// Gradient descent with step lengths from the last step's curvature: J. Barzilai and J. M. Borwein, "Two-point step
/// size gradient methods", IMA J. Numer. Anal. 8 (1988), the longer of their two lengths, as the line search's first
/// trial.
template <class T>
struct gradient_descent {
  static constexpr const char* name = "gradient-descent";
  descent_vectors<T> v;

  template <class Function, class Workspace>
  WHILST_HD constexpr gradient_descent(const descent_vectors<T>& v, descent_state*, const descent_settings*,
                                       const Function&, Workspace&)
      : v(v) {}

  using kept = nothing_kept;
  using handed = nothing_kept;
  /// s's and s'y.
  static constexpr int products = 2;
  struct old {
    T x, gradient;
  };
  WHILST_HD old read_products(index_type i) const { return {v.x[i], v.gradient[i]}; }
  WHILST_HD sums<double, products> multiply(index_type, T gradient, T x, T, const old& was) const {
    const double step = x - was.x, change = gradient - was.gradient;
    return {step * step, step * change};
  }
  static constexpr bool chosen_ahead = true;
  template <class Team>
  WHILST_HD proposal choose(const Team&, const double* of, const accepted_step& step, const kept&, handed&) const {
    if (step.first) return {};
    return {-step.gradient_square, of[1] > 0 ? of[0] / of[1] : 2 * step.length};
  }

  WHILST_HD static nothing_kept read_entry(index_type) { return {}; }
  WHILST_HD static T entry(T gradient, T, T, nothing_kept, const handed&) { return -gradient; }
};

}  // namespace whilst
