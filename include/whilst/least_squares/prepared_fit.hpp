#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "whilst/basics/error.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/host/prepared_program.hpp"
#include "whilst/least_squares/least_squares_options.hpp"
#include "whilst/least_squares/levenberg_marquardt.hpp"
#include "whilst/least_squares/parameter_bounds.hpp"
#include "whilst/least_squares/spread_of_fit.hpp"

namespace whilst {

/// What a fit leaves for its ticket: standard errors come from the state.
template <int n>
struct fit_result {
  solve_outcome outcome;
  fit_state<n> state;
};

/// A whole fit, for every executor: reads x, loops, writes x back.
template <class T, class Problem>
struct least_squares_solve {
  using method_type = levenberg_marquardt<T, Problem>;
  using state = typename method_type::state;
  static constexpr bool runs_in_kernel = method_type::runs_in_kernel;
  static constexpr int n = Problem::unknowns;

  Problem problem;
  slot<T> x;
  slot<fit_result<n>> result;
  fit_settings settings;
  state* s;
  control* loop;

  struct begin {
    slot<T> x;
    fit_settings settings;
    state* s;
    control* loop;
    WHILST_HD void operator()() const {
      *s = state::begin_at(x.get(), settings);
      loop->first_iteration = 0;
      loop->residual_norm = HUGE_VAL;  // until evaluated
    }
  };
  struct hand_back {
    const state* s;
    const control* loop;
    slot<T> x;
    slot<fit_result<n>> result;
    WHILST_HD void operator()() const {
      T* const target = x.get();
      for (int j = 0; j < n; ++j) target[j] = static_cast<T>(s->x[j]);
      fit_result<n>& left = *result.get();
      left.state = *s;
      left.outcome.iterations = loop->iteration;
      left.outcome.residual_norm = s->residual_norm();
      left.outcome.nanoseconds = now_nanoseconds() - loop->started_at;
      left.outcome.loop_nanoseconds = loop->stopped_at - loop->started_at;
      left.outcome.history_count = loop->history_count;
      left.outcome.why = loop->why;
      loop->show_history();
      announce(left.outcome, loop->settings.launch);
    }
  };

  WHILST_HD method_type method() const { return {problem, s, settings}; }
  WHILST_HD begin first() const { return {x, settings, s, loop}; }

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    const method_type fit = method();
    run.once("bring in x", first());
    run.loop(method_type::name, loop, [&](auto& run) { fit.iterate(run); });
    run.once("hand x back", hand_back{s, loop, x, result});
  }

  /// The same for recorders, which return handles of the steps that hold the settings.
  using first_handle = step_handle<detail::no_map, begin>;
  using trial_handle = step_handle<typename method_type::evaluate, typename method_type::judge>;
  std::pair<first_handle, trial_handle> record(recorder& run) const {
    const method_type fit = method();
    std::pair<first_handle, trial_handle> made;
    made.first = run.once("bring in x", first());
    run.loop(method_type::name, loop, [&](recorder& run) { made.second = fit.iterate(run); });
    run.once("hand x back", hand_back{s, loop, x, result});
    return made;
  }
};

namespace detail {

/// A recorded fit ready to launch, and its reports.
template <class T, class Problem>
class prepared_fit final : public prepared_program, public fit_reader {
  using whole = least_squares_solve<T, Problem>;
  using method_type = typename whole::method_type;
  using in_a_block = problems_by_block<one_problem<whole>>;
  static constexpr int n = whole::n;
  static constexpr const char* making = "making a least-squares solver";

 public:
  template <class MakeProblem>
  prepared_fit(const MakeProblem& make_problem, const least_squares_options& options)
      : prepared_fit{clock::now(), made(make_problem, options), options} {}  // in this order

  /// Solves with x in host memory: see prepared_program.
  std::shared_ptr<ticket::state> solve(std::span<T> x) {
    if (x.size() != n)
      throw error("fitting",
                  "there are " + std::to_string(n) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                  "Make both agree");
    made_.bounds->require_inside("fitting", x);
    return prepared_program::solve("fitting", nullptr, x.data());
  }

  void set_tolerances(const least_squares_tolerances& tolerances) {
    check_tolerances("setting the options of a solver", tolerances);
    const turns::turn mine = recorded().take_turn();
    made_.fit.settings.tolerances = tolerances;
    has_new_tolerances_ = true;
  }

