#include "whilst/gallery.hpp"

#include <fmt/format.h>

#include "apps/common/output_file.hpp"
#include "command.hpp"
#include "solvers/files/text_file.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {

int run_gallery(const gallery_options& options) {
  if (options.name_and_size.empty()) {
    if (!options.output.empty() || !options.rhs_output.empty()) {
      throw error("gallery", "there is nothing to write without a problem", "Name one, as poisson2d:64");
    }
    fmt::print("Model problems, to be named as NAME:SIZE (poisson2d:512):\n\n");
    for (const auto& entry : gallery_names()) fmt::print("  {:<15} {}\n", entry.name, entry.help);
    return succeeded;
  }
  const output_file output("--output", options.output), rhs_output("--rhs-output", options.rhs_output);
  if (!output.wanted() && !rhs_output.wanted()) {
    throw error("gallery " + options.name_and_size, "nothing to do", "Say where to write with --output A.mtx");
  }
  require_different_files({}, {&output, &rhs_output});
  const auto problem = make_gallery<double>(options.name_and_size);
  output.write_with([&](const std::string& path) { write_matrix<double>(path, problem.matrix); });
  rhs_output.write_with([&](const std::string& path) { write_vector<double>(path, problem.rhs); });
  std::FILE* const out = output.is_standard_output() || rhs_output.is_standard_output() ? stderr : stdout;
  fmt::print(out, "{}: {}\n{} rows, {} nonzeros", problem.name, problem.description, problem.matrix.rows(),
             problem.matrix.nonzeros());
  if (output.wanted()) fmt::print(out, "; matrix in {}", detail::printable(output.path()));
  if (rhs_output.wanted()) fmt::print(out, "; right-hand side in {}", detail::printable(rhs_output.path()));
  fmt::print(out, "\n");
  return succeeded;
}

}  // namespace whilst::command
