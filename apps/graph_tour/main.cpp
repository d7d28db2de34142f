#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "tour.hpp"
#include "whilst/host/choose_executor.hpp"

namespace whilst::graph_tour {
namespace {

int parse_and_run(int argument_count, char** argument_values) {
  std::string executor_name = "auto", only;
  std::vector<std::string> names;
  std::string list = "Stops:\n";
  for (const stop& one : stops()) {
    names.push_back(one.name);
    list += fmt::format("  {:<10}{}\n", one.name, one.what);
  }
  CLI::App app(
      "Walks through what programs are recorded from, and checks each stop. Its text, apps/graph_tour/tour.cpp, is to "
      "be copied from.",
      "graph_tour");
  command::add_version(app);
  command::add(&app, "--executor", executor_name,
               "What runs the programs: the CPU; kernel launches; one CUDA graph (default auto: graph on a GPU, host "
               "without)",
               command::one_of({"auto", "host", "stream", "graph"}));
  command::add(&app, "--stop", only, "Make this stop only", command::one_of(names));
  app.footer(list +
             "\nExamples:\n  graph_tour\n  graph_tour --executor host --stop loop\n\n"
             "Exit status: 0 all checks hold; 1 one does not, or any error.");
  if (const auto status = command::parse_command_line(app, argument_count, argument_values)) return *status;

  const executor_choice choice = choose_executor({.executor = executor_name}, 1, false, {});
  for (const stop& one : stops()) {
    if (!only.empty() && one.name != only) continue;
    fmt::print("{}: {} (executor {})\n", one.name, one.what, name(choice.how));
    one.visit({choice.where, choice.how});
    fmt::print("\n");
  }
  command::require_standard_output();
  return command::succeeded;
}

}  // namespace
}  // namespace whilst::graph_tour

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors(
      "graph_tour", "the tour", [=] { return whilst::graph_tour::parse_and_run(argument_count, argument_values); });
}
