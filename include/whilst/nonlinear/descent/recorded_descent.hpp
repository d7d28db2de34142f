#pragma once

#include <limits>
#include <memory>

#include "whilst/engine/recorder.hpp"
#include "whilst/linear/linear_solve.hpp"
#include "whilst/nonlinear/descent/damping.hpp"
#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/descent/parallel_lengths.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// A recorded minimization and the parameters that a launch may change.
template <class T>
struct recorded_descent {
  std::unique_ptr<program> recorded;
  parameter<T*> x;
  parameter<solve_outcome*> outcome;
  parameter<control_settings> loop_settings;
  parameter<descent_settings> settings;
  // In memory of the place.
  control* loop = nullptr;
  descent_state* state = nullptr;
  descent_record* records = nullptr;
};

/// What to record: a function to minimize, or equations to solve. It must outlive the program.
template <class T, class Function = objective<T>>
struct descent_request {
  const Function* function = nullptr;
  index_type history_capacity = 0;
  /// Iteration limit of the inner loop, for methods that have one.
  index_type inner_limit = 0;
  /// Products instead of a Hessian, for methods that take either.
  bool matrix_free = false;
  /// For levenberg-marquardt.
  damping_settings damping = {};
  /// The line search is the parallel one, which needs extra steps: the function has values_along.
  bool parallel_search = false;
  /// For newton-cg with a Hessian in memory: borrowed; null for the inverse of the diagonal.
  preconditioner<T>* M = nullptr;
};

/// A function that can evaluate its values along a line, as objectives do.
template <class Function>
concept told_along_lines = requires {
  &Function::values_along;
};

/// A function that ranks of a group have in parts: it gives the runner that records for them, and evaluates at points
/// behind whose own entries it puts those of others.
template <class Function>
concept function_of_ranks = requires(const Function& f, recorder& run) {
  f.runner(run);
  f.ghosts();
};
template <class Function>
WHILST_HD constexpr index_type ghosts_of([[maybe_unused]] const Function& f) {
  if constexpr (function_of_ranks<Function>) {
    return f.ghosts();
  } else {
    return 0;
  }
}

/// A Direction whose constructor takes a preconditioner in parts, too.
template <class Direction>
concept takes_preconditioner = Direction::takes_preconditioner;

/// A whole minimization around a method's choice of directions: brings in x, loops, hands x back. The function is an
/// objective, or provides its evaluate and, optionally, Hessian for the given runner. Each trip of the loop is one
/// evaluation:
///
///   f and g at the trial point; the line search accepts it, or asks for another length along d (judge_trial)
///   if it was accepted: a new direction is proposed, and a search begins along it
///   if it was accepted: x = trial point, d = new direction;  trial point = x + step d
///
/// With the parallel line search a trip begins with f at many lengths along d, and the trial point goes to the best.
///
/// So the line search is no inner loop, whose trips would cost more than its steps, and several evaluations go into one
/// trip of the graph. A gradient that the search does not need costs less than a step of its own would.
///
/// A Direction is made of (vectors, state, settings, function, workspace). At an accepted point, x, the gradient and d
/// are still the old ones and the new ones are at v.trial. Then
/// - it makes sums, which ride on the step that every evaluation has: `products` (a constant); read_products(i);
///   multiply(i, g_i, x_i, d_i, what was read), which computes index i's share, with one more argument if there is
///   read_own(i, team), for vectors that only multiply writes; choose(team, sums, accepted_step, copy), called by a
///   whole warp where there are warps, whose copy is of numbers(), of type `kept`; if it names a type `handed`, choose
///   leaves one in its fifth argument for accepted points, and entry gets it as its fifth. If it declares chosen_ahead,
///   its choose writes nothing else but the copy, which it may change: it may then be called before it is known whether
///   the point is accepted, and if so the copy goes back to numbers();
/// - or it has no `products` and records steps of its own in propose(run, function), the last of which has a finish
///   that calls change_direction; its `kept` is nothing_kept. If it declares by_radius it also has judge_of(records),
///   the finish of the evaluation, and proposes anew after every trial point. Its last step writes none of v's x, d,
///   gradient and trial, which the next step prefetches.
/// The direction is entry(g_i, s_i, d_i, read_entry(i)), plus what was handed over, if anything, where s is new x - old
/// x, and d is the old one. If a Direction names a trial_judge, that judges the trial points instead of judge_trial:
/// those for equations do, with F in the place of g, and f is ignored.
template <class T, template <class> class Direction>
struct descent_solve {
  slot<T> io;
  slot<solve_outcome> outcome;
  control* loop;
  const descent_settings* settings;
  descent_record* records;
  descent_state* s;
  descent_vectors<T> v;
  Direction<T> direction;
  typename handed_of<Direction<T>>::type* handed;
  T* lowest;  ///< the lowest point, if points may be higher than those before them
  /// For the parallel line search: f at the lengths of its fan. Null otherwise.
  double* line_values = nullptr;

