#include <fmt/format.h>

#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "command.hpp"
#include "whilst/version.hpp"

namespace whilst::command {

int run_info(const std::string& json) {
  const json_destination report(json);
  const machine_description machine = describe_machine();
  if (report.wanted()) {
    report.write(machine_json(machine));
    return succeeded;
  }
  fmt::print("whilst       {}, commit {}, built {} CUDA", version, source_commit(),
             machine.cuda_build ? "with" : "without");
  if (machine.cuda_build) fmt::print(" {}", cuda_version(machine.toolkit_version));
  fmt::print("\nprocessor    {}, {} thread{}\n", machine.processor, machine.threads, machine.threads == 1 ? "" : "s");
  fmt::print("driver       {}\n", driver_line(machine));
  if (machine.device.empty()) {
    fmt::print("device       none\n");
  } else {
    fmt::print("device       {}, compute capability {}.{} ({} visible)\n", machine.device, machine.compute_major,
               machine.compute_minor, machine.device_count);
  }
  fmt::print("WHILE nodes  {}\n", machine.conditional_nodes                ? "work: a graph with one was run"
                                  : machine.conditional_nodes_note.empty() ? "none"
                                                                           : "none: " + machine.conditional_nodes_note);
  fmt::print("executors\n");
  for (const auto& executor : machine.executors) {
    fmt::print("  {:<10} {}\n", executor.name, executor.available ? "available" : "not here: " + executor.why_not);
  }
  return succeeded;
}

}  // namespace whilst::command
