#pragma once

/// @file
/// The template door to linear systems: an operator and a preconditioner that are functors of your own, whole solves
/// recorded from them, every executor. Where CUDA is on, compile files that include this by nvcc.

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/bicgstab.hpp"
#include "solvers/conjugate_gradient.hpp"
#include "solvers/launches.hpp"
#include "solvers/matrix_on_place.hpp"
#include "solvers/recorded_solve.hpp"
#include "solvers/solve_options.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/machine.hpp"

namespace whilst {

/// Makes a whole preconditioner of a function u_i = f(i, r_i), given as a trivially copyable functor.
template <class Function>
struct pointwise_preconditioner : Function {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
  WHILST_HD pointwise_preconditioner with_memory(index, workspace&) const { return *this; }
  template <class Run, class Operator>
  WHILST_HD void prepare(Run&, const Operator&) const {}
};

namespace detail {

/// An operator of the user's own in the place of a matrix: it binds no values, and all problems of a batch share it
/// unless it has of_problem(k).
template <class T, class Operator>
struct own_operator : Operator {
  slot<const T> values;
  WHILST_HD own_operator of_problem([[maybe_unused]] index k) const {
    if constexpr (requires(const Operator& A) { A.of_problem(k); }) {
      return {Operator::of_problem(k), values};
    } else {
      return *this;
    }
  }
};

template <class Preconditioner>
constexpr auto whole_preconditioner(const Preconditioner& M) {
  if constexpr (requires { Preconditioner::pointwise; }) {
    return M;
  } else {
    return pointwise_preconditioner<Preconditioner>{M};
  }
}

}  // namespace detail

/// Records solves by Method (conjugate_gradient or bicgstab) with an operator and a preconditioner of your own. Of the
/// request, where, rows (as many as A has), history_capacity, systems and in_kernel count.
template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_solve(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  return record_with<Method, T>(request, detail::own_operator<T, Operator>{A, {}}, detail::whole_preconditioner(M));
}

/// Solves A x = b again and again for an operator of your own: recorded when it is made, replayed by each solve.
/// @code
///   struct scaled_identity {                                   // trivially copyable; pointers in it are borrowed and
///     whilst::index n;                                         // must be of the memory of the solver's place
///     WHILST_HD whilst::index rows() const { return n; }
///     WHILST_HD int lanes_wanted() const { return 1; }         // 1, 2, 4, 8, 16 or 32 threads work on a row
///     template <class Team>                                    // entry i of A x, which each of them returns
///     WHILST_HD double row(whilst::index i, const double* x, const Team&) const { return 2 * x[i]; }
///   };
///   struct halve {                                             // entry i of M r, M close to the inverse of A
///     WHILST_HD double operator()(whilst::index, double r) const { return r / 2; }
///   };
///   auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(scaled_identity{1000}, halve{});
///   whilst::report r = solver.solve(b, x);
/// @endcode
/// Everything is as in linear_solver, whose comments hold here: executors, tickets, captures, one solve at a time.
template <class T>
class operator_solver {
 public:
  /// Made by make_operator_solver.
  operator_solver(executor_choice choice, const solve_request<T>& request, recorded_solve<T> recorded,
                  linear_solver_options options, std::string_view method, double setup_seconds)
      : options_(std::move(options)), where_(choice.where), n_(request.rows), solve_(std::move(recorded)) {
    const auto begin = std::chrono::steady_clock::now();
    history_capacity_ = request.history_capacity;
    solve_.recorded->prepare(settings_of_run(options_, where_, choice.how, request.in_kernel));
    const machine_description machine = describe_machine(where_.on_host() ? -1 : where_.device());
    report_fields common;
    common.method = method;
    common.preconditioner = "user";
    common.executor = request.in_kernel ? "resident" : std::string(name(solve_.recorded->running_on()));
    common.precision = sizeof(T) == 4 ? "float" : "double";
    common.device = where_.on_host() ? machine.processor : machine.device;
    common.note = solve_.recorded->note();
    common.rows = n_;
    executor_name_ = common.executor;
    desk_ = std::make_unique<launch_desk>(where_, solve_.outer, solve_.inner, solve_.history, std::move(common));
#if WHILST_WITH_CUDA
    if (!where_.on_host()) {
      cuda::device_guard current(where_.device());
      own_stream_ = cuda::make_stream();
    }
#endif
    const std::chrono::duration<double> prepared = std::chrono::steady_clock::now() - begin;
    desk_->common().setup_seconds = setup_seconds + prepared.count();
  }
  operator_solver(operator_solver&&) noexcept = default;
  operator_solver& operator=(operator_solver&&) = delete;
  /// Runs in flight write outcomes: they end before the desk goes.
  ~operator_solver() {
    if (solve_.recorded) try {
        solve_.recorded->wait();
      } catch (const error&) {
      }
  }