  /// of_direction: more arguments of the Direction's constructor.
  template <class Function, class Workspace, class... More>
  WHILST_HD constexpr descent_solve(const Function& f, slot<T> io, slot<solve_outcome> outcome, control* loop,
                                    const descent_settings* settings, descent_record* records, Workspace& memory,
                                    const More&... of_direction)
      : io(io),
        outcome(outcome),
        loop(loop),
        settings(settings),
        records(records),
        s(memory.template take<descent_state>(1)),
        v(f.unknowns(), memory, ghosts_of(f)),
        direction(v, s, settings, f, memory, of_direction...),
        handed(memory.template take<typename handed_of<Direction<T>>::type>(1)),
        lowest(may_rise<Direction<T>> ? memory.template take<T>(v.n) : nullptr) {}

  struct bring_in {
    slot<T> io;
    descent_vectors<T> v;
    WHILST_HD void operator()(index_type i) const {
      v.x[i] = v.trial[i] = io.get()[i];
      v.d[i] = v.gradient[i] = 0;
    }
  };
  struct begin {
    descent_state* s;
    control* loop;
    WHILST_HD void operator()() const {
      descent_state fresh{};
      fresh.first = 1;
      fresh.magnify(1);
      fresh.value = fresh.gradient_norm = NAN;  // until evaluated
      *s = fresh;
      loop->first_iteration = 0;
      loop->residual_norm = HUGE_VAL;  // likewise
    }
  };
  /// Whether a method that may rise has failed above an earlier, lower point.
  WHILST_HD static bool goes_back(const descent_state& s, reason why) {
    return may_rise<Direction<T>> && !converged(why) && s.evaluations > 0 && !s.first && !s.is_lowest;
  }
  struct hand_back {
    descent_vectors<T> v;
    slot<T> io;
    const descent_state* s;
    const control* loop;
    const T* lowest;
    WHILST_HD void operator()(index_type i) const {
      io.get()[i] = !goes_back(*s, loop->why) ? (s->accepted ? v.trial[i] : v.x[i])
                    : s->was_lowest           ? v.x[i]
                                              : lowest[i];
    }
  };
  struct tell {
    const descent_state* s;
    const control* loop;
    slot<solve_outcome> outcome;
    WHILST_HD void operator()() const {
      solve_outcome& target = *outcome.get();
      target.iterations = loop->iteration;
      target.residual_norm = goes_back(*s, loop->why) ? s->lowest_norm * s->reduction : s->norm_of_gradient();
      target.rhs_norm = s->first_gradient_norm * s->reduction;
      target.nanoseconds = now_nanoseconds() - loop->started_at;
      target.loop_nanoseconds = loop->stopped_at - loop->started_at;
      target.history_count = loop->history_count;
      target.why = loop->why;
      loop->show_history();
      announce(target, loop->settings.launch);
    }
  };

  template <class Run, class Function>
  void operator()(Run& run, const Function& f) const {
    run.step("bring in x", v.n, bring_in{io, v}, begin{s, loop});
    if constexpr (takes_preconditioner<Direction<T>>) direction.M.parts->begin_sequence(run);
    descend(run, f);
    run.step("hand x back", v.n, hand_back{v, io, s, loop, lowest}, tell{s, loop, outcome});
  }

  /// The loop alone, for programs that do the work of bring_in and begin, hand_back and tell themselves, such as one
  /// that minimizes inside a loop of its own. Such a program may leave io and outcome empty.
  template <class Run, class Function>
  WHILST_HD void descend(Run& run, const Function& f) const {
    run.loop(Direction<T>::name, loop, [&](auto& run) { trip(run, f); });
  }

