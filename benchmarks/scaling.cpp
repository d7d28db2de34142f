/// Conjugate gradients on the GPUs of one machine, one rank a GPU: microseconds an iteration, and how they fall with
/// more GPUs. Ranks are threads, or under mpirun processes. Prints a table and writes JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/common/ranks.hpp"
#include "benchmarks/scaling/timing.hpp"
#include "solvers/files/written_file.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace scaling {
namespace {

/// The runs that a file has already, if they are to stay there.
nlohmann::json runs_before(const settings& asked) {
  std::ifstream file(asked.json);
  return asked.adds && file ? nlohmann::json::parse(file).at("runs") : nlohmann::json::array();
}

/// What a row of the table is about.
struct measurement {
  std::string kind, method, loop;
  box points;
  bool is_weak;  ///< each rank has a cube, else all have one
  const char* scaling() const { return is_weak ? "weak" : kind == "csr, amg" ? "amg" : "strong"; }
};

std::vector<measurement> measurements(const settings& asked, int ranks) {
  std::vector<measurement> all;
  for (const std::string& kind : asked.kinds)
    for (const std::string& method : asked.methods) {
      for (const std::string& loop : asked.loops) {
        const bool is_own = loop == "whilst";
        if (!is_own && (method != "cg" || asked.executor != "graph" || !nccl_loops::are_built())) continue;
        for (const index_type edge : asked.edges) all.push_back({kind, method, loop, {edge, edge}, false});
      }
      for (const index_type edge : asked.weak_edges)
        all.push_back({kind, method, "whilst", {edge, ranks * edge}, true});
    }
  for (const index_type edge : asked.amg_edges) all.push_back({"csr, amg", "cg", "whilst", {edge, edge}, false});
  return all;
}

/// The time of one rank over that of all, where `runs` has the former.
std::optional<double> weak_efficiency(const nlohmann::json& runs, const measurement& of, double microseconds) {
  for (const nlohmann::json& one : runs)
    if (one.value("scaling", "") == "weak" && one["operator"] == of.kind && one["method"] == of.method &&
        one["ranks"] == 1 && one["unknowns"] == of.points.plane() * of.points.edge)
      return one["microseconds_an_iteration"].get<double>() / microseconds;
  return std::nullopt;
}

/// Writes the runs so far.
void write(const nlohmann::json& runs, const settings& asked) {
  if (asked.json.empty()) return;
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
  // Whole or not at all: a run that is killed leaves the figures that there were.
  const whilst::detail::write_target target(asked.json, "writing " + asked.json);
  whilst::detail::written_file file(target);
  file.write(all.dump(2) + "\n");
  file.finish();
}

void measure_all(const whilst::group& ranks, int device, bool are_processes, const settings& asked) {
  nlohmann::json runs = runs_before(asked);
  const bool tells = ranks.rank() == 0;
  if (tells)
    fmt::print("{:<12}{:<13}{:<11}{:<7}{:>11}{:>6}{:>14}{:>11}{:>11}{:>10}{:>10}{:>11}{:>11}{:>11}\n", "operator",
               "method", "loop", "cubes", "unknowns", "ranks", "us/iteration", "efficiency", "iterations", "residual",
               "error", "set-up, s", "solve, ms", "cancel, us");
  std::optional<nccl_loops> nccl;
  std::string refused;
  for (const measurement& one : measurements(asked, ranks.size())) {
    if (one.loop == refused) continue;
    timing found;
    if (one.loop == "whilst") {
      found = run(ranks, device, one.kind, one.method, one.points, asked);
    } else {
      // All ranks learn together that NCCL cannot be captured.
      try {
        if (!nccl) nccl.emplace(ranks, device);
        found = nccl->run(one.kind, one.points, asked, one.loop == "nccl-graph");
      } catch (const whilst::error& problem) {
        if (tells) fmt::print("{} is left out: {}\n", one.loop, problem.what());
        refused = one.loop;
        nccl.reset();
        continue;
      }
    }
    if (!tells) continue;
    const double microseconds = 1e6 * found.iteration;
    nlohmann::json row{{"operator", one.kind},
                       {"method", one.method},
                       {"loop", one.loop},
                       {"scaling", one.scaling()},
                       {"unknowns", one.points.points()},
                       {"ranks", ranks.size()},
                       {"ranks_are", are_processes ? "processes" : "threads"},
                       {"executor", asked.executor},
                       {"transport", found.transport},
                       {"microseconds_an_iteration", microseconds},
                       {"iterations_to_1e-8", found.iterations},
                       {"reason", found.reason},
                       {"relative_residual", found.residual},
                       {"largest_error", found.error},
                       {"setup_seconds", found.setup}};
    if (asked.transport != "auto") row["transport_asked"] = asked.transport;
    if (found.solve > 0) row["solve_seconds"] = found.solve;
    if (found.cancel) row["cancel_microseconds"] = 1e6 * *found.cancel;
    std::optional<double> efficiency;
    if (one.is_weak) efficiency = ranks.size() == 1 ? 1.0 : weak_efficiency(runs, one, microseconds);
    if (efficiency) row["efficiency"] = *efficiency;
    fmt::print("{:<12}{:<13}{:<11}{:<7}{:>11}{:>6}{:>14.2f}{:>11}{:>11}{:>10.1e}{:>10.1e}{:>11.3f}{:>11}{:>11}\n",
               one.kind, one.method, one.loop, one.is_weak ? "many" : "one", one.points.points(), ranks.size(),
               microseconds, efficiency ? fmt::format("{:.1f} %", 100 * *efficiency) : "", found.iterations,
               found.residual, found.error, found.setup,
               found.solve > 0 ? fmt::format("{:.2f}", 1e3 * found.solve) : "",
               found.cancel ? fmt::format("{:.0f}", 1e6 * *found.cancel) : "");
    std::fflush(stdout);
    runs.push_back(row);
    write(runs, asked);
  }
}

}  // namespace
}  // namespace scaling

