#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "arguments.hpp"

namespace whilst::token_loop {
namespace {

int parse_and_run(int argument_count, char** argument_values) {
  arguments given;
  if (const auto status = command::parse_command_line(given.app, argument_count, argument_values)) return *status;
  const int status = run_token_loop(given.options());
  command::require_standard_output();
  return status;
}

}  // namespace
}  // namespace whilst::token_loop

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors("token_loop", "a model of this size", [=] {
    return whilst::token_loop::parse_and_run(argument_count, argument_values);
  });
}