 private:
  // Separate functions rather than lambda bodies: in a generic lambda nvcc 12.4 compiles the branches that `if
  // constexpr` discards.
  template <class Run, class Function>
  WHILST_HD void trip(Run& run, const Function& f) const {
    if constexpr (told_along_lines<Function> && !within_radius<Direction<T>>) {
      if (line_values) {
        f.values_along(run, v.x, v.d, s->search.parallel.length, line_values);
        run.step("x + best step d", v.n, go_to_best_length<T>{v, s, settings, line_values},
                 take_best_length{s, settings, line_values});
      }
    }
    const evaluated<T> at = f.evaluate(run, v.trial);
    const examine_trial<T, Direction<T>> examine{direction, v, s, at};
    const move_on<T, Direction<T>> move{direction, v, s, handed, lowest};
    constexpr bool has_value = std::is_same_v<typename judge_of<Direction<T>>::type, judge_trial>;
    constexpr const char *judging = has_value ? "f, g, g'g, g'd" : "F, F'F", *going = "x, d, x + step d";
    if constexpr (within_radius<Direction<T>>) {
      run.step("f, g, g'g", v.n, examine, direction.judge_of(records));
      direction.propose(run, f);
      run.step(going, v.n, move);
    } else {
      const judge_and_choose<Direction<T>> judge{direction, s, settings, records, handed};
      if constexpr (hands_over<Direction<T>>) {
        run.step(judging, v.n, examine, judge, going, move);
      } else {
        run.step(judging, v.n, examine, judge);
        if constexpr (!chosen_by_products<Direction<T>>) direction.propose(run, f);
        run.step(going, v.n, move);
      }
    }
  }
};

/// Records a minimization, or a solve of equations, with Direction.
template <class T, template <class> class Direction, class Function>
recorded_descent<T> record_descent(const descent_request<T, Function>& request) {
  const Function& f = *request.function;
  recorded_descent<T> made;
  program_recorder record(f.where());
  f.prepare();
  if constexpr (requires { Direction<T>::wants_hessian; }) f.hessian();
  struct placed {
    T** x;
    solve_outcome** outcome;
    descent_settings* settings;
    descent_solve<T, Direction> solve;
  };
  const placed at = record.arena([&](arena_layout& memory) {
    memory.item("controls and records");
    T** const x = memory.take<T*>(1);
    solve_outcome** const outcome = memory.take<solve_outcome*>(1);
    descent_settings* const settings = memory.take<descent_settings>(1);
    made.loop = memory.take<control>(1);
    made.records = memory.take<descent_record>(request.history_capacity);
    memory.item("vectors and scalars");
    auto solve = [&] {
      if constexpr (takes_preconditioner<Direction<T>>) {
        return descent_solve<T, Direction>(f, {x}, {outcome}, made.loop, settings, made.records, memory, request.M);
      } else {
        return descent_solve<T, Direction>(f, {x}, {outcome}, made.loop, settings, made.records, memory);
      }
    }();
    if (request.parallel_search) solve.line_values = memory.take<double>(line_searches::parallel::lengths);
    return placed{x, outcome, settings, solve};
  });
  const descent_solve<T, Direction>& solve = at.solve;
  made.state = solve.s;
  made.x = record.parameter<T*>(at.x, nullptr);
  made.outcome = record.parameter<solve_outcome*>(at.outcome, nullptr);
  made.settings = record.parameter(at.settings, descent_settings{});
  made.loop_settings = record.parameter(&made.loop->settings, control_settings{});
  if constexpr (requires { solve.direction.inner; })
    record.parameter(&solve.direction.inner->settings, control_settings{.limit = request.inner_limit});
  if constexpr (requires { solve.direction.damping; }) record.parameter(solve.direction.damping, request.damping);
  if constexpr (function_of_ranks<Function>) {
    auto run = f.runner(record);
    // Here all miss the rank that does not come. Later some may wait in vain for one that waits for it.
    run.agree();
    solve(run, f);
  } else {
    solve(static_cast<recorder&>(record), f);
  }
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

inline constexpr index_type any_number_of_unknowns = std::numeric_limits<index_type>::max();

/// A method and its name.
template <class T, class Function = objective<T>>
struct descent_method {
  const char* name;
  recorded_descent<T> (*record)(const descent_request<T, Function>&);
  bool wants_hessian = false;  ///< for equations, the Jacobian
  /// The most unknowns for which its n * n numbers are reasonable.
  index_type most_unknowns = any_number_of_unknowns;
  /// Products of the Hessian suffice.
  bool takes_products = false;
  /// It uses a line search, not a trust region.
  bool searches_lines = true;
};

}  // namespace whilst
