#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/common/manual.hpp"
#include "apps/common/program.hpp"
#include "arguments.hpp"

namespace whilst::command {
namespace {

void require_one_problem(const char* doing, const solve_options& options) {
  if (options.matrix_file.empty() == options.gallery.empty()) {
    throw error(doing, options.gallery.empty() ? "there is no matrix" : "there are two matrices",
                "Give either FILE.mtx or --gallery NAME:SIZE");
  }
  if (options.matrix_file == "-" && options.rhs_file == "-")
    throw error("--rhs -", "standard input is the matrix", "Give another path");
  const bool is_read = options.matrix_file == "-" || options.rhs_file == "-";
  if (options.null_space_file == "-" && is_read)
    throw error("--null-space-vectors -", "standard input is read for another option", "Give another path");
  if (options.deflation_file == "-" && (is_read || options.null_space_file == "-"))
    throw error("--deflation -", "standard input is read for another option", "Give another path");
}

int run(const arguments& given) {
  if (given.solve->parsed()) {
    require_one_problem("solve", given.solving);
    return run_solve(given.solving);
  }
  if (given.compare->parsed()) {
    require_one_problem("compare", given.comparing);
    return run_compare(given.comparing);
  }
  if (given.eigen->parsed()) {
    require_one_problem("eigen", given.finding_pairs.about);
    return run_eigen(given.finding_pairs);
  }
  if (given.minimize->parsed()) return run_minimize(given.minimizing);
  if (given.equations->parsed()) return run_equations(given.solving_equations);
  if (given.gallery->parsed()) return run_gallery(given.gallery_wanted);
  if (given.info->parsed()) return given.info_methods ? run_info_methods(given.info_json) : run_info(given.info_json);
  fmt::print("{}", given.man->parsed() ? man_page(given.app) : completion_script(given.app, given.shell));
  return succeeded;
}

/// For a mistyped command CLI11 would say only that it was not expected.
void require_known_command(const CLI::App& app, const std::string& command) {
  if (command.empty() || command[0] == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* one : commands_of(app)) {
    known.push_back(one->get_name());
    if (command == known.back()) return;
  }
  throw error(fmt::format("\"{}\" is not a command; give one of {}", command, fmt::join(known, ", ")));
}

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  if (argument_count == 1) {
    fmt::print(stderr, "{}", given.app.help());
    return failed;
  }
  require_known_command(given.app, argument_values[1]);
  if (const auto status = parse_command_line(given.app, argument_count, argument_values)) return *status;
  const int status = run(given);
  require_standard_output();
  return status;
}

}  // namespace
}  // namespace whilst::command

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors("whilst", "a problem of this size", [=] {
    return whilst::command::parse_and_run(argument_count, argument_values);
  });
}
