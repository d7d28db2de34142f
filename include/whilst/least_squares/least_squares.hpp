#pragma once

/// @file
/// Nonlinear least squares with a few unknowns; the residuals are a functor of your own. With CUDA on, compile files
/// that include this with nvcc.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/engine/runs_in_flight.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/host/machine.hpp"
#include "whilst/host/report.hpp"
#include "whilst/least_squares/levenberg_marquardt.hpp"
#include "whilst/least_squares/parameter_bounds.hpp"
#include "whilst/least_squares/spread_of_fit.hpp"

namespace whilst {

struct least_squares_options {
  least_squares_tolerances tolerances = {};
  /// Bounds on the unknowns: one each, infinite for none; or empty. No trial point is outside. They cost a GPU some
  /// time in each iteration.
  std::vector<double> lower = {}, upper = {};
  /// Trial points, including rejected ones. Not counted: re-evaluations of a point in a better basis, a few if columns
  /// of J are nearly dependent or squares would underflow or overflow.
  index_type max_iterations = 10'000;
  /// "auto", "host", "stream", "graph" or "resident"; see linear_solver_options.
  std::string executor = "auto";
  /// The CUDA device; -1 is the current one.
  int device = -1;
  /// Iterations per trip under graph; 0: automatic.
  int unroll = 0;
  /// Records of history to keep, an even number; 0 for none.
  index_type history_capacity = 512;
  /// On the host: the most threads that share a step, 1 to 1024; 0 uses OpenMP's settings. Results have the same bits
  /// for any number.
  int threads = 0;
};

/// How a fit ended.
struct least_squares_report : report {
  using report::report;
  /// 1/2 sum of r_i^2 at x. May underflow or overflow where residual_norm(), the root of twice this, does not.
  double value = 0;
  /// Accepted trial points.
  index_type accepted = 0;
  /// The estimated covariance of the unknowns, s^2 (J' J)^-1 with s^2 = sum of r_i^2 / (residuals - unknowns), row by
  /// row, from the triangular factor of J. An unknown held at a bound counts as fixed: its row and column are 0, and it
  /// is not among the unknowns subtracted. Empty if columns of J are dependent to working precision, or if there are no
  /// more residuals than unknowns.
  std::vector<double> covariance = {};
  /// The square roots of its diagonal, valid even if the squares in it underflow or overflow; empty if it is.
  std::vector<double> errors = {};
  std::vector<double> standard_errors() const { return errors; }
  /// One readable line: how it ended, after how many trial points, at what residual norm.
  std::string message() const {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, " after %lld iterations, residual norm %.3g",
                  static_cast<long long>(iterations()), residual_norm());
    return std::string(converged() ? "converged: " : "not converged: ") + std::string(sentence(reason())) + numbers;
  }
};

/// A whole fit, for every executor: reads x, loops, writes x back.
template <class T, class Problem>
struct least_squares_solve {
  using method_type = levenberg_marquardt<T, Problem>;
  using state = typename method_type::state;
  static constexpr bool runs_in_kernel = method_type::runs_in_kernel;
  static constexpr int n = Problem::unknowns;

  Problem problem;
  T* x;
  fit_settings settings;
  state* s;
  control* loop;
  std::uint64_t* nanoseconds;

  struct begin {
    const T* x;
    fit_settings settings;
    state* s;
    control* loop;
    std::uint64_t* nanoseconds;
    WHILST_HD void operator()() const {
      *s = state::begin_at(x, settings);
      loop->first_iteration = 0;
      *nanoseconds = now_nanoseconds();
    }
  };
  struct hand_back {
    const state* s;
    T* x;
    std::uint64_t* nanoseconds;
    WHILST_HD void operator()() const {
      for (int j = 0; j < n; ++j) x[j] = static_cast<T>(s->x[j]);
      *nanoseconds = now_nanoseconds() - *nanoseconds;
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    const method_type method{problem, s, settings};
    run.once("bring in x", begin{x, settings, s, loop, nanoseconds});
    run.loop(method_type::name, loop, [&](auto& run) { method.iterate(run); });
    run.once("hand x back", hand_back{s, x, nanoseconds});
  }
};

/// Fits repeatedly, from different starting points: recorded when constructed, replayed by each solve. Threads may
/// share it: solve() waits until other threads have returned from theirs.
///
/// Problem is trivially copyable; its pointers are to memory of the place. It has `static constexpr int unknowns`;
/// count(), the number of residuals; `template <class S> S operator()(index_type i, const S* x) const`, residual i at
/// x, where S is a number or a dual number.
template <class T, class Problem>
class least_squares_solver {
  using whole = least_squares_solve<T, Problem>;
  static constexpr int n = Problem::unknowns;

