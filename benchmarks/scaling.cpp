/// Conjugate gradients on the GPUs of one machine, one rank a GPU: microseconds an iteration, and how they fall with
/// more GPUs. Ranks are threads, or under mpirun processes. Prints a table and writes JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/common/ranks.hpp"
#include "benchmarks/scaling/timing.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace scaling {
namespace {

nlohmann::json measure_all(const whilst::group& ranks, int device, const settings& asked) {
  nlohmann::json rows = nlohmann::json::array();
  const bool tells = ranks.rank() == 0;
  if (tells)
    fmt::print("{:<14}{:<14}{:>12}{:>7}{:>15}{:>13}{:>12}{:>11}\n", "operator", "method", "unknowns", "ranks",
               "us/iteration", "iterations", "max error", "set-up, s");
  for (const std::string& kind : asked.kinds)
    for (const std::string& method : asked.methods)
      for (const index_type edge : asked.edges) {
        const timing found = run(ranks, device, kind, method, edge, asked);
        if (!tells) continue;
        fmt::print("{:<14}{:<14}{:>12}{:>7}{:>15.2f}{:>13}{:>12.1e}{:>11.3f}\n", kind, method, edge * edge * edge,
                   ranks.size(), 1e6 * found.iteration, found.iterations, found.error, found.setup);
        std::fflush(stdout);
        rows.push_back({{"operator", kind},
                        {"method", method},
                        {"unknowns", edge * edge * edge},
                        {"ranks", ranks.size()},
                        {"executor", asked.executor},
                        {"transport", found.transport},
                        {"microseconds_an_iteration", 1e6 * found.iteration},
                        {"iterations_to_1e-8", found.iterations},
                        {"reason", found.reason},
                        {"largest_error", found.error},
                        {"setup_seconds", found.setup}});
      }
  return rows;
}

/// The runs that a file has already, if they are to stay there.
nlohmann::json runs_before(const settings& asked) {
  std::ifstream file(asked.json);
  return asked.adds && file ? nlohmann::json::parse(file).at("runs") : nlohmann::json::array();
}

void write(const nlohmann::json& rows, const std::string& processes, const settings& asked) {
  nlohmann::json runs = runs_before(asked);
  for (nlohmann::json row : rows) {
    row["ranks_are"] = processes;
    runs.push_back(row);
  }
  const whilst::machine_description machine = whilst::describe_machine();
  const whilst::measured_at measured = whilst::measured_now();
  const nlohmann::json all{{"version", whilst::version},
                           {"commit", measured.commit},
                           {"date", measured.date},
                           {"machine",
                            {{"processor", machine.processor},
                             {"device", machine.device},
                             {"devices", whilst::cuda::device_count()},
                             {"driver", machine.driver_release}}},
                           {"runs", runs}};
  std::ofstream(asked.json) << all.dump(2) << '\n';
}

}  // namespace
}  // namespace scaling

int main(int count, char** arguments) {
  scaling::settings asked;
  CLI::App app(
      "Conjugate gradients on several GPUs of one machine: microseconds an iteration. Under mpirun each process "
      "is a rank, else threads are.");
  app.add_option("--threads", asked.threads, "ranks, as threads of this process")->check(CLI::Range(1, 64));
  app.add_option("--edges", asked.edges, "points along an edge of the cube")->delimiter(',');
  app.add_option("--operators", asked.kinds, "matrix-free, csr")->delimiter(',');
  app.add_option("--methods", asked.methods, "cg, pipelined-cg")->delimiter(',');
  app.add_option("--iterations", asked.iterations, "iterations of a timed solve")->check(CLI::Range(10, 100000));
  app.add_option("--repetitions", asked.repetitions, "timed solves, of which the fastest counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--executor", asked.executor, "graph, stream or host");
  app.add_option("--json", asked.json, "write the results to this file");
  app.add_flag("--add", asked.adds, "keep the runs that the file has, as of other numbers of ranks");
  CLI11_PARSE(app, count, arguments);
  const bool processes = whilst::is_built_with_mpi() && whilst::is_under_mpi();
  try {
    return whilst::run_ranks(processes ? 0 : asked.threads, [&](const whilst::group& ranks, int device) {
      const nlohmann::json rows = scaling::measure_all(ranks, device, asked);
      if (ranks.rank() == 0 && !asked.json.empty()) scaling::write(rows, processes ? "processes" : "threads", asked);
      return 0;
    });
  } catch (const std::exception& problem) {
    fmt::print(stderr, "scaling: {}\n", problem.what());
    return 1;
  }
}
