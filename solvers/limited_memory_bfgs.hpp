#pragma once

#include "solvers/descent.hpp"
#include "whilst/objective.hpp"

namespace whilst {

/// L-BFGS: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35 (1980), the two-loop
/// recursion; on inner products instead of vectors, as W. Chen, Z. Wang, J. Zhou, "Large-scale L-BFGS using MapReduce",
/// NIPS 27 (2014), so that all its sums are one pass over memory, and the direction is another.
///
/// Pairs s, y lie in a ring; which of its places is whose is known on the device only. Of the products of pairs, those
/// with the newest y follow from products with gradients, S'y = S'g - S'g_old, so only these are summed.
template <class T>
struct limited_memory_bfgs {
  static constexpr const char* name = "lbfgs";
  static constexpr int memory = 10;

  struct ring {
    int pairs, next;                ///< how many there are; the place of the one to come
    double sg[memory], yg[memory];  ///< S'g and Y'g, by place
    double sy[memory][memory];      ///< s of a pair by y of a newer one, or its own
    double yy[memory][memory];
    double of_gradient, of_s[memory], of_y[memory];  ///< d is made of
    /// The place of a pair by its age, 0 being the newest; and the age by the place.
    WHILST_HD int place(int age) const { return (next + 2 * memory - 1 - age) % memory; }
    WHILST_HD int age(int place) const { return (next + 2 * memory - 1 - place) % memory; }
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  T *S, *Y;  ///< place after place
  ring* pairs;

  limited_memory_bfgs(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                      const objective<T>&, workspace& workspace)
      : v(v),
        s(s),
        settings(settings),
        S(workspace.take<T>(memory * v.n)),
        Y(workspace.take<T>(memory * v.n)),
        pairs(workspace.take<ring>(1)) {}

  /// S'g, Y'g, then s'y and y'y of the new pair.
  using products = sums<double, 2 * memory + 2>;
  struct multiply {
    descent_vectors<T> v;
    const descent_state* s;
    T *S, *Y;
    const ring* pairs;
    WHILST_HD products operator()(index i) const {
      products share{};
      if (!s->accepted || s->first) return share;
      const T step = v.trial[i] - v.x[i], change = v.trial_gradient[i] - v.gradient[i];
      const double g = v.trial_gradient[i];
      const int next = pairs->next;
      S[next * v.n + i] = step;
      Y[next * v.n + i] = change;
      for (int k = 0; k < memory; ++k) {
        if (k != next && pairs->age(k) >= pairs->pairs) continue;
        const double sk = k == next ? step : S[k * v.n + i], yk = k == next ? change : Y[k * v.n + i];
        share.value[k] = sk * g;
        share.value[memory + k] = yk * g;
      }
      share.value[2 * memory] = static_cast<double>(step) * change;
      share.value[2 * memory + 1] = static_cast<double>(change) * change;
      return share;
    }
  };

  struct choose {
    descent_state* s;
    const descent_settings* settings;
    ring* pairs;
    WHILST_HD void operator()(const products& total) const {
      change_direction(s, *settings, [&](descent_state& now) {
        if (now.first) {
          pairs->pairs = pairs->next = 0;
          return proposal{};
        }
        if (now.steepest) pairs->pairs = 0;  // the ones there were led nowhere
        take_pair(total);
        return proposal{combine(now.gradient_norm), 1};
      });
    }

   private:
    WHILST_HD void take_pair(const products& total) const {
      ring& p = *pairs;
      const double sy = total[2 * memory], yy = total[2 * memory + 1];
      const int place = p.next;
      if (p.pairs == memory) p.pairs -= 1;  // the oldest one's place
      const bool curved = sy > 2.2e-16 * yy;
      if (curved) {
        for (int age = 0; age < p.pairs; ++age) {
          const int k = p.place(age);
          p.sy[k][place] = total[k] - p.sg[k];
          p.yy[k][place] = p.yy[place][k] = total[memory + k] - p.yg[k];
        }
        p.sy[place][place] = sy;
        p.yy[place][place] = yy;
        p.pairs += 1;
        p.next = (place + 1) % memory;
      }
      for (int k = 0; k < memory; ++k) {
        p.sg[k] = total[k];
        p.yg[k] = total[memory + k];
      }
    }

    /// The two loops, on products; returns g'd.
    WHILST_HD double combine(double gradient_norm) const {
      ring& p = *pairs;
      const int count = p.pairs;
      if (count == 0) return 0;
      double alpha[memory], of_s[memory];
      for (int a = 0; a < count; ++a) {  // from the newest on
        const int i = p.place(a);
        double sq = p.sg[i];
        for (int b = 0; b < a; ++b) sq -= alpha[b] * p.sy[i][p.place(b)];
        alpha[a] = sq / p.sy[i][i];
      }
      const int newest = p.place(0);
      const double scale = p.sy[newest][newest] / p.yy[newest][newest];
      for (int a = count - 1; a >= 0; --a) {  // from the oldest on
        const int i = p.place(a);
        double yq = p.yg[i], ys = 0;
        for (int b = 0; b < count; ++b) yq -= alpha[b] * p.yy[i][p.place(b)];
        for (int b = a + 1; b < count; ++b) ys += of_s[b] * p.sy[p.place(b)][i];
        of_s[a] = alpha[a] - (scale * yq + ys) / p.sy[i][i];
      }
      double slope = -scale * gradient_norm * gradient_norm;
      for (int k = 0; k < memory; ++k) p.of_s[k] = p.of_y[k] = 0;
      for (int a = 0; a < count; ++a) {
        const int i = p.place(a);
        p.of_s[i] = -of_s[a];
        p.of_y[i] = scale * alpha[a];
        slope += p.of_s[i] * p.sg[i] + p.of_y[i] * p.yg[i];
      }
      p.of_gradient = -scale;
      return slope;
    }
  };

  template <class Run>
  void propose(Run& run, const objective<T>&) const {
    run.step("s, y, S'g, Y'g", v.n, multiply{v, s, S, Y, pairs}, choose{s, settings, pairs});
  }
  WHILST_HD T entry(index i, T gradient, T, T) const {
    T d = static_cast<T>(pairs->of_gradient) * gradient;
    for (int k = 0; k < memory; ++k) {
      // Where a place holds no pair, its share is 0, and what lies there may not be a number.
      const T by_s = static_cast<T>(pairs->of_s[k]), by_y = static_cast<T>(pairs->of_y[k]);
      if (by_y != 0 || by_s != 0) d += by_s * S[k * v.n + i] + by_y * Y[k * v.n + i];
    }
    return d;
  }
};

}  // namespace whilst