  least_squares_report read(report told, const solve_outcome* left) const override {
    const fit_state<n>& found = static_cast<const fit_result<n>*>(static_cast<const void*>(left))->state;
    const parameter_bounds<T>& bounds = *made_.bounds;
    spread_of_fit spread =
        estimate_spread<n, T>(found, made_.fit.problem.count(), bounds.lower_on_host(), bounds.upper_on_host());
    return {std::move(told), found.value(), found.accepted, std::move(spread.covariance),
            std::move(spread.standard_errors)};
  }

 private:
  struct recording {
    std::unique_ptr<program> recorded;
    executor how;
    std::shared_ptr<const parameter_bounds<T>> bounds;
    whole fit;
    parameter<T*> x;
    parameter<fit_result<n>*> result;
    parameter<control_settings> loop;
    // Tolerances are arguments of kernels, not memory that each iteration would have to read.
    std::pair<typename whole::first_handle, typename whole::trial_handle> steps;
    step_handle<in_a_block, no_finish> one_kernel;
  };

  prepared_fit(clock::time_point began, recording made, const least_squares_options& options)
      : prepared_program(std::move(made.recorded),
                         {.method = method_type::name,
                          .in_float = sizeof(T) == 4,
                          .rows = made.fit.problem.count(),
                          .x_bytes = n * sizeof(T),
                          .how = made.how,
                          .outer = made.fit.loop,
                          .inner = made.fit.loop,
                          .outcome_bytes = sizeof(fit_result<n>),
                          .began = began},
                         loop_options(options)),
        made_(std::move(made)) {}

  static in_a_block as_one_kernel(const whole& fit) { return {{fit}, threads_for_problem(fit.problem.count())}; }

  template <class MakeProblem>
  static recording made(const MakeProblem& make_problem, const least_squares_options& options) {
    check_options(making, options);
    const auto [where, how] = choose_executor({.executor = options.executor, .device = options.device}, n, false,
                                              {.runs = whole::runs_in_kernel});
    const Problem problem = make_problem(where);
    if (problem.count() < 1) throw error(making, "there are no residuals", "Give data to fit");
    const auto bounds = std::make_shared<const parameter_bounds<T>>(making, where, n, options.lower, options.upper);
    program_recorder record(where);
    struct places {
      T** x;
      fit_result<n>** result;
      fit_state<n>* state;
      control* loop;
    };
    const places at = record.arena([&](arena_layout& memory) {
      memory.item("control and state of the fit");
      return places{memory.take<T*>(1), memory.take<fit_result<n>*>(1), memory.take<fit_state<n>>(1),
                    memory.take<control>(1)};
    });
    const fit_settings settings{options.tolerances, bounds->lower(), bounds->upper()};
    recording made{nullptr, how, bounds, {problem, {at.x}, {at.result}, settings, at.state, at.loop}, {}, {},
                   {},      {},  {}};
    made.x = record.parameter<T*>(at.x, nullptr);
    made.result = record.parameter<fit_result<n>*>(at.result, nullptr);
    made.loop = record.parameter(&at.loop->settings, control_settings{});
    if (how == executor::resident) {
      made.one_kernel = record.team(method_type::name, 1, as_one_kernel(made.fit));
    } else {
      made.steps = made.fit.record(record);
    }
    made.recorded = std::make_unique<program>(std::move(record).finish());
    made.recorded->keep({}, bounds);
    return made;
  }

  void set_parameters(const ticket::state& of, const void*, void* x) override {
    program& run = recorded();
    if (has_new_tolerances_) update_tolerances();
    run.set(made_.x, static_cast<T*>(x));
    run.set(made_.result, static_cast<fit_result<n>*>(of.seen.data()));
    control_settings loop = root_settings(of);
    loop.trip_limit = std::numeric_limits<index_type>::max();  // not every trip is an iteration
    run.set(made_.loop, desk().with_history(loop, of));
  }

  void update_tolerances() {
    const whole& fit = made_.fit;
    if (made_.how == executor::resident) {
      recorded().update(made_.one_kernel, as_one_kernel(fit));
    } else {
      recorded().update(made_.steps.first, fit.first());
      recorded().update(made_.steps.second, {fit.problem, fit.s}, {fit.s, fit.settings});
    }
    has_new_tolerances_ = false;
  }

  recording made_;
  bool has_new_tolerances_ = false;
};

}  // namespace detail
}  // namespace whilst
