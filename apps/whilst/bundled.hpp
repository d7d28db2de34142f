#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "apps/common/progress.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"

/// @file
/// What minimize and equations have in common: one of the bundled problems, solved from its standard start.

namespace whilst::command {

/// The options of both, as given; names and ranges have been checked.
struct bundled_options {
  /// List the problems, and do nothing else.
  bool list = false;
  /// "rosenbrock", "extended-rosenbrock:1000".
  std::string problem;
  /// What the standard starting point is multiplied by.
  double start_factor = 1;
  /// The CUDA device; -1 is the current one.
  int device = -1;
  bool monitor = false, quiet = false;
  /// Where results go, "-" for standard output; empty for those not wanted.
  std::string output, json, history, plot;
};

struct name_and_size {
  std::string name;
  index_type n = 0;  ///< 0: none was given
};
/// Of NAME or NAME:N. Throws whilst::error that begins with the command's name; `what` is "function", `example` one.
name_and_size parse_problem(const std::string& command, const std::string& what, const std::string& given,
                            const std::string& example);

bool is_one_of(const std::string& name, const std::vector<std::string>& names);
/// For an option that was given: throws whilst::error where it is for these methods and the method is none of them.
void require_method(const std::string& command, const std::string& option, const std::string& method,
                    const std::vector<std::string>& methods);

/// Where results go. Tries the paths.
struct bundled_files {
  explicit bundled_files(const bundled_options& options);
  output_file output, history, plot;
  json_destination report;
};

/// A line of a list, without the blanks at its end.
void print_line(const std::string& line);

/// The header's lines on start and machine.
void print_start(std::FILE* out, const bundled_options& options, const std::string& executor);
/// What ends a solve as converged; off where the tolerance is 0.
struct convergence_test {
  double tolerance;
  const char *test, *of;  ///< "||step|| <=", " ||x||"
};
/// The header's line on the solver, of which `method` tells first.
void print_solver(std::FILE* out, const std::string& method, const std::vector<convergence_test>& tests,
                  index_type max_iterations, double deadline);
/// And that on the executor.
void print_executor(std::FILE* out, const std::string& executor, const std::string& asked_for);

/// The start times its factor.
std::vector<double> start_of(std::vector<double> standard, const bundled_options& options);

/// Which columns of a history there are.
struct history_words {
  bool has_values;
  const char *norm, *norm_column;  ///< "||g||", "gradient_norm"
};
void print_history(std::FILE* out, const std::vector<descent_record>& records, const history_words& words);
std::string records_csv(const std::vector<descent_record>& records, const history_words& words);
json records_json(const std::vector<descent_record>& records, const history_words& words);

/// Minimizes or solves from x, with a line of progress about `norm`.
template <class Solver>
auto solve_with_progress(Solver& solver, std::vector<double>& x, const char* norm, bool log) {
  decltype(solver.solve(x)) result;
  const auto line = [&](const progress& now) {
    return fmt::format("iteration {}, {} {:.3e}", now.iteration, norm, now.residual_norm);
  };
  run_with_progress(
      solver, [&] { result = solver.solve(x); }, line, log);
  return result;
}

}  // namespace whilst::command
