#pragma once

#include "solvers/descent.hpp"
#include "whilst/objective.hpp"

namespace whilst {

/// Gradient descent whose steps are as long as the last one's curvature says: J. Barzilai and J. M. Borwein, "Two-point
/// step size gradient methods", IMA J. Numer. Anal. 8 (1988), the longer of their two lengths, as what the line search
/// tries first.
template <class T>
struct gradient_descent {
  static constexpr const char* name = "gradient-descent";
  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;

  gradient_descent(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings, const objective<T>&,
                   workspace&)
      : v(v), s(s), settings(settings) {}

  struct measure_curvature {
    descent_vectors<T> v;
    const descent_state* s;
    WHILST_HD sums<double, 2> operator()(index i) const {
      if (!s->accepted) return {};
      const double step = v.trial[i] - v.x[i], change = v.trial_gradient[i] - v.gradient[i];
      return {step * step, step * change};
    }
  };
  struct choose {
    descent_state* s;
    const descent_settings* settings;
    WHILST_HD void operator()(const sums<double, 2>& total) const {
      change_direction(s, *settings, [&](descent_state& now) {
        if (now.first) return proposal{};
        const double length = total[1] > 0 ? total[0] / total[1] : 2 * now.search.step;
        return proposal{-now.gradient_norm * now.gradient_norm, length};
      });
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>&) const {
    run.step("s's, s'y", v.n, measure_curvature{v, s}, choose{s, settings});
  }
  WHILST_HD T entry(index, T gradient, T, T) const { return -gradient; }
};

}  // namespace whilst