  /// Solves with b and x in host memory, n entries each; x holds the initial guess and receives the solution. Blocks.
  report solve(std::span<const T> b, std::span<T> x) {
    const auto count = static_cast<std::size_t>(n_);
    if (b.size() != count || x.size() != count)
      throw error("solving a linear system",
                  "the operator has " + std::to_string(n_) + " rows, b has " + std::to_string(b.size()) +
                      " entries and x has " + std::to_string(x.size()),
                  "Make all three agree");
    if (where_.on_host()) return enqueue(nullptr, b.data(), x.data()).wait();
#if WHILST_WITH_CUDA
    if (b_on_gpu_.size() != n_) {
      b_on_gpu_ = buffer<T>(where_, n_);
      x_on_gpu_ = buffer<T>(where_, n_);
    }
    b_on_gpu_.upload(b.data());
    x_on_gpu_.upload(x.data());
    const report result = enqueue(own_stream_.get(), b_on_gpu_.data(), x_on_gpu_.data()).wait();
    x_on_gpu_.download(x.data());
    return result;
#else
    return {};
#endif
  }
  report solve(const std::vector<T>& b, std::vector<T>& x) { return solve(std::span<const T>(b), std::span<T>(x)); }

  /// Enqueues a solve on `stream` and returns without waiting; b and x are pointers of the solver's place.
  ticket enqueue(stream_handle stream, const T* b, T* x) {
    bool in_capture = false;
#if WHILST_WITH_CUDA
    const cuda::relaxed_capture_mode relaxed;
    if (!where_.on_host()) {
      stream = stream ? stream : cudaStreamLegacy;
      cudaStreamCaptureStatus status{};
      WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &status));
      in_capture = status != cudaStreamCaptureStatusNone;
    }
#endif
    auto started = desk_->begin();
    program& recorded = *solve_.recorded;
    recorded.set(solve_.b, b);
    recorded.set(solve_.x, x);
    recorded.set(solve_.outcome, static_cast<solve_outcome*>(started->outcome.data()));
    recorded.set(solve_.outer_settings, outer_settings(options_, started->number));
    recorded.set(solve_.inner_settings, inner_settings(options_, solve_.history, history_capacity_));
    recorded.enqueue(stream);
    desk_->enqueued(started, stream, in_capture);
    return ticket(std::make_shared<ticket::state>(ticket::state{desk_.get(), std::move(started)}));
  }

  void set_tolerances(double rtol, double atol) {
    change([&](linear_solver_options& o) { o.rtol = rtol, o.atol = atol; });
  }
  void set_max_iterations(index limit) {
    change([&](linear_solver_options& o) { o.max_iterations = limit; });
  }
  void set_deadline(double seconds) {
    change([&](linear_solver_options& o) { o.deadline = seconds; });
  }

  /// Stops the solve in flight, from any thread; harmless when none is.
  void cancel() { desk_->cancel(desk_->latest()); }
  /// How far the solve in flight is, from any thread.
  whilst::progress progress() const { return desk_->progress(); }
  std::string explain() const { return solve_.recorded->explain(); }
  std::string dot() const { return solve_.recorded->dot(); }
  const std::string& executor() const { return executor_name_; }

  /// Throws whilst::error on the first option that is out of its range.

 private:
  template <class Change>
  void change(const Change& apply) {
    linear_solver_options changed = options_;
    apply(changed);
    check_options("setting the options of a solver", changed);
    options_ = std::move(changed);
  }

  linear_solver_options options_;
  place where_;
  index n_, history_capacity_ = 0;
  recorded_solve<T> solve_;
  std::string executor_name_;
  std::unique_ptr<launch_desk> desk_;
  buffer<T> b_on_gpu_, x_on_gpu_;
#if WHILST_WITH_CUDA
  cuda::stream own_stream_;
#endif
};

/// Makes an operator_solver for A by Method, preconditioned by M: a function as above, or a preconditioner of the
/// library's. `method` and `preconditioner` of the options are not looked at. Throws whilst::error on options out of
/// range and on an executor that this machine does not have.
template <template <class, class, class> class Method, class T, class Operator,
          class Preconditioner = identity_preconditioner>
operator_solver<T> make_operator_solver(const Operator& A, const Preconditioner& M = {},
                                        linear_solver_options options = {}) {
  using whole = decltype(detail::whole_preconditioner(M));
  const auto begin = std::chrono::steady_clock::now();
  check_options("making a solver for an operator", options);
  const executor_choice choice = choose_executor(options, A.rows(), false, whole::runs_in_kernel);
  solve_request<T> request;
  request.where = choice.where;
  request.rows = A.rows();
  request.history_capacity = history_records(options);
  request.in_kernel = choice.how == executor::resident;
  auto recorded = record_solve<Method>(request, A, M);
  const std::chrono::duration<double> recording = std::chrono::steady_clock::now() - begin;
  return operator_solver<T>(choice, request, std::move(recorded), std::move(options),
                            Method<T, detail::own_operator<T, Operator>, whole>::name, recording.count());
}

}  // namespace whilst