 public:
  /// make_problem(place) returns the problem with its data on that place. Throws whilst::error on options out of range,
  /// on a problem without residuals and on an executor that this machine does not have.
  template <class MakeProblem>
  least_squares_solver(const MakeProblem& make_problem, least_squares_options options)
      : least_squares_solver(check(options), options, make_problem) {}

  /// x, n entries, holds the starting point and receives the best point found. Blocks. x is left unchanged if the
  /// residuals are not finite at the starting point. Throws whilst::error if x has the wrong size or is out of bounds.
  least_squares_report solve(std::span<T> x) {
    if (x.size() != n)
      throw error("fitting",
                  "there are " + std::to_string(n) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                  "Make both agree");
    bounds_.require_inside("fitting", x);
    const turns::turn mine = hold("fitting");
    const no_run_left_behind guard(program_);
    x_.upload(x.data());
    program_.enqueue(nullptr);
    program_.wait();
    typename whole::state found;
    control loop;
    std::uint64_t nanoseconds = 0;
    state_.download(&found);
    control_.download(&loop);
    nanoseconds_.download(&nanoseconds);
    x_.download(x.data());

    report_fields fields = common_;
    fields.reason = loop.why;
    fields.iterations = loop.iteration;
    fields.residual_norm = found.residual_norm();
    fields.solve_seconds = fields.loop_seconds = 1e-9 * static_cast<double>(nanoseconds);
    std::vector<history_record> records(static_cast<std::size_t>(history_.size()));
    if (!records.empty()) history_.download(records.data());
    records.resize(static_cast<std::size_t>(std::max<index_type>(loop.history_count, 0)));
    fields.history = std::move(records);
    least_squares_report result{std::move(fields)};
    result.value = found.value();
    result.accepted = found.accepted;
    spread_of_fit spread =
        estimate_spread<n, T>(found, problem_.count(), bounds_.lower_on_host(), bounds_.upper_on_host());
    result.covariance = std::move(spread.covariance);
    result.errors = std::move(spread.standard_errors);
    return result;
  }

  /// Until the turn is destroyed, other threads wait in solve(): hold it while you change the problem's data. Throws
  /// whilst::error in code that a fit calls. `doing` opens the message.
  [[nodiscard]] turns::turn hold(std::string_view doing) const { return program_.enter(doing); }

  const std::string& executor() const { return common_.executor; }
  std::string explain() const { return program_.explain(); }

 private:
  static executor_choice check(const least_squares_options& options) {
    const std::string doing = "making a least-squares solver";
    if (options.max_iterations < 0)
      throw error(doing, "max_iterations is " + std::to_string(options.max_iterations), "Give 0 or more");
    if (options.history_capacity < 0 || options.history_capacity % 2)
      throw error(doing, "history_capacity is " + std::to_string(options.history_capacity),
                  "Give an even number, or 0 for no history");
    check_tolerances(doing, options.tolerances);
    check_host_threads(doing, options.threads);
    return choose_executor({.executor = options.executor, .device = options.device}, n, false, whole::runs_in_kernel);
  }

