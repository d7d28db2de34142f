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
/// What minimize and equations share: one of the bundled problems, solved from its standard start.

namespace whilst::command {

/// The options of both, as given; names and ranges are checked.
struct bundled_options {
  /// List the problems and do nothing else.
  bool list = false;
  /// "rosenbrock", "extended-rosenbrock:1000".
  std::string problem;
  /// Factor on the standard starting point.
  double start_factor = 1;
  /// The CUDA device; -1 for the current one.
  int device = -1;
  bool monitor = false, quiet = false;
  /// Where to write results, "-" for standard output; empty to skip.
  std::string output, json, history, plot;
};

struct name_and_size {
  std::string name;
  index_type n = 0;  ///< 0: not given
};
/// Parses NAME[:N]. Throws whilst::error that begins with the command's name; `what` is "function", `example` one.
name_and_size parse_problem(const std::string& command, const std::string& what, const std::string& given,
                            const std::string& example);

bool is_one_of(const std::string& name, const std::vector<std::string>& names);
/// For an option that was given: throws whilst::error unless the method is one of those it applies to.
void require_method(const std::string& command, const std::string& option, const std::string& method,
                    const std::vector<std::string>& methods);

/// Where results go. Checks the paths.
struct bundled_files {
  explicit bundled_files(const bundled_options& options);
  output_file output, history, plot;
  json_destination report;
};

/// Prints a line of a list, without trailing blanks.
void print_line(const std::string& line);

/// The header's lines on start and machine.
void print_start(std::FILE* out, const bundled_options& options, const std::string& executor);
/// A convergence test; off if the tolerance is 0.
struct convergence_test {
  double tolerance;
  const char *test, *of;  ///< "||step|| <=", " ||x||"
};
/// The header's line on the solver, beginning with `method`.
void print_solver(std::FILE* out, const std::string& method, const std::vector<convergence_test>& tests,
                  index_type max_iterations, double deadline);
/// The header's line on the executor.
void print_executor(std::FILE* out, const std::string& executor, const std::string& asked_for);

/// The start times its factor.
std::vector<double> start_of(std::vector<double> standard, const bundled_options& options);

/// The columns of a history.
struct history_words {
  bool has_values;
  const char *norm, *norm_column;  ///< "||g||", "gradient_norm"
};
void print_history(std::FILE* out, const std::vector<descent_record>& records, const history_words& words);
std::string records_csv(const std::vector<descent_record>& records, const history_words& words);
json records_json(const std::vector<descent_record>& records, const history_words& words);

/// Minimizes or solves from x, with a progress line about `norm`.
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
