#pragma once

#include "kernels/operators.hpp"
#include "whilst/control.hpp"
#include "whilst/solve_outcome.hpp"
#include "whilst/teams.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// The last thing to be written of an outcome: who polls for the number finds the rest there.
WHILST_HD inline void announce(solve_outcome& outcome, const control* root) {
#if defined(__CUDA_ARCH__)
  __threadfence_system();
#endif
  outcome.launch = root->settings.launch;
}

/// A linear system solved by a method, whole: bring in b and x, iterate, check the recomputed residual, hand x back.
/// The same text for every executor.
///
/// Two loops. The inner one is the method's, on its own recurrence for r. When it stops, the outer one recomputes
/// r = b - A x: converged for real, or the inner loop's reason stands, or the recurrence had drifted and the method
/// restarts from x. A restart that does not halve the true residual is the last one: the reason is then
/// attainable_accuracy. Where the residual turns out not to be finite, x is that of the last restart. Only the first
/// and the last step touch the caller's b and x.
template <class T, class Operator, class Preconditioner, template <class, class, class> class Method>
struct linear_solve {
  using method_type = Method<T, Operator, Preconditioner>;
  static constexpr bool runs_in_kernel = method_type::runs_in_kernel;

  /// What the caller binds.
  struct operands {
    slot<const T> b;
    slot<T> x;
    slot<solve_outcome> outcome;
  };
  struct scalars {
    double rhs_norm, initial_norm, last_norm;
    std::uint64_t loop_nanoseconds;
    int overflowed;  ///< x is not what it was; the one kept is
  };

  Operator A;
  Preconditioner M;
  operands io;
  control *outer, *inner;
  scalars* s;
  T *x, *b, *r, *kept;
  method_type method;

  WHILST_HD linear_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                         workspace& memory)
      : A(A),
        M(M.with_memory(A.rows(), memory)),
        io(io),
        outer(outer),
        inner(inner),
        s(memory.take<scalars>(1)),
        x(memory.take<T>(A.rows())),
        b(memory.take<T>(A.rows())),
        r(memory.take<T>(A.rows())),
        kept(memory.take<T>(A.rows())),
        method(A, this->M, x, r, memory) {}

  struct bring_in {
    operands io;
    T *x, *b;
    WHILST_HD auto operator()(index_type i) const {
      const T bi = io.b.get()[i];
      b[i] = bi;
      x[i] = io.x.get()[i];
      return sums{static_cast<double>(bi) * bi};
    }
    index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct begin {
    scalars* s;
    control* inner;
    WHILST_HD void operator()(const sums<double, 1>& bb) const {
      s->rhs_norm = sqrt(bb[0]);
      s->last_norm = HUGE_VAL;
      s->loop_nanoseconds = 0;
      s->overflowed = 0;
      inner->first_iteration = 0;
      // A solve that is over before the inner loop starts has none of the last one's.
      inner->iteration = 0;
      inner->why = reason::running;
      inner->forget_history();
    }
  };

  struct residual {
    Operator A;
    const T *b, *x;
    T* r;
    WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
    template <class Team>
    WHILST_HD auto operator()(index_type i, const Team& team) const {
      const T ri = b[i] - A.row(i, x, team);
      if (team.rank() == 0) r[i] = ri;
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const requires says_bytes<Operator> {
      return A.bytes() + 3 * n * static_cast<index_type>(sizeof(T));
    }
  };
  /// The verdict on the recomputed residual.
  struct judge {
    scalars* s;
    control *outer, *inner;
    WHILST_HD void operator()(const sums<double, 1>& rr) const {
      const double norm = sqrt(rr[0]);
      outer->complete_update();
      const bool restarted = outer->iteration > 0;
      if (!restarted) outer->set_reference(s->rhs_norm, norm);
      if (!restarted) s->initial_norm = norm > s->rhs_norm ? norm : s->rhs_norm;
      if (restarted) s->loop_nanoseconds += inner->stopped_at - inner->started_at;
      if (outer->check(norm)) {
        if (restarted && !is_finite(norm)) {
          s->overflowed = 1;
          outer->residual_norm = s->last_norm;
        }
        return;
      }
      if (restarted) {
        // The limit, a cancel, NaN and divergence end it. A method that saw a loss of positivity late may have seen
        // rounding only: it restarts too, as long as that gets somewhere.
        const bool hopeful = converged(inner->why) || inner->why == reason::indefinite_operator ||
                             inner->why == reason::indefinite_preconditioner || inner->why == reason::breakdown ||
                             inner->why == reason::stagnation;
        const bool progress = norm <= 0.5 * s->last_norm;
        if (!hopeful || !progress) {
          // So small a residual is made of rounding, and so is what the method saw in it.
          const double half_the_digits = sizeof(T) == 4 ? 3e-4 : 1e-8;
          const bool rounding = hopeful && norm <= half_the_digits * s->initial_norm;
          outer->stop(converged(inner->why) || rounding ? reason::attainable_accuracy : inner->why);
          return;
        }
      }
      s->last_norm = norm;
      inner->set_reference(*outer);
      inner->first_iteration = inner->iteration;
    }
  };

  struct keep {
    const T* x;
    T* kept;
    WHILST_HD void operator()(index_type i) const { kept[i] = x[i]; }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct hand_back {
    const scalars* s;
    slot<T> target;
    const T *x, *kept;
    WHILST_HD void operator()(index_type i) const { target.get()[i] = s->overflowed ? kept[i] : x[i]; }
    index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
  };
  struct tell {
    const scalars* s;
    const control *outer, *inner;
    slot<solve_outcome> outcome;
    WHILST_HD void operator()() const {
      solve_outcome& target = *outcome.get();
      target.iterations = inner->iteration;
      target.residual_norm = outer->residual_norm;
      target.rhs_norm = s->rhs_norm;
      target.nanoseconds = now_nanoseconds() - outer->started_at;
      target.loop_nanoseconds = s->loop_nanoseconds;
      target.history_count = inner->history_count;
      target.why = outer->why;
      announce(target, outer);
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    const index_type n = A.rows();
    run.step("bring in b and x", n, bring_in{io, x, b}, begin{s, inner});
    M.prepare(run, A);
    run.loop("until the true residual agrees", outer, [&](auto& run) {
      before_apply(run, A, static_cast<const T*>(x));
      run.step("r = b - A x", n, residual{A, b, x, r}, judge{s, outer, inner});
      run.loop(
          method_type::name, inner,
          [&](auto& run) {
            run.step("keep x", n, keep{x, kept});
            method.start(run);
          },
          [&](auto& run) { method.iterate(run); });
    });
    run.step("hand x back", n, hand_back{s, io.x, x, kept}, tell{s, outer, inner, io.outcome});
  }
};

}  // namespace whilst
