#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace CLI {
class App;
}

namespace whilst_bench {

struct cutest_options {
  std::vector<std::string> problems{"all"}, methods{"all"};
  std::vector<whilst::index_type> sizes{100, 1000};
  std::string line_search = "strong-wolfe", executor = "auto";
  double gradient_tolerance = 1e-6;
  whilst::index_type max_iterations = 10'000;
  double deadline = 10;                  ///< seconds of one minimization
  whilst::index_type dense_limit = 200;  ///< most unknowns for methods with n * n numbers
  int repetitions = 1;
  std::string json, profile;
};

/// Adds the subcommand `cutest`, which fills `options`.
CLI::App* add_cutest_command(CLI::App& app, cutest_options& options);

/// Minimizes every problem of kernels/problems/test_functions/cutest.hpp that has a minimum by every method. Returns
/// the exit status: 0 all solved, 2 not all, 3 if a method reported a gradient that its x does not have. Throws
/// whilst::error on wrong options, before anything is minimized.
int run_cutest(const cutest_options& options);

}  // namespace whilst_bench
