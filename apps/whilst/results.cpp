#include "results.hpp"

#include <algorithm>

namespace whilst::command {

result_files::result_files(const solve_options& options)
    : output("--output", options.output),
      history("--history", options.history),
      plot("--plot", options.plot),
      report(options.json, {&output, &history, &plot}, options.quiet) {
  require_different_files({{"the matrix", options.matrix_file},
                           {"--rhs", options.rhs_file},
                           {"--null-space-vectors", options.null_space_file}},
                          {&output, &history, &plot, &report.file()});
}

double relative_tolerance(const solve_options& options, double rhs_norm) {
  return rhs_norm > 0 ? std::max(options.solver.rtol, options.solver.atol / rhs_norm) : options.solver.rtol;
}

}  // namespace whilst::command
