#pragma once

#include "whilst/basics/random_sign.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/host/solve_outcome.hpp"
#include "whilst/linear/method_settings.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// The steps of a linear_solve around its method: maps, finishes, and what becomes of a product. Preconditioners share
/// their kernels. Methods do not, except with operators in parts: sources of methods are compiled apart, and a process
/// that uses one method should not load the kernels of another. Nor do operators: where a user's source records the
/// same step as the library's, the linker keeps one of the two, and the user's may be compiled for another GPU.
template <class T, class Operator, template <class, class, class> class Method>
struct linear_solve_steps {
  /// Consecutive restarts that may fail to halve the residual, as long as each lowers it.
  static constexpr int most_slow_restarts = 8;
  static constexpr double probe_entry = 0.0625;  ///< small, so that A times it is finite if A is
  /// Whether the operator may have methods iterate with another one: see substitute_operator.
  static constexpr bool may_substitute = requires(const Operator& A) { A.substitute(); };
  using factors = std::conditional_t<may_substitute, diagonal_factors<T>, no_factors>;  ///< R or C

  /// What the caller binds.
  struct operands {
    slot<const T> b;
    slot<T> x;
    slot<solve_outcome> outcome;
    method_settings settings = {};
  };
  struct scalars {
    double rhs_norm, x_norm;
    double initial_norm, last_norm;
    double first_norm;  ///< of the residual to begin with, or HUGE_VAL until that is known
    std::uint64_t loop_nanoseconds;
    double to_x;                  ///< x += to_x * d
    double to_residual;           ///< the method's r is to_residual * r
    double operator_size, along;  ///< from A v for one v: about ||A v|| / ||v||, and a number with the sign of (v, A v)
    int x_is_zero;                ///< as read at the start
    int slow_restarts;
    int pending;         ///< d has not been added to x yet
    int take_back;       ///< the kept x is better
    double handed_norm;  ///< of the residual of the x to return
    double operator_factor;
    double best_norm;         ///< of the least residual among x and the kept x
    double last_scaled_norm;  ///< ||R r|| when the last restart began
    int keeps_x;              ///< x becomes the kept one, since its residual is the least so far
    int estimates;            ///< what the method tests is not the residual, but stands for it
  };

