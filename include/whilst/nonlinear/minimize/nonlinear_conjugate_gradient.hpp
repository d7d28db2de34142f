#pragma once

#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

enum class conjugacy { polak_ribiere_plus, hager_zhang };

/// Nonlinear conjugate gradients, d = -g + beta d. Two choices of beta: Polak and Ribiere's, not below 0 (J. C. Gilbert
/// and J. Nocedal, SIAM J. Optim. 2 (1992)), and that of W. W. Hager and H. Zhang, "A new conjugate gradient method
/// with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005), (1.3) to (1.6).
template <class T, conjugacy beta_by>
struct nonlinear_conjugate_gradient {
  static constexpr const char* name =
      beta_by == conjugacy::hager_zhang ? "conjugate-gradient-hz" : "conjugate-gradient-pr";
  descent_vectors<T> v;

  template <class Function, class Workspace>
  WHILST_HD constexpr nonlinear_conjugate_gradient(const descent_vectors<T>& v, descent_state*, const descent_settings*,
                                                   const Function&, Workspace&)
      : v(v) {}

  using kept = nothing_kept;
  struct handed {
    double beta;
  };
  /// Where y is the change of the gradient, and g the new one: g'y, y'y, d'y, d'g, d'd, and the old g'g.
  static constexpr int products = 6;
  WHILST_HD T read_products(index_type i) const { return v.gradient[i]; }
  WHILST_HD sums<double, products> multiply(index_type, T gradient, T, T direction, T old_gradient) const {
    const double g = gradient, old = old_gradient, d = direction, y = g - old;
    return {g * y, y * y, d * y, d * g, d * d, old * old};
  }
  static constexpr bool chosen_ahead = true;
  template <class Team>
  WHILST_HD proposal choose(const Team& team, const double* of, const accepted_step& step, const kept&,
                            handed& made) const {
    const double gy = of[0], yy = of[1], dy = of[2], dg = of[3], dd = of[4], old_gg = of[5];
    if (step.first || !(dy > 0)) return {};
    double value = 0;
    if constexpr (beta_by == conjugacy::hager_zhang) {
      constexpr double eta = 0.01;  // the paper's
      const double least = -1 / (sqrt(dd) * fmin(eta, sqrt(old_gg)));
      value = fmax((gy - 2 * yy * dg / dy) / dy, least);
    } else {
      value = fmax(gy / old_gg, 0.0);
    }
    if (team.rank() == 0) made.beta = value;
    const double slope = -step.gradient_square + value * dg;
    // To first order the next step gains what the last one did.
    return {slope, step.length * step.slope / slope};
  }

  WHILST_HD static nothing_kept read_entry(index_type) { return {}; }
  WHILST_HD static T entry(T gradient, T, T d, nothing_kept, const handed& made) {
    return -gradient + static_cast<T>(made.beta) * d;
  }
};

template <class T>
using conjugate_gradient_pr = nonlinear_conjugate_gradient<T, conjugacy::polak_ribiere_plus>;
template <class T>
using conjugate_gradient_hz = nonlinear_conjugate_gradient<T, conjugacy::hager_zhang>;

}  // namespace whilst
