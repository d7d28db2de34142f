#pragma once

#include <type_traits>

#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/linear_solve_steps.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// All of a linear_solve except its method: what it works on, and the steps around the method's loop.
template <class T, class Operator, template <class, class, class> class Method>
struct around_method {
  using steps = linear_solve_steps<T, Operator, Method>;
  using operands = typename steps::operands;  ///< what the caller binds
  using scalars = typename steps::scalars;
  using scaled = scaled_operator<T, Operator>;

  Operator A;
  scaled sA;  ///< what the method iterates with
  operands io;
  control *outer, *inner;
  scalars* s;
  T *x, *b, *r, *d, *kept;
  T* unpermuted;  ///< b - A x, where methods get it in another order; else null

  WHILST_HD around_method(const Operator& A, const operands& io, control* outer, control* inner, workspace& memory)
      : around_method(A, io, outer, inner, memory.take<scalars>(1), memory) {}

  template <class Run>
  WHILST_HD void bring_in(Run& run) const {
    run.step("bring in b and x", A.rows(), typename steps::bring_in{io, x, b, d}, typename steps::begin{s, inner});
  }
  /// Judges the initial residual. is_scaled: M is made for sA, which is about 1.
  template <class Run>
  WHILST_HD void judge_start(Run& run, bool is_scaled) const {
    if constexpr (requires { A.prepare(run); }) A.prepare(run);
    constexpr bool chooses = has_rows<Operator> && !runs_before<Run>;
    const index_type n = rows_of_all(A);
    const typename steps::residual use{s, b, x, d, chooses, row_factors()};
    const typename steps::judge_start judge{s, outer, inner, n, chooses, is_scaled, reduction()};
    if constexpr (chooses) {
      product(run, "r = b - A x", A, typename steps::x_or_probe{s, x, d}, residual(), use, judge);
    } else {
      product(run, "how large A is", sA.unscaled, d, r, typename steps::probe_sums{d}, typename steps::note_size{s, n});
      product(run, "r = b - A x", A, x, residual(), use, judge);
    }
  }
  /// ||r|| of the first residual.
  WHILST_HD const double* first_norm() const { return s ? &s->first_norm : nullptr; }
  /// Before the method's loop.
  template <class Run>
  WHILST_HD void begin_correction(Run& run) const {
    run.step("scale r, d = 0", A.rows(), typename steps::scale_residual{s, residual(), r, d, row_factors()},
             typename steps::await_correction{s});
  }
  /// After it: adds d to x and judges the residual.
  template <class Run>
  WHILST_HD void add_correction(Run& run, bool lowers_error) const {
    run.step("x += d", A.rows(), typename steps::add_correction{s, d, x, kept, column_factors()},
             typename steps::measure_x{s, inner});
    product(run, "r = b - A x", A, x, residual(), typename steps::residual{s, b, x, d, false, row_factors()},
            typename steps::judge_restart{s, outer, inner, io.settings.keep_best, lowers_error, reduction()});
  }
  template <class Run>
  WHILST_HD void hand_back(Run& run, bool lowers_error) const {
    const bool may_rise = lowers_error || !io.settings.keep_best;
    run.step("hand x back", A.rows(), typename steps::hand_back{s, inner, io, may_rise, x, d, kept, column_factors()},
             typename steps::tell{s, outer, inner, io, may_rise});
  }

 private:
  WHILST_HD around_method(const Operator& A, const operands& io, control* outer, control* inner, scalars* s,
                          workspace& memory)
      : A(placed(A, memory)),
        sA{for_method(this->A), s ? &s->operator_factor : nullptr},
        io(io),
        outer(outer),
        inner(inner),
        s(s),
        x(memory.vector<T>(A.rows())),
        b(memory.vector<T>(A.rows())),
        r(memory.vector<T>(A.rows())),
        d(memory.vector<T>(A.rows())),
        kept(memory.vector<T>(A.rows())),
        unpermuted(permutes() ? memory.vector<T>(A.rows()) : nullptr) {}

  /// Whether the operator runs steps before each product.
  template <class Run>
  static constexpr bool runs_before = requires(const Operator& A, Run& run, const T* x) {
    A.before_apply(run, x);
  };
  WHILST_HD static Operator for_method(const Operator& A) {
    if constexpr (steps::may_substitute) {
      return A.substitute();
    } else {
      return A;
    }
  }
  /// Where b - A x lies.
  WHILST_HD T* residual() const {
    if constexpr (steps::may_substitute) {
      return permutes() ? unpermuted : r;
    } else {
      return r;
    }
  }
  WHILST_HD bool permutes() const {
    if constexpr (steps::may_substitute) {
      return row_factors().sources != nullptr;
    } else {
      return false;
    }
  }
  WHILST_HD double reduction() const {
    if constexpr (steps::may_substitute) {
      return A.reduction();
    } else {
      return 0;
    }
  }
  WHILST_HD typename steps::factors row_factors() const {
    if constexpr (steps::may_substitute) {
      return A.row_factors();
    } else {
      return {};
    }
  }
  WHILST_HD typename steps::factors column_factors() const {
    if constexpr (steps::may_substitute) {
      return A.column_factors();
    } else {
      return {};
    }
  }
  WHILST_HD static Operator placed(const Operator& A, [[maybe_unused]] workspace& memory) {
    if constexpr (requires { A.with_memory(memory); }) {
      return A.with_memory(memory);
    } else {
      return A;
    }
  }
};

namespace detail {
template <class, class, class>
struct any_method;
}  // namespace detail

/// around_method for operators in parts, compiled once for all methods: these kernels depend on neither the method nor
/// the operator.
template <class T>
struct composed_around_method : around_method<T, composed_operator<T>, detail::any_method> {
  using around_method<T, composed_operator<T>, detail::any_method>::around_method;
  void bring_in(recorder& run) const;
  void judge_start(recorder& run, bool is_scaled) const;
  void begin_correction(recorder& run) const;
  void add_correction(recorder& run, bool lowers_error) const;
  void hand_back(recorder& run, bool lowers_error) const;
};

namespace detail {
template <class T, class Operator, template <class, class, class> class Method>
struct around_method_of {
  using type = around_method<T, Operator, Method>;
};
template <class T, template <class, class, class> class Method>
struct around_method_of<T, composed_operator<T>, Method> {
  using type = composed_around_method<T>;
};
}  // namespace detail

}  // namespace whilst
