#pragma once

#include "solvers/linear/columns/columns_solve_steps.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// The whole solve of A X = B by a method for several columns: a linear_solve in which each column has its own scalars,
/// scale, verdicts and restarts, and every step works on all columns that still run.
///
/// Two loops for all columns, and two controls for each. The method's loop runs until every column has a verdict of its
/// own recurrence; the outer one then recomputes R = B - A X, and each column has converged, has failed, or restarts.
/// It runs until no column restarts. A column that has ended is frozen: its x does not change any more. Sums are a
/// column's own, so no number of one reaches another.
template <class T, class Operator, class Preconditioner, template <class, class, class> class Method>
struct columns_solve {
  using steps = columns_solve_steps<T, Operator>;
  using operands = typename steps::operands;
  using scalars = typename steps::scalars;
  using entries = column_pair<T>;
  using method_type = Method<T, Operator, Preconditioner>;
  static constexpr bool lowers_error = true;
  static constexpr int most_sums = 6;

  Operator A;
  operands io;
  column_layout of;
  control *root, *within;  ///< of the loops for all columns
  typename steps::states each;
  scalars* of_all;  ///< what A itself says
  scaled_operator<T, Operator> sA;
  Preconditioner M;
  entries *x, *b, *r, *d, *kept;
  double* partial;  ///< sums over pieces
  method_type method;

  /// outer, inner: the controls of the loops for all columns.
  columns_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                workspace& memory)
      : A(A),
        io(io),
        of(A.rows(), io.columns),
        root(outer),
        within(inner),
        each{memory.take<scalars>(of.all_columns()), memory.take<control>(of.all_columns()),
             memory.take<control>(of.all_columns())},
        of_all(memory.take<scalars>(1)),
        sA{A, of_all ? &of_all->operator_factor : nullptr},
        M(with_memory(M, memory)),
        x(memory.take<entries>(of.entries())),
        b(memory.take<entries>(of.entries())),
        r(memory.take<entries>(of.entries())),
        d(memory.take<entries>(of.entries())),
        kept(memory.take<entries>(of.entries())),
        partial(memory.take<double>(of.numbers_of_sums(most_sums))),
        method(sA, this->M, of, each.inner, d, r, partial, memory) {}

  template <class Run>
  void operator()(Run& run) const {
    const bool may_rise = lowers_error || !io.settings.keep_best;
    visit_rows(run, "bring in B and X", of, typename steps::bring_in{io, of, x, b}, partial);
    judge_columns<6>(run, "norms of B and X", of, partial, typename steps::begin{each, root, within});
    run.loop(
        "until the true residuals agree", root,
        [&](auto& run) {
          const bool scales = M.made_from_operator();
          run.step("how large A is", A.rows(), typename steps::measure_operator{A},
                   typename steps::note_size{of_all, A.rows(), scales});
          M.prepare(run, sA);
          residual(run, typename steps::judge_start{each, of_all, A.rows(), scales});
        },
        [&](auto& run) {
          visit_rows(run, "scale R, D = 0", of, typename steps::scale_residual{each, r, d});
          run.step("the columns begin", of.all_columns(), typename steps::begin_correction{each});
          run.loop(
              method_type::name, within, [&](auto& run) { method.start(run); },
              [&](auto& run) { method.iterate(run); });
          visit_rows(run, "X += D", of, typename steps::add_correction{each, d, x, kept}, partial);
          judge_columns<3>(run, "norms of X", of, partial, typename steps::measure_x{each, within});
          residual(run, typename steps::judge_restart{each, io.settings.keep_best, lowers_error});
        });
    visit_rows(run, "hand X back", of, typename steps::hand_back{io, of, each, may_rise, x, d, kept});
    run.step("tell", of.columns, typename steps::tell{io, each, root, may_rise});
  }

 private:
  /// One in parts takes its memory with the method, for all columns.
  Preconditioner with_memory(const Preconditioner& given, [[maybe_unused]] workspace& memory) const {
    if constexpr (Preconditioner::pointwise) {
      return given.with_memory(A.rows(), memory);
    } else {
      return given;
    }
  }
  template <class Run, class Judge>
  void residual(Run& run, const Judge& judge) const {
    visit_rows(run, "R = B - A X", of, typename steps::residual{each, A, of.pairs, b, x, r}, partial);
    judge_columns<3>(run, "which columns go on", of, partial, judge, while_a_column_goes_on{});
  }
};

}  // namespace whilst
