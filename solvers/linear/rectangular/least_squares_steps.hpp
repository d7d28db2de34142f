#pragma once

#include "whilst/linear/linear_solve_steps.hpp"

namespace whilst {

/// The steps of a least_squares_solve around its method, besides those that it shares with linear_solve.
template <class T, class Operator, template <class, class, class> class Method>
struct least_squares_steps {
  using shared = linear_solve_steps<T, Operator, Method>;
  using operands = typename shared::operands;

  /// The normal residual is that of the scaled A, s A'r; so is its ratio to ||r||. Products with A' work on an r (or b)
  /// that a power of two has made about 1, so that nothing over- or underflows.
  struct scalars : shared::scalars {
    double residual_norm;       ///< ||r|| of the last r = b - A x
    double ratio;               ///< ||s A'r|| / ||r||
    double tolerance;           ///< of the ratio
    double normal_norm;         ///< ||s A'r||, as are the next three:
    double last_normal_norm;    ///< when the last restart began
    double first_normal_norm;   ///< the greater of that of b and of the first r
    double handed_normal_norm;  ///< of the x to return
  };

  struct bring_in_x {
    operands io;
    T *x, *d;
    WHILST_HD auto operator()(index_type j) const {
      const T xj = io.x.get()[j];
      x[j] = xj;
      d[j] = shared::bring_in::probe(j);
      const squares xx = squares_of(xj);
      return sums{xx.ordinary, xx.great, xx.small};
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct begin {
    scalars* s;
    control* inner;
    WHILST_HD void operator()(const sums<double, 3>& xx) const {
      *s = {};
      const typename shared::begin of_shared{s, inner};
      of_shared({0, 0, 0, xx[0], xx[1], xx[2]});
    }
  };
  struct bring_in_b {
    operands io;
    T* b;
    WHILST_HD auto operator()(index_type i) const {
      const T bi = io.b.get()[i];
      b[i] = bi;
      const squares bb = squares_of(bi);
      return sums{bb.ordinary, bb.great, bb.small};
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct note_rhs {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 3>& bb) const {
      s->rhs_norm = norm_of({bb[0], bb[1], bb[2]});
      s->to_residual = power_of_two(-binary_exponent(s->rhs_norm));
    }
  };

  /// ||A v||_1 for the probe v, which tells how large A is.
  struct sizes {
    WHILST_HD T read(index_type) const { return 0; }
    WHILST_HD auto operator()(T, T Av) const { return sums{fabs(static_cast<double>(Av))}; }
    index_type bytes(index_type) const { return 0; }
  };
  struct choose_factor {
    scalars* s;
    index_type rows;
    bool scales;
    WHILST_HD void operator()(const sums<double, 1>& total) const {
      s->operator_size = total[0] / (shared::probe_entry * static_cast<double>(rows));
      s->operator_factor = shared::factor_for(s->operator_size, scales);
    }
  };

  /// r = *factor times v.
  struct scale {
    const double* factor;
    const T* v;
    T* r;
    WHILST_HD void operator()(index_type i) const { r[i] = static_cast<T>(static_cast<double>(v[i]) * *factor); }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  /// The squares of a product.
  struct squares_of_product {
    WHILST_HD T read(index_type) const { return 0; }
    WHILST_HD auto operator()(T, T Av) const {
      const squares of = squares_of(Av);
      return sums{of.ordinary, of.great, of.small};
    }
    index_type bytes(index_type) const { return 0; }
  };
  /// From A'b: what the ratio must be below.
  struct choose_tolerance {
    scalars* s;
    const control* outer;
    WHILST_HD void operator()(const sums<double, 3>& total) const {
      const double of_scaled = norm_of({total[0], total[1], total[2]});
      const double ratio = s->rhs_norm > 0 ? of_scaled / (s->rhs_norm * s->to_residual) : 0;
      s->first_normal_norm = ratio * s->rhs_norm;
      s->tolerance = is_finite(ratio) ? outer->settings.rtol * ratio : 0;
    }
  };

  struct residual {
    const T* b;
    WHILST_HD T read(index_type i) const { return b[i]; }
    WHILST_HD T stored(T bi, T Ax) const { return bi - Ax; }
    WHILST_HD auto operator()(T bi, T Ax) const {
      const squares rr = squares_of(stored(bi, Ax));
      return sums{rr.ordinary, rr.great, rr.small};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct note_residual {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 3>& rr) const {
      const double norm = norm_of({rr[0], rr[1], rr[2]});
      // A non-finite x is no starting point and no result, though A may not see it.
      s->residual_norm = is_finite(s->x_norm) ? norm : s->x_norm;
      s->to_residual = power_of_two(-binary_exponent(norm));
    }
  };
  /// From s A' (to_residual r).
  WHILST_HD static void note_normal(scalars* s, const sums<double, 3>& total) {
    const double of_scaled = norm_of({total[0], total[1], total[2]}), norm = s->residual_norm;
    s->ratio = norm > 0 ? of_scaled / (norm * s->to_residual) : norm;
    s->normal_norm = s->ratio * norm;
  }
  /// True when stopped.
  WHILST_HD static bool verdict(const scalars* s, control* outer) {
    if (outer->check(s->residual_norm)) return true;
    if (!is_finite(s->ratio)) return outer->stop(reason::nan_or_infinity);
    return s->ratio <= s->tolerance && outer->stop(reason::converged_normal);
  }
  /// The verdict on the initial residual.
  struct judge_start {
    scalars* s;
    control *outer, *inner;
    WHILST_HD void operator()(const sums<double, 3>& total) const {
      if (!is_finite(s->rhs_norm)) s->residual_norm = s->rhs_norm;  // nothing is small compared to it
      outer->set_reference(s->rhs_norm, s->residual_norm);
      if (s->rhs_norm == 0) s->residual_norm = 0;  // nothing beats x = 0
      note_normal(s, total);
      s->handed_norm = s->residual_norm;
      s->handed_normal_norm = s->normal_norm;
      if (s->normal_norm > s->first_normal_norm) s->first_normal_norm = s->normal_norm;
      if (verdict(s, outer)) return;
      s->last_normal_norm = s->normal_norm;
      shared::begin_restart(s->residual_norm, s, outer, inner);
    }
  };
  /// The verdict on the residual after the inner loop. Either norm may rise while the other falls: ||r|| is as small as
  /// it gets long before x is, and A'r of an ill-conditioned A jumps.
  struct judge_restart {
    scalars* s;
    control *outer, *inner;
    bool keep_best;
    WHILST_HD void operator()(const sums<double, 3>& total) const {
      note_normal(s, total);
      const double norm = s->residual_norm, normal_norm = s->normal_norm, last = s->last_normal_norm;
      s->loop_nanoseconds += inner->stopped_at - inner->started_at;
      // At the limit the last x is the best: each iteration lowers its error.
      const bool worse =
          keep_best && norm >= s->last_norm && normal_norm > last && inner->why != reason::iteration_limit;
      s->take_back = worse || !is_finite(norm) || !is_finite(normal_norm);
      s->handed_norm = s->take_back ? s->last_norm : norm;
      s->handed_normal_norm = s->take_back ? last : normal_norm;
      if (verdict(s, outer)) {
        if (converged(outer->why)) {  // of this x
          s->take_back = 0;
          s->handed_norm = norm;
          s->handed_normal_norm = normal_norm;
        }
        return;
      }
      const bool hopeful = converged(inner->why) || inner->why == reason::breakdown;
      s->slow_restarts = normal_norm <= 0.5 * last || norm <= 0.5 * s->last_norm ? 0 : s->slow_restarts + 1;
      const bool goes_on = normal_norm < last || norm < s->last_norm;
      if (!hopeful || !goes_on || s->slow_restarts > shared::most_slow_restarts) {
        const double half_the_digits = sizeof(T) == 4 ? 3e-4 : 1e-8;
        const bool rounding = hopeful && s->handed_normal_norm <= half_the_digits * s->first_normal_norm;
        outer->stop(rounding || converged(inner->why) ? reason::attainable_accuracy : inner->why);
        return;
      }
      s->last_normal_norm = normal_norm;
      shared::begin_restart(norm, s, outer, inner);
    }
  };

  struct set_to_zero {
    T* d;
    WHILST_HD void operator()(index_type j) const { d[j] = 0; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };

  struct tell {
    const scalars* s;
    const control *outer, *inner;
    operands io;
    WHILST_HD void operator()() const {
      io.outcome.get()->normal_residual_norm = s->handed_normal_norm / s->operator_factor;
      const typename shared::tell rest{s, outer, inner, io, false};
      rest();
    }
  };
};

}  // namespace whilst
