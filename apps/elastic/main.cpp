#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "arguments.hpp"

namespace whilst::elastic {
namespace {

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  if (const auto status = command::parse_command_line(given.app, argument_count, argument_values)) return *status;
  const int status = run_elastic(given.options());
  command::require_standard_output();
  return status;
}

}  // namespace
}  // namespace whilst::elastic

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors("elastic", "a scene of this size", [=] {
    return whilst::elastic::parse_and_run(argument_count, argument_values);
  });
}