  template <class MakeProblem>
  least_squares_solver(executor_choice choice, const least_squares_options& options, const MakeProblem& make_problem)
      : problem_(make_problem(choice.where)),
        bounds_("making a least-squares solver", choice.where, n, options.lower, options.upper),
        x_(choice.where, n),
        state_(choice.where, 1),
        control_(choice.where, 1),
        nanoseconds_(choice.where, 1),
        history_(choice.where, options.history_capacity),
        program_(record(choice, options)) {
    const auto began = std::chrono::steady_clock::now();
    const bool in_kernel = choice.how == whilst::executor::resident;
    const whilst::executor how = in_kernel ? whilst::executor::stream : choice.how;
    program_.prepare({.how = how, .unroll = options.unroll, .threads = options.threads});
    common_.method = whole::method_type::name;
    common_.preconditioner = "none";
    common_.executor = in_kernel ? "resident" : std::string(name(program_.running_on()));
    common_.precision = sizeof(T) == 4 ? "float" : "double";
    common_.device = name_of_processor(choice.where);
    common_.note = program_.note();
    common_.rows = problem_.count();
    common_.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  program record(const executor_choice& choice, const least_squares_options& options) {
    if (problem_.count() < 1)
      throw error("making a least-squares solver", "there are no residuals", "Give data to fit");
    control_settings settings{};
    settings.limit = options.max_iterations;
    settings.trip_limit = std::numeric_limits<index_type>::max();  // not every trip is an iteration
    settings.history = history_.data();
    settings.history_capacity = options.history_capacity;
    program_recorder record(choice.where);
    record.parameter(&control_.data()->settings, settings);
    const fit_settings fit{options.tolerances, bounds_.lower(), bounds_.upper()};
    const whole solve{problem_, x_.data(), fit, state_.data(), control_.data(), nanoseconds_.data()};
    if (choice.how == whilst::executor::resident) {
      record.team(whole::method_type::name, 1,
                  problems_by_block<one_problem<whole>>{{solve}, threads_for_problem(problem_.count())});
    } else {
      solve(record);
    }
    return std::move(record).finish();
  }

  Problem problem_;
  detail::parameter_bounds<T> bounds_;
  buffer<T> x_;
  buffer<typename whole::state> state_;
  buffer<control> control_;
  buffer<std::uint64_t> nanoseconds_;
  buffer<history_record> history_;
  program program_;
  report_fields common_;
};

/// Residuals of a curve: model(b, x_i) - y_i, for a model with `parameters`, `variables` and operator()(b, x), like
/// those in the sources' kernels/problems/curves/curve_models.hpp. Borrows the data, in memory of the place that uses
/// it.
template <class Model>
struct curve_residuals {
  static constexpr int unknowns = Model::parameters;
  Model model;
  index_type points;
  const double* predictors;  ///< Model::variables for each point
  const double* response;

  WHILST_HD index_type count() const { return points; }
  template <class S>
  WHILST_HD S operator()(index_type i, const S* b) const {
    return model(b, predictors + i * Model::variables) - response[i];
  }
};

/// Fits a curve to points. Threads may share it: solve() and update_data() wait until other threads have returned from
/// theirs.
template <class T, class Model>
class curve_fit {
 public:
  /// predictors: Model::variables numbers per point, point by point; response: one per point, as the model returns it.
  /// Both are copied. Throws whilst::error if their sizes disagree or a value is not finite, and as
  /// least_squares_solver does.
  curve_fit(const Model& model, std::span<const double> predictors, std::span<const double> response,
            least_squares_options options = {})
      : points_(checked(predictors, response)),
        solver_([&](place where) { return problem_on(where, model, predictors, response); }, std::move(options)) {}

  /// b, Model::parameters entries, holds the starting point and receives the fit.
  least_squares_report solve(std::span<T> b) { return solver_.solve(b); }
  const std::string& executor() const { return solver_.executor(); }

  /// New data, with as many points, for later fits; copied, and nothing is recorded. Throws whilst::error as the
  /// constructor does.
  void update_data(std::span<const double> predictors, std::span<const double> response) {
    if (const index_type points = checked(predictors, response); points != points_)
      throw error("updating the data of a curve fit",
                  "there are " + std::to_string(points) + " points, and there were " + std::to_string(points_),
                  "Give as many, or make a curve_fit for them");
    const turns::turn mine = solver_.hold("updating the data of a curve fit");
    if (!predictors.empty()) predictors_.upload(predictors.data());
    response_.upload(response.data());
  }

 private:
  static index_type checked(std::span<const double> predictors, std::span<const double> response) {
    const std::string doing = "fitting a curve";
    if (response.empty()) throw error(doing, "there are no points", "Give some");
    if (predictors.size() != response.size() * Model::variables)
      throw error(doing,
                  "there are " + std::to_string(response.size()) + " responses and " +
                      std::to_string(predictors.size()) + " predictors",
                  "Give " + std::to_string(Model::variables) + " predictors a response");
    for (const std::span<const double>& values : {predictors, response})
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]))
          throw error(doing, "entry " + std::to_string(i) + " of the data is not finite", "Leave such points out");
    return static_cast<index_type>(response.size());
  }
  curve_residuals<Model> problem_on(place where, const Model& model, std::span<const double> predictors,
                                    std::span<const double> response) {
    predictors_ = buffer<double>(where, static_cast<index_type>(predictors.size()));
    response_ = buffer<double>(where, points_);
    if (!predictors.empty()) predictors_.upload(predictors.data());
    response_.upload(response.data());
    return {model, points_, predictors_.data(), response_.data()};
  }

  index_type points_;
  buffer<double> predictors_, response_;
  least_squares_solver<T, curve_residuals<Model>> solver_;
};

}  // namespace whilst
