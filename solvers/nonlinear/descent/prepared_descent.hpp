#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "solvers/nonlinear/descent/descent_options.hpp"
#include "whilst/host/prepared_program.hpp"
#include "whilst/nonlinear/descent/descent_report.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"

namespace whilst {

/// Options that minimizers and solvers of equations share.
struct descent_options : loop_options {
  std::string executor;
  index_type max_evaluations;

  template <class Options>
  explicit descent_options(const Options& of)
      : loop_options(of), executor(of.executor), max_evaluations(of.max_evaluations) {}

  /// Throws whilst::error on a senseless value.
  void check(std::string_view making) const;
  /// The executor on the place of the problem; throws whilst::error if there is none by that name. `what` names the
  /// problem: "the function".
  whilst::executor executor_on(place where, std::string_view making, const std::string& what) const;
};

/// A recorded descent ready to launch, and its reports.
template <class T>
class prepared_descent final : public prepared_program {
 public:
  /// options: already checked. `began`: when its construction began.
  prepared_descent(recorded_descent<T> recorded, executor how, const descent_options& options,
                   const descent_settings& settings, const std::string& method, index_type unknowns,
                   clock::time_point began);

  /// How a solve ended.
  struct ended {
    descent_report told;
    double value;
    index_type trial_values, refreshes;
  };
  /// From host memory. Blocks. `doing` opens the message of an exception; `what` describes the problem: "it has 3
  /// unknowns".
  ended solve(std::string_view doing, const std::string& what, std::span<T> x);
  /// The same with x on the place, after earlier work on `stream`.
  ended solve(std::string_view doing, stream_handle stream, T* x);

  /// The tolerances must have been checked.
  void set_tolerances(const descent_tolerances& tolerances);

 private:
  void set_parameters(const ticket::state& of, const void* b, void* x) override;
  /// Waits for the latest launch, in whose turn the caller is.
  ended wait_for(std::shared_ptr<ticket::state> launched) const;
  template <class Value>
  static void read(place where, Value* target, const Value* source, index_type count);

  index_type max_evaluations_;
  descent_settings settings_;
  recorded_descent<T> made_;
};

}  // namespace whilst
