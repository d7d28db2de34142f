#pragma once

#include <string>

#include "apps/common/program.hpp"
#include "whilst/linear_solver.hpp"

/// The program whilst: one function per subcommand.
namespace whilst::command {

/// The options that solve and compare share, as given; names and ranges are checked.
struct solve_options {
  /// One of these two is empty.
  std::string matrix_file, gallery;
  /// Empty: the gallery's own load, or ones.
  std::string rhs_file;
  /// Empty: solver.null_space says which.
  std::string null_space_file;
  /// Of vectors to deflate; empty for none.
  std::string deflation_file;
  std::string precision = "double";
  linear_solver_options solver;
  bool monitor = false, explain = false, quiet = false;
  /// "mpi" or "threads:4", of compare also "threads:1,2,4"; empty for one process without others.
  std::string ranks;
  double peer_limit_seconds = 10;  ///< how long ranks wait for one that does not come
  /// How they share the rows: one of partition_names().
  std::string partition = "rows";
  /// Of compare: a preconditioner to run beside the solver's; empty for none.
  std::string beside;
  /// Where to write results, "-" for standard output; empty to skip.
  std::string output, json, history, plot;
};

struct gallery_options {
  /// Empty: list the names.
  std::string name_and_size;
  std::string output, rhs_output;
};

/// Each returns an exit_status and throws whilst::error.
int run_solve(const solve_options& options);
int run_compare(const solve_options& options);
int run_gallery(const gallery_options& options);
/// json: where to write the report; empty: human-readable text.
int run_info(const std::string& json);
/// Likewise, of the methods for linear systems.
int run_info_methods(const std::string& json);

}  // namespace whilst::command
