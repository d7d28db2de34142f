#include "results.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace whilst::command {

result_files::result_files(const solve_options& options)
    : output("--output", options.output),
      history("--history", options.history),
      plot("--plot", options.plot),
      report(options.json, {&output, &history, &plot}, options.quiet) {
  require_different_files({{"the matrix", options.matrix_file},
                           {"--rhs", options.rhs_file},
                           {"--null-space-vectors", options.null_space_file},
                           {"--deflation", options.deflation_file}},
                          {&output, &history, &plot, &report.file()});
}

double relative_tolerance(const solve_options& options, double rhs_norm) {
  return rhs_norm > 0 ? std::max(options.solver.rtol, options.solver.atol / rhs_norm) : options.solver.rtol;
}

std::string progress_line(const progress& now, double rhs_norm) {
  return fmt::format("iteration {}, relative residual {:.3e}", now.iteration,
                     rhs_norm > 0 ? now.residual_norm / rhs_norm : now.residual_norm);
}

void print_history(std::FILE* out, const report& result) {
  fmt::print(out, "\n{:>12}  {:>13}  {:>13}\n", "iteration", "residual", "relative");
  for (const auto& [iteration, norm] : result.history()) {
    fmt::print(out, "{:>12}  {:>13.6e}  {:>13.6e}\n", iteration, norm,
               result.rhs_norm() > 0 ? norm / result.rhs_norm() : norm);
  }
  fmt::print(out, "\n");
}

}  // namespace whilst::command
