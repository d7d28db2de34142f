#include <fmt/format.h>

#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "arguments.hpp"
#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

int run(const arguments& given) {
  if (given.models) {
    fmt::print("{}", model_table());
    return command::succeeded;
  }
  if (given.fit.file.empty()) throw error("there are no data; give a FILE (see fit --help)");
  return run_fit(given.fit);
}

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  if (const auto status = command::parse_command_line(given.app, argument_count, argument_values)) return *status;
  const int status = run(given);
  command::require_standard_output();
  return status;
}

}  // namespace
}  // namespace whilst::fitting

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors(
      "fit", "data of this size", [=] { return whilst::fitting::parse_and_run(argument_count, argument_values); });
}
