#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// BFGS with a dense inverse Hessian: J. Nocedal and S. J. Wright, Numerical Optimization, 2nd ed. (2006), algorithm
/// 6.1, initially scaled by (6.20). If the curvature along a step is too small for the inverse to stay positive
/// definite, y is damped as in procedure 18.2, with H for B. Needs n * n numbers of memory.
///
/// d = -H g costs no product of its own: the product u = H g (g the new gradient) gives H y = u + d, and with it the
/// updated H g.
template <class T>
struct bfgs {
  static constexpr const char* name = "bfgs";
  static constexpr index_type most_unknowns = 20'000;

  struct scalars {
    int fresh;       ///< H is a multiple of the identity, and not stored
    int updated;     ///< H is to be updated
    double scale;    ///< that multiple
    double inverse;  ///< 1 / s'y
    double spread;   ///< (1 + y'Hy / s'y) / s'y
    double sg, hg;   ///< s'g and (Hy)'g
    double theta;    ///< y is theta y + (1 - theta) B s
  };

  descent_vectors<T> v;
  descent_state* s;
  const descent_settings* settings;
  T *H, *u, *step, *h;  ///< h = H y
  scalars* c;

  template <class Function, class Workspace>
  WHILST_HD constexpr bfgs(const descent_vectors<T>& v, descent_state* s, const descent_settings* settings,
                           const Function&, Workspace& memory)
      : v(v),
        s(s),
        settings(settings),
        H(memory.template take<T>(v.n * v.n)),
        u(memory.template take<T>(v.n)),
        step(memory.template take<T>(v.n)),
        h(memory.template take<T>(v.n)),
        c(memory.template take<scalars>(1)) {}

  /// s'y, y'Hy, s'g, (Hy)'g, g'Hg, s'g_old.
  using products = sums<double, 6>;
  struct multiply {
    bfgs of;
    WHILST_HD int lanes_wanted() const { return of.v.n >= 32 ? 32 : 8; }
    template <class Team>
    WHILST_HD products operator()(index_type i, const Team& team) const {
      const descent_vectors<T>& v = of.v;
      if (!of.s->accepted || of.s->first) return {};
      const bool fresh = of.c->fresh || of.s->steepest;
      double ui = v.trial_gradient[i];
      if (!fresh) {
        ui = 0;
        for (index_type j = team.rank(); j < v.n; j += team.size()) ui += of.H[i * v.n + j] * v.trial_gradient[j];
        ui = team.sum(ui);
      }
      const double g = v.trial_gradient[i], old = v.gradient[i], y = g - old, si = v.trial[i] - v.x[i];
      const double hi = fresh ? y : ui + v.d[i];
      if (team.rank() == 0) {
        of.u[i] = static_cast<T>(ui);
        of.step[i] = static_cast<T>(si);
        of.h[i] = static_cast<T>(hi);
      }
      return {si * y, y * hi, si * g, hi * g, g * ui, si * old};
    }
  };

  struct choose {
    descent_state* s;
    const descent_settings* settings;
    scalars* c;
    WHILST_HD void operator()(const products& total) const {
      change_direction(s, *settings, [&](const accepted_step& step) {
        scalars& to = *c;
        to.fresh = to.fresh || step.first || step.steepest;
        to.updated = 0;
        to.theta = to.scale = 1;
        if (step.first) return proposal{};
        double sy = total[0], yhy = total[1], sg = total[2], hg = total[3], ghg = total[4];
        if (to.fresh) {
          if (!(sy > 0)) return proposal{};
          to.scale = sy / yhy;
          yhy *= to.scale;
          hg *= to.scale;
          ghg *= to.scale;
        } else {
          // B s is -step g_old, since s = -step H g_old.
          const double sbs = -step.length * total[5];
          if (!(sbs > 0)) return proposal{};
          if (sy < 0.2 * sbs) {
            const double theta = 0.8 * sbs / (sbs - sy), rest = 1 - theta;
            yhy = theta * theta * yhy + 2 * theta * rest * sy + rest * rest * sbs;
            hg = theta * hg + rest * sg;
            sy = theta * sy + rest * sbs;
            to.theta = theta;
          }
        }
        to.inverse = 1 / sy;
        to.spread = (1 + yhy / sy) / sy;
        to.sg = sg;
        to.hg = hg;
        to.updated = 1;
        const double slope = -(ghg - 2 * to.inverse * sg * hg + to.spread * sg * sg);
        return proposal{slope, 1};
      });
    }
  };

  /// The coefficients of H y, after scaling and damping.
  struct update {
    bfgs of;
    WHILST_HD int lanes_wanted() const { return of.v.n >= 32 ? 32 : 8; }
    template <class Team>
    WHILST_HD void operator()(index_type i, const Team& team) const {
      const scalars& c = *of.c;
      if (!of.s->accepted || !c.updated) return;
      const index_type n = of.v.n;
      const double hi = of.curved(i), si = of.step[i];
      for (index_type j = team.rank(); j < n; j += team.size()) {
        const double hj = of.curved(j), sj = of.step[j];
        const double was = c.fresh ? (i == j ? c.scale : 0) : static_cast<double>(of.H[i * n + j]);
        of.H[i * n + j] = static_cast<T>(was - c.inverse * (si * hj + hi * sj) + c.spread * si * sj);
      }
    }
  };
  struct settle {
    descent_state* s;
    scalars* c;
    WHILST_HD void operator()() const {
      if (s->accepted && c->updated) c->fresh = 0;
    }
  };
  WHILST_HD double curved(index_type i) const { return c->theta * c->scale * h[i] + (1 - c->theta) * step[i]; }

  template <class Run, class Function>
  WHILST_HD void propose(Run& run, const Function&) const {
    run.step("u = H g, s'y, y'Hy", v.n, multiply{*this}, choose{s, settings, c});
    run.step("H", v.n, update{*this}, settle{s, c});
  }
  using kept = nothing_kept;
  WHILST_HD T read_entry(index_type i) const {
    const double hi = curved(i), si = step[i], scaled = c->scale * u[i];
    return static_cast<T>(-(scaled - c->inverse * (si * c->hg + hi * c->sg) + c->spread * si * c->sg));
  }
  WHILST_HD static T entry(T, T, T, T d) { return d; }
};

}  // namespace whilst
