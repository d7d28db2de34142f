#pragma once

/// Runs the minimizations of a batch: see whilst/minimizer_batch.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "whilst/engine/steps/team_runner.hpp"
#include "whilst/host/batch_frame.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"
#include "whilst/nonlinear/functions/partially_separable.hpp"
#include "whilst/nonlinear/minimize/compact_workspace.hpp"
#include "whilst/nonlinear/minimize/shared_pattern.hpp"

namespace whilst {

/// How one minimization of a batch ended.
struct minimization_outcome {
  whilst::reason reason = whilst::reason::running;
  /// Number of accepted steps.
  std::int32_t iterations = 0;
  /// Evaluations of the function and its gradient.
  std::int32_t evaluations = 0;
  /// f and ||g||_2 at x.
  double value = 0, gradient_norm = 0;

  bool converged() const { return whilst::converged(reason); }
};

namespace detail {

/// Settings that all minimizations of a batch share, in memory of its place.
struct minimization_settings {
  descent_settings descent;
  control_settings loop;
};

template <class Direction>
constexpr bool wants_hessian = requires {
  Direction::wants_hessian;
};

/// The results of evaluations: per term, and for the Hessian.
template <class T, int K, bool with_hessian>
struct memory_of_function {
  double* values;
  T *gradients, *hessians, *H;

  WHILST_HD constexpr memory_of_function(const pattern_view& pattern, compact_workspace& memory)
      : values(memory.take<double>(pattern.terms)),
        gradients(memory.take<T>(K * pattern.terms)),
        hessians(with_hessian ? memory.take<T>(K * (K + 1) / 2 * pattern.terms) : nullptr),
        H(with_hessian ? memory.take<T>(pattern.nonzeros) : nullptr) {}
};

/// The function of one problem, for any runner: a sum of terms, as partially_separable records it.
template <class T, class Term, bool with_hessian>
struct function_of_terms {
  static constexpr int K = Term::unknowns;
  Term term;
  const pattern_view& pattern;
  memory_of_function<T, K, with_hessian> memory;

  WHILST_HD index_type unknowns() const { return pattern.unknowns; }
  template <class Run>
  WHILST_HD evaluated<T> evaluate(Run& run, const T* x) const {
    run.step("f and g of terms", pattern.terms, evaluate_terms<T, Term>{term, arrays(), x});
    return {memory.values, pattern.terms, {memory.gradients, pattern.gradient_offsets, pattern.gradient_positions}};
  }

  WHILST_HD hessian_view<T> hessian() const {
    return {pattern.unknowns, pattern.nonzeros, pattern.row_offsets, pattern.columns, memory.H};
  }
  struct gather_hessian {
    gathered<T> from;
    T* H;
    const int* wanted;
    WHILST_HD void operator()(index_type k) const {
      if (*wanted) H[k] = from(k, from.entries(k));
    }
  };
  template <class Run>
  WHILST_HD void make_hessian(Run& run, const T* x, const int* wanted, bool positive) const {
    run.step("Hessians of terms", pattern.terms, make_term_hessians<T, Term>{term, arrays(), x, wanted, positive});
    run.step("H", pattern.nonzeros,
             gather_hessian{{memory.hessians, pattern.hessian_offsets, pattern.hessian_positions}, memory.H, wanted});
  }

 private:
  WHILST_HD typename term_group<T>::arrays arrays() const {
    typename term_group<T>::arrays made{};
    made.terms = pattern.terms;
    made.unknowns = pattern.unknowns_of_terms;
    made.values = memory.values;
    made.gradients = memory.gradients;
    made.hessians = memory.hessians;
    return made;
  }
};

/// Minimization k of a batch, for the team that runs it, in the problem's own memory.
template <class T, class Problem, template <class> class Direction>
struct whole_minimizations {
  using term_type = decltype(std::declval<const Problem&>().of_problem(index_type{}));
  static constexpr bool with_hessian = wants_hessian<Direction<T>>;
  using function_type = function_of_terms<T, term_type, with_hessian>;
  using memory_type = memory_of_function<T, term_type::unknowns, with_hessian>;
  using solve_type = descent_solve<T, Direction>;