int main(int count, char** arguments) {
  scaling::settings asked;
  CLI::App app(
      "Conjugate gradients on several GPUs of one machine: microseconds an iteration. Under mpirun each process "
      "is a rank, else threads are.");
  app.add_option("--threads", asked.threads, "ranks, as threads of this process")->check(CLI::Range(1, 64));
  app.add_option("--edges", asked.edges, "points along an edge of a cube that all ranks share")->delimiter(',');
  app.add_option("--weak-edges", asked.weak_edges, "the same of cubes of which each rank has one")->delimiter(',');
  app.add_option("--amg-edges", asked.amg_edges, "the same of cubes that all share, solved with the preconditioner amg")
      ->delimiter(',');
  app.add_option("--operators", asked.kinds, "matrix-free, csr")
      ->delimiter(',')
      ->check(CLI::IsMember({"matrix-free", "csr"}));
  app.add_option("--methods", asked.methods, "cg, pipelined-cg")
      ->delimiter(',')
      ->check(CLI::IsMember({"cg", "pipelined-cg"}));
  app.add_option("--loops", asked.loops, "whilst; for cg, too, where they are built: nccl-host, nccl-graph")
      ->delimiter(',')
      ->check(CLI::IsMember({"whilst", "nccl-host", "nccl-graph"}));
  app.add_option("--iterations", asked.iterations, "iterations of a timed solve")->check(CLI::Range(10, 100000));
  app.add_option("--repetitions", asked.repetitions, "timed solves, of which the fastest counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--executor", asked.executor, "graph, stream or host");
  app.add_option("--transport", asked.transport, "what Whilst's ranks exchange by, as peer-memory or host-memory");
  app.add_option("--json", asked.json, "write the results to this file");
  app.add_flag("--add", asked.adds, "keep the runs that the file has, as of other numbers of ranks");
  CLI11_PARSE(app, count, arguments);
  const bool processes = whilst::is_built_with_mpi() && whilst::is_under_mpi();
  try {
    return whilst::run_ranks(processes ? 0 : asked.threads, [&](const whilst::group& ranks, int device) {
      scaling::measure_all(ranks, device, processes, asked);
      return 0;
    });
  } catch (const std::exception& problem) {
    fmt::print(stderr, "scaling: {}\n", problem.what());
    return 1;
  }
}
