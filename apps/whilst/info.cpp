#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/common/ranks.hpp"
#include "command.hpp"
#include "ranks/partition.hpp"
#include "solvers/linear/method_table.hpp"
#include "whilst/version.hpp"

namespace whilst::command {

namespace {

void print_available(const char* what, const std::vector<executor_availability>& all) {
  fmt::print("{}\n", what);
  for (const auto& one : all)
    fmt::print("  {:<14} {}\n", one.name, one.available ? "available" : "not here: " + one.why_not);
}

}  // namespace

int run_info(const std::string& json) {
  const json_destination report(json);
  const machine_description machine = describe_machine();
  if (report.wanted()) {
    auto document = machine_json(machine);
    document["mpi"] = is_built_with_mpi();
    document["metis"] = is_built_with_metis();
    report.write(document);
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
  print_available("executors", machine.executors);
  print_available("transports between ranks", machine.transports);
  if (machine.peers.size() > 1)
    for (std::size_t gpu = 0; gpu < machine.peers.size(); ++gpu)
      fmt::print("  GPU {:<10} {}\n", gpu,
                 machine.peers[gpu].empty()
                     ? "reaches the memory of no other"
                     : fmt::format("reaches the memory of {}", fmt::join(machine.peers[gpu], ", ")));
  fmt::print("MPI          {}\n", is_built_with_mpi() ? "built in: whilst solve --ranks mpi, under mpirun"
                                                      : "not built in: ranks are threads");
  fmt::print("METIS        {}\n", is_built_with_metis() ? "built in: --partition metis, with --ranks" : "not built in");
  return succeeded;
}

int run_info_methods(const std::string& json) {
  const json_destination report(json);
  const std::vector<method_description> table = method_table();
  if (report.wanted()) {
    nlohmann::json methods = nlohmann::json::array();
    for (const method_description& one : table) {
      methods.push_back({{"name", one.name},
                         {"symmetric", one.needs.symmetric},
                         {"definite", one.needs.definite},
                         {"definite_preconditioner", one.needs.definite || one.needs.definite_preconditioner},
                         {"products", one.products.text()},
                         {"vectors", one.vectors.text()},
                         {"runs_in_kernel", one.runs_in_kernel},
                         {"paper", one.paper}});
    }
    report.write({{"version", version}, {"methods", methods}});
    return succeeded;
  }
  const auto line = [](const auto&... columns) { fmt::print("{:<13} {:<19} {:<9} {:<8} {:<15} {}\n", columns...); };
  line("method", "matrix", "products", "vectors", "also", "paper");
  for (const method_description& one : table) {
    line(one.name, one.matrix(), one.products.text(), one.vectors.text(), one.runs_in_kernel ? "kernel, batches" : "",
         one.paper);
  }
  fmt::print(
      "\nproducts: with the matrix, an iteration. vectors: of the method alone, with a preconditioner; a solve has "
      "five\n"
      "more. kernel: executor resident. m: --restart, s: --shadow-dimension, l: --polynomial-degree.\n"
      "--method auto takes cg, minres or bicgstab by the matrix, and goes on with minres or gmres where one fails.\n");
  return succeeded;
}

}  // namespace whilst::command
