#include "whilst/gallery.hpp"

#include <fmt/format.h>

#include "apps/common/output_file.hpp"
#include "command.hpp"
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
  if (!output.target().empty() && output.target() == rhs_output.target()) {
    throw error("gallery", "--output and --rhs-output name the same file", "Give each its own");
  }
  const auto problem = make_gallery<double>(options.name_and_size);
  output.write_with([&](const std::string& path) { write_matrix<double>(path, problem.matrix); });
  rhs_output.write_with([&](const std::string& path) { write_vector<double>(path, problem.rhs); });
  fmt::print("{}: {}\n{} rows, {} nonzeros", problem.name, problem.description, problem.matrix.rows(),
             problem.matrix.nonzeros());
  if (output.wanted()) fmt::print("; matrix in {}", output.path());
  if (rhs_output.wanted()) fmt::print("; right-hand side in {}", rhs_output.path());
  fmt::print("\n");
  return succeeded;
}

}  // namespace whilst::command
