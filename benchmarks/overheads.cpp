/// What comes before the first iteration, and what an iteration costs beyond its arithmetic: loops of small steps;
/// conjugate gradients from 64 to 16.8 million unknowns, by every executor, beside the baselines; the other linear
/// methods; several right-hand sides at once; and batches of small systems. Prints tables and writes JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>

#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/overheads/batches.hpp"
#include "benchmarks/overheads/conjugate_gradients.hpp"
#include "benchmarks/overheads/enqueues.hpp"
#include "benchmarks/overheads/methods.hpp"
#include "benchmarks/overheads/multigrid.hpp"
#include "benchmarks/overheads/setups.hpp"
#include "benchmarks/overheads/several_columns.hpp"
#include "benchmarks/overheads/step_loops.hpp"
#include "benchmarks/overheads/tables.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace overheads {
namespace {

std::string cuda_version(int coded) {
  return coded ? fmt::format("{}.{}", coded / 1000, coded % 1000 / 10) : std::string("none");
}

json describe(const whilst::machine_description& machine, const settings& asked) {
  const whilst::measured_at measured = whilst::measured_now();
  return {{"version", whilst::version},
          {"commit", measured.commit},
          {"date", measured.date},
          {"quick", asked.quick},
          {"machine",
           {{"processor", machine.processor},
            {"threads", machine.threads},
            {"device", machine.device},
            {"compute_capability", fmt::format("{}.{}", machine.compute_major, machine.compute_minor)},
            {"driver", machine.driver_release.empty() ? "unknown" : machine.driver_release},
            {"driver_cuda", cuda_version(machine.driver_version)},
            {"toolkit", cuda_version(machine.toolkit_version)}}}};
}

/// Bytes per second of a device-to-device copy, read plus written, between buffers far larger than the caches; 0
/// without a GPU.
double measure_copy([[maybe_unused]] bool gpu) {
#if WHILST_WITH_CUDA
  if (!gpu) return 0;
  constexpr std::size_t bytes = std::size_t{2} << 30;
  const whilst::raw_buffer source(whilst::place::gpu(0), bytes), target(whilst::place::gpu(0), bytes);
  cudaEvent_t made = nullptr;
  WHILST_CUDA("making an event", cudaEventCreate(&made));
  const whilst::cuda::event begin(made);
  WHILST_CUDA("making an event", cudaEventCreate(&made));
  const whilst::cuda::event end(made);
  std::vector<double> rates;
  for (int repeat = 0; repeat < 12; ++repeat) {
    WHILST_CUDA("timing a copy", cudaEventRecord(begin.get()));
    WHILST_CUDA("timing a copy", cudaMemcpyAsync(target.data(), source.data(), bytes, cudaMemcpyDeviceToDevice));
    WHILST_CUDA("timing a copy", cudaEventRecord(end.get()));
    WHILST_CUDA("timing a copy", cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    WHILST_CUDA("timing a copy", cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    rates.push_back(2.0 * static_cast<double>(bytes) / (1e-3 * milliseconds));
  }
  return median(rates);
#else
  return 0;
#endif
}

json measure_step_loops(const settings& asked, bool gpu) {
  const std::vector<int> step_counts{1, 2, 3, 5, 8};
  fmt::print("\nA loop of steps, each y[i] += 1 over {} entries; microseconds an iteration\n{:<16}", step_loop_size,
             "");
  for (const int steps : step_counts) fmt::print("{:>9}", fmt::format("{} step{}", steps, steps == 1 ? "" : "s"));
  fmt::print("\n");
  json entries = json::array();
  std::map<std::string, std::string> problems;
  for (const way& how : ways(gpu, asked.quick)) {
    fmt::print("{:<16}", name_of(how));
    for (const int steps : step_counts) {
      const timing measured = attempt([&] { return time_step_loop(how, steps, asked.budget()); });
      if (!measured.why_not.empty()) problems[name_of(how)] = measured.why_not;
      fmt::print("{:>9}", microseconds(measured));
      std::fflush(stdout);
      json entry = way_json(how);
      entry["steps"] = steps;
      entries.push_back(entry_of(measured, std::move(entry)));
    }
    fmt::print("\n");
  }
  for (const auto& [name, problem] : problems) fmt::print("{}: {}\n", name, problem);
  return entries;
}

int write(const json& document, const std::string& name) {
  if (name.empty()) return 0;
  std::ofstream file(name);
  file << document.dump(2) << '\n';
  file.close();
  if (!file) throw whilst::error("writing " + name, "it cannot be written", "Name a file in a folder that is there");
  return 0;
}

int run(const settings& asked) {
  // Before anything else makes a solver.
  const json setups = asked.wants("setups") ? measure_setups(asked, whilst::cuda::device_count() > 0) : json();
  const whilst::machine_description machine = whilst::describe_machine();
  const bool gpu = !machine.device.empty();
  json document = describe(machine, asked);
  fmt::print("whilst {}, commit {}, {}\n{}, {} threads\n", whilst::version, document["commit"].get<std::string>(),
             document["date"].get<std::string>(), machine.processor, machine.threads);
  if (gpu) {
    fmt::print("{}, driver {}, toolkit {}\n", machine.device, document["machine"]["driver"].get<std::string>(),
               cuda_version(machine.toolkit_version));
  } else {
    fmt::print("No GPU here: the host executor alone. {}\n", machine.conditional_nodes_note);
  }
  document["setups"] = setups;
  if (asked.only == std::vector<std::string>{"setups"}) return write(document, asked.json_file);
  const double copy_rate = measure_copy(gpu);
  document["copy_gigabytes_per_second"] = gpu ? json(1e-9 * copy_rate) : json(nullptr);
  document["method"] =
      "An iteration's time is the difference between the medians of runs of two lengths, by the iterations between "
      "them: steps by the wall clock, conjugate gradients and batches by the report's solve_seconds, baselines by "
      "events.";
  const auto add = [&](const char* suite, const auto& measure) {
    if (asked.wants(suite)) document[suite] = measure();
  };
  add("enqueues", [&] { return measure_enqueues(asked, gpu); });
  add("step_loops", [&] { return measure_step_loops(asked, gpu); });
  add("conjugate_gradients", [&] { return measure_conjugate_gradients(asked, gpu, copy_rate); });
  add("methods", [&] { return measure_methods(asked, gpu); });
  add("columns", [&] { return measure_columns(asked, gpu); });
  add("multigrid", [&] { return measure_multigrid(asked, gpu); });
  add("batch", [&] { return measure_batches(asked, gpu); });
  return write(document, asked.json_file);
}

}  // namespace
}  // namespace overheads

int main(int count, char** arguments) {
  CLI::App app(
      "What an iteration costs: small steps and conjugate gradients, by every executor, beside the baselines, and "
      "batches");
  overheads::settings asked;
  app.add_option("--json", asked.json_file, "Write the results to FILE")->type_name("FILE");
  app.add_option("--preconditioner", asked.preconditioners,
                 "Of suite multigrid: this one instead of all; may be repeated");
  app.add_flag("--quick", asked.quick, "Fewer sizes and repeats: half a minute at most");
  app.add_option("--only", asked.only, "Only these suites, with a comma between them")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"setups", "enqueues", "step_loops", "conjugate_gradients", "methods", "columns", "multigrid", "batch"}))
      ->type_name("SUITE,...");
  app.add_flag("--calls", asked.calls, "List the CUDA calls of setups, too; their times are longer then");
  app.add_option("--largest", asked.largest, "Leave out systems of more than N unknowns")->type_name("N");
  CLI11_PARSE(app, count, arguments);
  try {
    return overheads::run(asked);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "overheads: {}\n", problem.what());
    return 1;
  }
}
