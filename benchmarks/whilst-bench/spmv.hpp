#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace whilst_bench {

struct spmv_options {
  /// Where the matrices come from: a folder with Matrix Market files, model problems.
  std::string data;
  std::vector<std::string> gallery;
  std::vector<std::string> formats{"all"};
  std::string executor = "auto", precision = "double";
  double budget = 0.2;  ///< seconds of measured products in each format
  std::string json;
};

/// Adds the subcommand `spmv`, which fills `options`.
CLI::App* add_spmv_command(CLI::App& app, spmv_options& options);

/// Times products with every matrix in every format, and by cuSPARSE on a GPU. Returns the exit status: 0 all products
/// are right, 2 some are not, or a file cannot be read. Throws whilst::error on wrong options, before anything is
/// measured.
int run_spmv(const spmv_options& options);

}  // namespace whilst_bench