  /// Before the loops, once per solve.
  struct bring_in {
    operands io;
    T *x, *b, *d;
    WHILST_HD auto operator()(index_type i) const {
      const T bi = io.b.get()[i], xi = io.x.get()[i];
      b[i] = bi;
      x[i] = xi;
      d[i] = probe(i);
      const squares bb = squares_of(bi), xx = squares_of(xi);
      return sums{bb.ordinary, bb.great, bb.small, xx.ordinary, xx.great, xx.small};
    }
    /// A vector that A is unlikely to map to zero, with entries of one size.
    WHILST_HD static T probe(index_type i) { return static_cast<T>(random_sign(i) * probe_entry); }
    index_type bytes(index_type n) const { return 5 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct begin {
    scalars* s;
    control* inner;
    WHILST_HD void operator()(const sums<double, 6>& total) const {
      *s = {};
      s->rhs_norm = norm_of({total[0], total[1], total[2]});
      s->x_norm = norm_of({total[3], total[4], total[5]});
      s->x_is_zero = s->x_norm == 0;
      s->last_norm = s->first_norm = HUGE_VAL;
      s->operator_factor = 1;
      inner->first_iteration = 0;
      // A solve that ends before the inner loop starts must keep nothing of the last one's.
      inner->iteration = 0;
      inner->residual_norm = HUGE_VAL;  // not known yet
      inner->why = reason::running;
      inner->forget_history();
    }
  };

  /// What becomes of A v in r = b - A x, where v is x. The first time also the size of A, from A v for v = x, or for
  /// the probe d if x is zero: the sums of |A v| and of v A v / ||v||.
  struct residual {
    const scalars* s;
    const T *b, *x, *d;
    bool measures;  ///< also measures A
    factors R = {};
    struct entries {
      T b, v;
      bool probes;
      double R;
    };
    WHILST_HD entries read(index_type i) const {
      const bool probes = measures && s->x_is_zero;
      return {b[i], measures ? (probes ? d : x)[i] : T(0), probes, R(i)};
    }
    /// 0 times a non-finite number is NaN: x = 0 does not hide one in A.
    WHILST_HD T stored(const entries& e, T Av) const { return e.b - (e.probes ? 0 * Av : Av); }
    WHILST_HD auto operator()(const entries& e, T Av) const {
      const squares rr = squares_of(stored(e, Av));
      const double size = static_cast<double>(Av);
      const double along = measures && size != 0 ? static_cast<double>(e.v) / (e.probes ? 1 : s->x_norm) * size : 0;
      if constexpr (may_substitute) {
        const squares scaled = squares_of(static_cast<double>(stored(e, Av)) * e.R);
        return sums{rr.ordinary, rr.great, rr.small, fabs(size), along, scaled.ordinary, scaled.great, scaled.small};
      } else {
        return sums{rr.ordinary, rr.great, rr.small, fabs(size), along};
      }
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  using residual_sums = sums<double, may_substitute ? 8 : 5>;
  /// ||R r|| of these sums, which is what a method lowers; ||r|| of an operator that methods iterate with as it is.
  WHILST_HD static double scaled_norm(const residual_sums& total) {
    constexpr int first = may_substitute ? 5 : 0;
    return norm_of({total[first], total[first + 1], total[first + 2]});
  }
  /// The vector of the first product.
  struct x_or_probe {
    const scalars* s;
    const T *x, *d;
    WHILST_HD operator const T*() const { return s->x_is_zero ? d : x; }
  };
  /// Stores what the sums of |A v| and of v A v say about A.
  WHILST_HD static void measure(scalars* s, double sum_of_sizes, double along, index_type n) {
    s->operator_size = sum_of_sizes / (s->x_is_zero ? probe_entry * static_cast<double>(n) : s->x_norm);
    s->along = along;
  }
  /// For an operator that runs steps before each product, which need the vector when they are recorded: the probe has a
  /// product of its own.
  struct probe_sums {
    const T* d;
    WHILST_HD T read(index_type i) const { return d[i]; }
    WHILST_HD auto operator()(T di, T Ad) const {
      const double size = static_cast<double>(Ad);
      return sums{fabs(size), static_cast<double>(di) * size};
    }
  };
  struct note_size {
    scalars* s;
    index_type n;
    WHILST_HD void operator()(const sums<double, 2>& total) const {
      s->operator_size = total[0] / (probe_entry * static_cast<double>(n));
      s->along = total[1];
    }
  };

  /// The power of two that makes an A of this size about 1.
  WHILST_HD static double factor_for(double operator_size, bool scales) {
    int exponent = 0;
    constexpr int most = sizeof(T) == 4 ? 120 : 1000;
    if (scales && operator_size > 0) exponent = binary_exponent(operator_size);
    return power_of_two(exponent < -most ? most : exponent > most ? -most : -exponent);
  }

  /// The verdict on the initial residual, and the scales.
  struct judge_start {
    scalars* s;
    control *outer, *inner;
    index_type n;
    bool measures, scales;
    double reduction = 0;
    WHILST_HD void operator()(const residual_sums& total) const {
      const double measured = norm_of({total[0], total[1], total[2]});
      // Nothing is small compared to a norm that is beyond the range.
      const double norm = is_finite(s->rhs_norm) ? measured : s->rhs_norm;
      outer->set_reference(s->rhs_norm, norm);
      s->initial_norm = norm > s->rhs_norm ? norm : s->rhs_norm;
      s->first_norm = norm;
      // Nothing beats 0 if b is 0; a non-finite x is no starting point, though A may not see it.
      s->handed_norm = s->rhs_norm == 0 ? 0 : is_finite(s->x_norm) ? norm : s->x_norm;
      if (outer->check(s->handed_norm)) return;
      if (measures) measure(s, total[3], total[4], n);
      const double factor = factor_for(s->operator_size, scales);
      // If A x is small compared to b, it may be all rounding, and so may its sign.
      const bool tells = !measures || s->x_is_zero || total[3] >= 0.1 * s->rhs_norm;
      s->operator_factor = tells && s->along < 0 ? -factor : factor;
      begin_restart(norm, s, outer, inner);
      if constexpr (may_substitute) adapt_to_substitute(norm, scaled_norm(total), reduction, s, inner);
    }
  };
  /// The verdict on the residual after the inner loop.
  struct judge_restart {
    scalars* s;
    control *outer, *inner;
    bool keep_best, lowers_error;
    double reduction = 0;
    WHILST_HD void operator()(const residual_sums& total) const {
      const double true_norm = norm_of({total[0], total[1], total[2]});
      const double norm = is_finite(s->x_norm) ? true_norm : s->x_norm;
      const double best = s->best_norm;
      s->loop_nanoseconds += inner->stopped_at - inner->started_at;
      const bool worse = keep_best && norm > best && !(lowers_error && inner->why == reason::iteration_limit);
      s->take_back = worse || !is_finite(norm);
      s->handed_norm = s->take_back ? best : norm;
      // What a breakdown leaves may diverge: it is taken back, and is not the reason.
      if (outer->check(norm) && !(outer->why == reason::divergence && inner->why == reason::breakdown && s->take_back))
        return;
      // A scaled residual may well fall while the residual rises.
      const double now = may_substitute ? scaled_norm(total) : norm;
      const double last = may_substitute ? s->last_scaled_norm : s->last_norm;
      // The limit, a cancel, NaN and divergence end the solve. A method that lost positivity late may only have seen
      // rounding: it restarts too, as long as that makes progress.
      const bool hopeful = converged(inner->why) || inner->why == reason::indefinite_operator ||
                           inner->why == reason::indefinite_preconditioner || inner->why == reason::breakdown ||
                           inner->why == reason::stagnation;
      // Restarts that are the method's own may be slow and, until only rounding can be left, in vain.
      const bool is_planned = inner->why == reason::completed;
      s->slow_restarts = now <= 0.5 * last || (is_planned && now < last) ? 0 : s->slow_restarts + 1;
      const double half_the_digits = sizeof(T) == 4 ? 3e-4 : 1e-8;
      const bool may_stand = is_planned && norm > half_the_digits * s->initial_norm;
      if (may_stand) s->slow_restarts = 0;
      // The same norm may be that of another x, from which the next restart gets on.
      const bool goes_on = now < last || (now == last && converged(inner->why));
      if (!hopeful || !goes_on || s->slow_restarts > most_slow_restarts) {
        // A residual this small consists of rounding, and so does what the method saw in it.
        const bool rounding = hopeful && s->handed_norm <= half_the_digits * s->initial_norm;
        outer->stop(rounding || (converged(inner->why) && !is_planned) ? reason::attainable_accuracy
                    : is_planned                                       ? reason::stagnation
                                                                       : inner->why);
        return;
      }
      begin_restart(norm, s, outer, inner);
      if constexpr (may_substitute) {
        s->keeps_x = norm <= best;
        s->best_norm = norm <= best ? norm : best;
        adapt_to_substitute(norm, now, reduction, s, inner);
      }
    }
  };
  WHILST_HD static void begin_restart(double norm, scalars* s, const control* outer, control* inner) {
    const int exponent = binary_exponent(norm);
    s->last_norm = s->best_norm = norm;
    s->keeps_x = 1;
    s->to_residual = power_of_two(-exponent);
    s->to_x = power_of_two(exponent) * s->operator_factor;
    inner->norm_exponent = exponent;
    inner->residual_norm = norm;
    inner->set_reference(*outer);
    inner->first_iteration = inner->iteration;
  }

  /// For a method that gets R r, whose norm is `scaled`: has that begin at the norm of r, so that what the method tests
  /// stands for r. The factor need not be a power of two: a rounded right-hand side gives a slightly different
  /// correction.
  WHILST_HD static void adapt_to_substitute(double norm, double scaled, double reduction, scalars* s, control* inner) {
    s->last_scaled_norm = scaled;
    s->estimates = scaled != norm;
    if (inner->rtol_norm < reduction * norm) inner->rtol_norm = reduction * norm;
    if (scaled == norm || !(scaled > 0) || !is_finite(scaled)) return;
    const int of_r = binary_exponent(norm), of_scaled = binary_exponent(scaled);
    const double ratio = power_of_two(-of_r) * norm / (power_of_two(-of_scaled) * scaled);
    s->to_residual = power_of_two(-of_scaled) * ratio;
    s->to_x = power_of_two(of_scaled) * s->operator_factor / ratio;
  }

  struct scale_residual {
    const scalars* s;
    const T* residual;  ///< r, or where that is to be permuted, other memory
    T *r, *d;
    factors R = {};
    WHILST_HD void operator()(index_type i) const {
      const index_type from = R.from(i);
      r[i] = static_cast<T>(static_cast<double>(residual[from]) * R(from) * s->to_residual);
      d[i] = 0;
    }
    index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct await_correction {
    scalars* s;
    WHILST_HD void operator()() const { s->pending = 1; }
  };
  struct add_correction {
    const scalars* s;
    const T* d;
    T *x, *kept;
    factors C = {};
    WHILST_HD auto operator()(index_type i) const {
      const T before = x[i], after = static_cast<T>(before + s->to_x * (C(i) * static_cast<double>(d[C.from(i)])));
      if (!may_substitute || s->keeps_x) kept[i] = before;
      x[i] = after;
      const squares xx = squares_of(after);
      return sums{xx.ordinary, xx.great, xx.small};
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct measure_x {
    scalars* s;
    const control* inner;
    WHILST_HD void operator()(const sums<double, 3>& xx) const {
      s->x_norm = norm_of({xx[0], xx[1], xx[2]});
      s->pending = 0;
      s->take_back = !is_finite(s->x_norm) || (may_substitute && s->estimates);
      // Until the true one is known.
      s->handed_norm = s->take_back ? s->best_norm : inner->residual_norm;
    }
  };
  /// After a cancel or a deadline the correction so far counts, judged by the method's own residual where that is one.
  WHILST_HD static bool is_worth_adding(const scalars* s, const control* inner, bool may_rise) {
    const double norm = inner->residual_norm;
    // The kept x was the better one when this correction began, and d is one of the other.
    if (may_substitute && (s->estimates || s->take_back)) return false;
    return s->pending && (may_rise ? is_finite(norm) : norm < s->best_norm);
  }
  /// An entry of the x to return. factor: what d is multiplied by, but for the scale.
  WHILST_HD static T handed_back(const scalars* s, const control* inner, bool may_rise, const T* x, const T* d,
                                 const T* kept, double factor = 1) {
    const bool adds = is_worth_adding(s, inner, may_rise);
    const T value = s->rhs_norm == 0 ? 0 : s->take_back ? *kept : *x;
    if (!adds) return value;
    const T corrected = static_cast<T>(value + s->to_x * (factor * static_cast<double>(*d)));
    return is_finite(static_cast<double>(corrected)) ? corrected : value;
  }
  struct hand_back {
    const scalars* s;
    const control* inner;
    operands io;
    bool may_rise;
    const T *x, *d, *kept;
    factors C = {};
    WHILST_HD void operator()(index_type i) const {
      io.x.get()[i] = handed_back(s, inner, may_rise, x + i, d + C.from(i), kept + i, C(i));
    }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct tell {
    const scalars* s;
    const control *outer, *inner;
    operands io;
    bool may_rise;
    WHILST_HD void operator()() const {
      solve_outcome& target = *io.outcome.get();
      target.iterations = inner->iteration;
      target.residual_norm = is_worth_adding(s, inner, may_rise) ? inner->residual_norm : s->handed_norm;
      target.rhs_norm = s->rhs_norm;
      target.nanoseconds = now_nanoseconds() - outer->started_at;
      target.loop_nanoseconds = s->loop_nanoseconds;
      target.history_count = inner->history_count;
      target.why = outer->why;
      inner->show_history();
      announce(target, outer->settings.launch);
    }
  };
};

}  // namespace whilst
