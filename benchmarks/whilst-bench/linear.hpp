#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace CLI {
class App;
}

namespace whilst_bench {

struct linear_options {
  /// Where the systems come from: a folder with Matrix Market files, model problems, a JSON list of cases.
  std::string data, cases;
  std::vector<std::string> gallery;
  std::vector<std::string> methods{"all"}, preconditioners{"none", "jacobi"};
  std::string executor = "auto", precision = "double";
  /// 0: 1e-8, or 1e-4 in float.
  double rtol = 0;
  whilst::index_type max_iterations = 10'000;
  double deadline = 60;  ///< seconds of one solve
  int repetitions = 1;
  bool baseline = false;
  std::string json, profile;

  double tolerance() const { return rtol > 0 ? rtol : precision == "float" ? 1e-4 : 1e-8; }
};

/// Adds the subcommand `linear`, which fills `options`.
CLI::App* add_linear_command(CLI::App& app, linear_options& options);

/// Runs every method on every system. Returns the exit status: 0 all solved, 2 not all, 3 if a method reported
/// convergence that its x does not have. Throws whilst::error on wrong options and cases, before anything is solved.
int run_linear(const linear_options& options);

}  // namespace whilst_bench
