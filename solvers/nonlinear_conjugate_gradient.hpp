#pragma once

#include "solvers/descent.hpp"
#include "whilst/objective.hpp"

namespace whilst {

enum class conjugacy { polak_ribiere_plus, hager_zhang };

/// Nonlinear conjugate gradients, d = -g + beta d. Two choices of beta: that of Polak and Ribiere, not below 0 (J. C.
/// Gilbert and J. Nocedal, SIAM J. Optim. 2 (1992)), and that of W. W. Hager and H. Zhang, "A new conjugate gradient
/// method with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005), (1.3) to (1.6).
template <class T, conjugacy beta_by>
struct nonlinear_conjugate_gradient {
  static constexpr const char* name =
      beta_by == conjugacy::hager_zhang ? "conjugate-gradient-hz" : "conjugate-gradient-pr";
  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  double* beta;

  nonlinear_conjugate_gradient(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                               const objective<T>&, workspace& memory)
      : v(v), s(s), settings(settings), beta(memory.take<double>(1)) {}

  /// With y the change of the gradient, and g the new one: g'y, y'y, d'y, d'g, d'd, and the old g'g.
  using products = sums<double, 6>;
  struct multiply {
    descent_vectors<T> v;
    const descent_state* s;
    WHILST_HD products operator()(index i) const {
      if (!s->accepted) return {};
      const double g = v.trial_gradient[i], old = v.gradient[i], d = v.d[i], y = g - old;
      return {g * y, y * y, d * y, d * g, d * d, old * old};
    }
  };
  struct choose {
    descent_state* s;
    const descent_settings* settings;
    double* beta;
    WHILST_HD void operator()(const products& of) const {
      change_direction(s, *settings, [&](descent_state& now) {
        if (now.first) return proposal{};
        const double gy = of[0], yy = of[1], dy = of[2], dg = of[3], dd = of[4], old_gg = of[5];
        double value = 0;
        if constexpr (beta_by == conjugacy::hager_zhang) {
          constexpr double eta = 0.01;  // the paper's
          const double least = -1 / (sqrt(dd) * fmin(eta, sqrt(old_gg)));
          value = fmax((gy - 2 * yy * dg / dy) / dy, least);
        } else {
          value = fmax(gy / old_gg, 0.0);
        }
        *beta = value;
        const double slope = -now.gradient_norm * now.gradient_norm + value * dg;
        // To first order the next step gains what the last one did.
        return proposal{slope, now.search.step * now.slope / slope};
      });
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>&) const {
    run.step("g'y, y'y, d'y, d'g, d'd, g'g", v.n, multiply{v, s}, choose{s, settings, beta});
  }
  WHILST_HD T entry(index, T gradient, T, T d) const { return -gradient + static_cast<T>(*beta) * d; }
};

template <class T>
using conjugate_gradient_pr = nonlinear_conjugate_gradient<T, conjugacy::polak_ribiere_plus>;
template <class T>
using conjugate_gradient_hz = nonlinear_conjugate_gradient<T, conjugacy::hager_zhang>;

}  // namespace whilst