  Problem problem;
  pattern_view pattern;
  const batch_frame* frame;
  const minimization_settings* settings;
  minimization_outcome* outcomes;
  std::byte* memory;  ///< of all problems; null if they use only fast memory, or their threads' own
  index_type bytes_a_problem;

  /// Bytes of working memory per problem.
  static constexpr index_type bytes_of(const pattern_view& pattern) {
    struct {
      index_type n;
      constexpr index_type unknowns() const { return n; }
    } const function{pattern.unknowns};
    compact_workspace measuring;
    measuring.take<control>(1);
    memory_type(pattern, measuring);
    solve_type(function, {}, {}, nullptr, nullptr, nullptr, measuring);
    constexpr index_type alignment = alignof(control);
    return (measuring.used() + alignment - 1) / alignment * alignment;
  }

  index_type fast_memory_bytes() const { return memory ? 0 : bytes_a_problem; }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    run(k, team, memory ? memory + k * bytes_a_problem : static_cast<std::byte*>(team.fast_memory()));
  }

  /// A team_runner checks for cancel and deadline with a trip's first finish, which is the judge's: as after the
  /// judge's own verdict, x is then the previous point. The last trip allowed runs to its end: x is the accepted point,
  /// and the trial point has not been evaluated.
  struct hand_back {
    descent_vectors<T> v;
    slot<T> io;
    const descent_state* s;
    const control* loop;
    WHILST_HD void operator()(index_type i) const {
      const bool moved = loop->trips_left < 0 && loop->why == reason::iteration_limit;
      io.get()[i] = s->accepted && !moved ? v.trial[i] : v.x[i];
    }
  };
  struct tell {
    const descent_state* s;
    const control* loop;
    minimization_outcome* outcome;
    WHILST_HD void operator()() const {
      *outcome = {loop->why, static_cast<std::int32_t>(loop->iteration), static_cast<std::int32_t>(s->evaluations),
                  s->value_of_f(), s->norm_of_gradient()};
    }
  };
  /// Methods expect memory like a buffer's: initially zero.
  template <class Team>
  WHILST_HD void clear(const Team& team, std::byte* of_problem) const {
    constexpr int piece = 16;
    for (index_type at = piece * team.rank(); at < bytes_a_problem; at += piece * team.size())
      std::memset(__builtin_assume_aligned(of_problem + at, piece), 0, piece);
    team.sync();
  }
  template <class Team>
  WHILST_HD void run(index_type k, const Team& team, std::byte* of_problem) const {
    clear(team, of_problem);
    compact_workspace workspace(of_problem);
    control* const loop = workspace.take<control>(1);
    const function_type f{problem.of_problem(k), pattern, memory_type(pattern, workspace)};
    const solve_type solve(f, {}, {}, loop, &settings->descent, nullptr, workspace);
    if (team.rank() == 0) loop->settings = settings->loop;
    T* x = static_cast<T*>(frame->x) + k * pattern.unknowns;
    const slot<T> io{&x};
    team_runner<Team> run(team, &frame->root);
    run.step("bring in x", pattern.unknowns, typename solve_type::bring_in{io, solve.v},
             typename solve_type::begin{solve.s, loop});
    solve.descend(run, f);
    run.step("hand x back", pattern.unknowns, hand_back{solve.v, io, solve.s, loop}, tell{solve.s, loop, outcomes + k});
  }
};

/// The same with a problem's memory in the thread that runs it, which a GPU lays out so that neighbouring threads read
/// neighbours. For functions of one term.
template <class Minimizations>
struct minimizations_of_threads {
  static constexpr int n = Minimizations::term_type::unknowns;
  static constexpr index_type bytes = Minimizations::bytes_of(pattern_view::of_one_term(n));
  /// Two blocks of 256 leave each thread 128 registers: the working data is in memory anyway, and access has to wait.
  static constexpr int blocks_wanted = 2;
  /// A GPU reserves this much for every resident thread.
  static constexpr bool are_small = bytes <= 4096;
  Minimizations each;

  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    alignas(control) std::byte own[are_small ? bytes : 1];
    if constexpr (are_small) each.run(k, team, own);
  }
};

}  // namespace detail
}  // namespace whilst
