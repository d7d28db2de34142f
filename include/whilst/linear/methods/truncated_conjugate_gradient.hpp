#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// Conjugate gradients within a sphere: minimizes the model 1/2 x' A x - b' x along the path of CG, up to the first
/// point where ||x|| would exceed the radius or the curvature is not positive, and from there on to the sphere. T.
/// Steihaug, "The conjugate gradient method and trust regions in large scale optimization", SIAM J. Numer. Anal. 20
/// (1983); P. L. Toint (1981). One reduction per iteration, as in conjugate_gradient: ||x||, x' p and p' p come by
/// recurrences (A. R. Conn, N. I. M. Gould, P. L. Toint, Trust-Region Methods (2000), section 7.5.1).
///
/// The caller provides x = 0 and r = b, minus the gradient of the model at 0, in working memory.
template <class T, class Operator>
struct truncated_conjugate_gradient {
  struct scalars {
    double radius;     ///< set by the caller, as is at_wall
    double predicted;  ///< by how much the model falls from 0 to x
    double slope;      ///< gradient of the model at 0, times x
    double norm;       ///< of x
    int at_boundary;   ///< ||x|| is the radius
    int at_wall;
    double alpha, beta, gamma, curvature, xx, xp, pp;
    int first;
  };

  Operator A;
  T *x, *r, *w, *p, *q;
  scalars* s;

  WHILST_HD truncated_conjugate_gradient(const Operator& A, T* x, T* r, workspace& memory) : A(A), x(x), r(r) {
    const index_type n = A.rows();
    w = memory.take<T>(n);
    p = memory.take<T>(n);
    q = memory.take<T>(n);
    s = memory.take<scalars>(1);
  }

  struct dots {
    const T* r;
    WHILST_HD T read(index_type i) const { return r[i]; }
    WHILST_HD auto operator()(T r, T w) const {
      const double wi = w, ri = r;
      return sums{ri * ri, ri * wi};
    }
    index_type bytes(index_type) const { return 0; }
  };

  struct choose_step {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      scalars now = *s;
      const double rr = total[0], rw = total[1];
      const bool first = loop.iteration + loop.updating == loop.first_iteration;
      if (first) {
        const scalars last = now;
        now = {};
        now.radius = last.radius;
        now.at_wall = last.at_wall;
      }
      now.first = first;
      if (loop.check(sqrt(rr))) {
        if (first) *s = now;
        return;
      }
      if (now.at_boundary) {
        loop.stop(reason::completed);
        return;
      }
      now.beta = first ? 0 : rr / now.gamma;
      now.curvature = first ? rw : rw - now.beta * now.beta * now.curvature;
      now.xp = first ? 0 : now.beta * (now.xp + now.alpha * now.pp);
      now.pp = first ? rr : rr + now.beta * now.beta * now.pp;
      now.gamma = rr;
      const double to_boundary = way_to_sphere(now);
      now.alpha = rr / now.curvature;
      now.at_boundary = !(now.curvature > 0) || !(now.alpha < to_boundary);
      if (now.at_boundary) now.alpha = to_boundary;
      now.slope -= now.alpha * rr;
      now.predicted += now.alpha * rr - 0.5 * now.alpha * now.alpha * now.curvature;
      now.xx += now.alpha * (2 * now.xp + now.alpha * now.pp);
      now.norm = sqrt(now.xx);
      if (is_finite(now.alpha) && is_finite(now.beta) && is_finite(now.predicted)) {
        *s = now;
        return;
      }
      if (first) {  // no step: x is 0
        now.predicted = now.slope = now.norm = now.at_boundary = 0;
        *s = now;
      }
      loop.stop(reason::breakdown);
    }
    /// tau >= 0 with ||x + tau p|| = radius.
    WHILST_HD static double way_to_sphere(const scalars& now) {
      const double left = fmax(now.radius * now.radius - now.xx, 0.0);
      const double root = hypot(now.xp, sqrt(now.pp) * sqrt(left));  // the square may overflow
      // Use whichever form has no cancellation.
      return now.xp > 0 ? left / (now.xp + root) : (root - now.xp) / now.pp;
    }
  };

  struct advance {
    const scalars* s;
    T *x, *r;
    const T* w;
    T *p, *q;
    WHILST_HD void operator()(index_type i) const {
      const T alpha = static_cast<T>(s->alpha), beta = static_cast<T>(s->beta);
      const T pi = s->first ? r[i] : r[i] + beta * p[i], qi = s->first ? w[i] : w[i] + beta * q[i];
      p[i] = pi;
      q[i] = qi;
      x[i] += alpha * pi;
      r[i] -= alpha * qi;
    }
  };

  template <class Run>
  WHILST_HD void iterate(Run& run) const {
    product(run, "w = A r, (r,r), (w,r)", A, r, w, dots{r}, choose_step{s});
    run.step("p, q, x += alpha p, r -= alpha q", A.rows(), advance{s, x, r, w, p, q});
  }
};

}  // namespace whilst
