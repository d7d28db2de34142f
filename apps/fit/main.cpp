#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "arguments.hpp"
#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

int run(const arguments& given) {
  if (given.models) {
    fmt::print("{}", model_table());
    return fitted;
  }
  if (given.fit.file.empty()) throw error("there are no data; give a FILE (see fit --help)");
  return run_fit(given.fit);
}

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  try {
    given.app.parse(argument_count, argument_values);
  } catch (const CLI::Success& asked) {  // --help, --version
    return given.app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    throw error(fmt::format("{} (see fit --help)", problem.what()));
  }
  const int status = run(given);
  // A full disk or a closed pipe shows only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw error("writing to standard output", "it failed", "Look whether its disk is full");
  }
  return status;
}

}  // namespace
}  // namespace whilst::fitting

int main(int argument_count, char** argument_values) {
  try {
    return whilst::fitting::parse_and_run(argument_count, argument_values);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "fit: not enough memory for data of this size\n");
  } catch (const std::exception& problem) {
    fmt::print(stderr, "fit: {}\n", problem.what());
  }
  return whilst::fitting::failed;
}
