#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/nonlinear/descent/descent_options.hpp"
#include "whilst/host/launches.hpp"
#include "whilst/nonlinear/descent/descent_report.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

/// Options that minimizers and solvers of equations share.
struct loop_options {
  std::string executor;
  index_type max_iterations, max_evaluations;
  double deadline;
  int unroll;
  bool programmatic_launch, check_pointers;
  index_type history_capacity;
  int threads;

  template <class Options>
  explicit loop_options(const Options& of)
      : executor(of.executor),
        max_iterations(of.max_iterations),
        max_evaluations(of.max_evaluations),
        deadline(of.deadline),
        unroll(of.unroll),
        programmatic_launch(of.programmatic_launch),
        check_pointers(of.check_pointers),
        history_capacity(of.history_capacity),
        threads(of.threads) {}

  /// Throws whilst::error on a senseless value.
  void check(std::string_view making) const;
  /// The executor on the place of the problem; throws whilst::error if there is none by that name. `what` names the
  /// problem: "the function".
  whilst::executor executor_on(place where, std::string_view making, const std::string& what) const;
};

/// A recorded descent ready to launch, and its reports: everything that minimizers and solvers of equations do on the
/// host once their options are checked.
template <class T>
class prepared_descent final : public prepared_program {
 public:
  using clock = std::chrono::steady_clock;

  /// `began`: when its construction began.
  prepared_descent(recorded_descent<T> recorded, executor how, loop_options options, const descent_settings& settings,
                   const std::string& method, index_type unknowns, clock::time_point began);

  /// x is a pointer of the place. Throws whilst::error if the place cannot use it.
  std::shared_ptr<ticket::state> enqueue(CUstream_st* stream, T* x);

  /// How a solve from host memory ended.
  struct ended {
    descent_report told;
    double value;
    index_type trial_values;
  };
  /// Blocks. `doing` opens the message of an exception; `what` describes the problem: "it has 3 unknowns".
  ended solve(std::string_view doing, const std::string& what, std::span<T> x);

  /// The tolerances must have been checked.
  void set_tolerances(const descent_tolerances& tolerances);
  void set_max_iterations(index_type limit) override;
  void set_deadline(double seconds) override;

  launch_desk& desk() override { return *desk_; }

 private:
  std::shared_ptr<ticket::state> launch(CUstream_st* stream, T* x);
  template <class Value>
  static void read(place where, Value* target, const Value* source, index_type count);
  template <class Change>
  void change(const Change& apply);

  index_type n_;
  loop_options options_;
  descent_settings settings_;
  recorded_descent<T> made_;
  buffer<T> x_on_gpu_;  ///< for solves from host memory
#if WHILST_WITH_CUDA
  cuda::stream own_stream_;
#endif
  std::unique_ptr<launch_desk> desk_;  ///< last, so that it is destroyed first: it waits for the runs in flight
};

}  // namespace whilst
