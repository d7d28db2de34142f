#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "arguments.hpp"

namespace whilst::command {
namespace {

void require_one_problem(const char* doing, const solve_options& options) {
  if (options.matrix_file.empty() == options.gallery.empty()) {
    throw error(doing, options.gallery.empty() ? "there is no matrix" : "there are two matrices",
                "Give either FILE.mtx or --gallery NAME:SIZE");
  }
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
  if (given.gallery->parsed()) return run_gallery(given.gallery_wanted);
  return run_info(given.info_json);
}

/// CLI11 would say of a mistyped command only that it was not expected.
void require_known_command(const std::string& command) {
  if (command.empty() || command[0] == '-') return;
  constexpr std::array known{"solve", "compare", "gallery", "info"};
  for (const char* name : known) {
    if (command == name) return;
  }
  throw error("\"" + command + "\" is not a command; give one of solve, compare, gallery, info");
}

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  try {
    if (argument_count > 1) require_known_command(argument_values[1]);
    given.app.parse(argument_count, argument_values);
  } catch (const CLI::Success& asked) {  // --help, --version
    return given.app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    std::string help = "whilst";
    for (const CLI::App* command : given.app.get_subcommands()) help += " " + command->get_name();
    throw error(fmt::format("{} (see {} --help)", problem.what(), help));
  }
  const int status = run(given);
  // A full disk or a closed pipe shows only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw error("writing to standard output", "it failed", "Look whether its disk is full");
  }
  return status;
}

}  // namespace
}  // namespace whilst::command

int main(int argument_count, char** argument_values) {
  try {
    return whilst::command::parse_and_run(argument_count, argument_values);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "whilst: not enough memory for a problem of this size\n");
  } catch (const std::exception& problem) {
    fmt::print(stderr, "whilst: {}\n", problem.what());
  }
  return whilst::command::failed;
}
