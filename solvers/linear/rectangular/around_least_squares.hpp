#pragma once

#include "solvers/linear/rectangular/least_squares_steps.hpp"
#include "whilst/linear/around_method.hpp"

namespace whilst {

/// All of a least_squares_solve except its method: what it works on, and the steps around the method's loop.
template <class T, class Operator, template <class, class, class> class Method>
struct around_least_squares {
  using steps = least_squares_steps<T, Operator, Method>;
  using shared = typename steps::shared;
  using operands = typename steps::operands;
  using scalars = typename steps::scalars;
  using scaled = scaled_operator<T, Operator>;

  Operator A;
  scaled sA;  ///< what the method iterates with
  index_type rows, columns;
  operands io;
  control *outer, *inner;
  scalars* s;
  T *x, *b, *r, *d, *kept;

  around_least_squares(const Operator& A, const operands& io, control* outer, control* inner, workspace& memory)
      : around_least_squares(A, io, outer, inner, memory.take<scalars>(1), memory) {}

  const double* tolerance() const { return s ? &s->tolerance : nullptr; }

  template <class Run>
  void bring_in(Run& run) const {
    run.step("bring in x", columns, typename steps::bring_in_x{io, x, d}, typename steps::begin{s, inner});
    run.step("bring in b", rows, typename steps::bring_in_b{io, b}, typename steps::note_rhs{s});
  }
  /// Judges the initial residual. is_scaled: M is made for sA, which is about 1.
  template <class Run>
  void judge_start(Run& run, bool is_scaled) const {
    A.prepare(run);
    product(run, "how large A is", A, d, r, typename steps::sizes{},
            typename steps::choose_factor{s, rows_of_all(A), is_scaled});
    run.step("scale b", rows, typename steps::scale{&s->to_residual, b, r});
    product(run, "A'b", sA.transposed(), r, d, typename steps::squares_of_product{},
            typename steps::choose_tolerance{s, outer});
    judge_residual(run, typename steps::judge_start{s, outer, inner});
  }
  /// Before the method's loop.
  template <class Run>
  void begin_correction(Run& run) const {
    run.step("d = 0", columns, typename steps::set_to_zero{d}, typename shared::await_correction{s});
  }
  /// After it: adds d to x and judges the residual.
  template <class Run>
  void add_correction(Run& run) const {
    run.step("x += d", columns, typename shared::add_correction{s, d, x, kept}, typename shared::measure_x{s, inner});
    judge_residual(run, typename steps::judge_restart{s, outer, inner, io.settings.keep_best});
  }
  template <class Run>
  void hand_back(Run& run) const {
    run.step("hand x back", columns, typename shared::hand_back{s, inner, io, false, x, d, kept},
             typename steps::tell{s, outer, inner, io});
  }

 private:
  around_least_squares(const Operator& A_given, const operands& io, control* outer, control* inner, scalars* s,
                       workspace& memory)
      : A(A_given.with_memory(memory)),
        sA{A, s ? &s->operator_factor : nullptr},
        rows(A.rows()),
        columns(A.transposed().rows()),
        io(io),
        outer(outer),
        inner(inner),
        s(s),
        x(memory.take<T>(columns)),
        b(memory.take<T>(rows)),
        r(memory.take<T>(rows)),
        d(memory.take<T>(columns)),
        kept(memory.take<T>(columns)) {}

  /// d, when it is no correction, takes what is made to be measured alone.
  template <class Run, class Judge>
  void judge_residual(Run& run, const Judge& judge) const {
    product(run, "r = b - A x", A, x, r, typename steps::residual{b}, typename steps::note_residual{s});
    run.step("scale r", rows, typename steps::scale{&s->to_residual, r, r});
    product(run, "A'r", sA.transposed(), r, d, typename steps::squares_of_product{}, judge);
  }
};

/// around_least_squares for operators in parts, compiled once for all methods.
template <class T>
struct composed_around_least_squares : around_least_squares<T, composed_operator<T>, detail::any_method> {
  using around_least_squares<T, composed_operator<T>, detail::any_method>::around_least_squares;
  void bring_in(recorder& run) const;
  void judge_start(recorder& run, bool is_scaled) const;
  void begin_correction(recorder& run) const;
  void add_correction(recorder& run) const;
  void hand_back(recorder& run) const;
};

namespace detail {
template <class T, class Operator, template <class, class, class> class Method>
struct around_least_squares_of {
  using type = around_least_squares<T, Operator, Method>;
};
template <class T, template <class, class, class> class Method>
struct around_least_squares_of<T, composed_operator<T>, Method> {
  using type = composed_around_least_squares<T>;
};
}  // namespace detail

}  // namespace whilst
