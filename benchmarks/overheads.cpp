/// What an iteration costs beyond its arithmetic: loops of small steps, conjugate gradients at sizes from 64 to 16.8
/// million unknowns, by every executor, beside the baselines, and batches of small systems. Prints tables and writes
/// JSON.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "benchmarks/baselines.hpp"
#include "benchmarks/measured_at.hpp"
#include "benchmarks/overheads/step_loops.hpp"
#include "benchmarks/overheads/timing.hpp"
#include "kernels/launch/cuda.hpp"
#include "kernels/launch/memory.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace overheads {
namespace {

using nlohmann::json;
using whilst::baseline_result;
using whilst::csr_matrix;

struct settings {
  std::string json_file;
  bool quick = false;
  index largest = 4096 * 4096;
  /// Seconds of timed runs for each entry of a table.
  double budget() const { return quick ? 0.02 : 0.1; }
};

/// Up to here the solutions are compared; beyond, the copies to the host would take longer than the runs.
constexpr index largest_compared = 1 << 18;
constexpr index largest_on_host = 1 << 20;
constexpr index largest_resident = 1 << 14;

std::string name_of(const way& how) {
  std::string name = how.executor;
  if (how.executor == "graph") name += fmt::format(" x{}", how.unroll);
  if ((how.executor == "graph" || how.executor == "stream") && !how.programmatic_launch) name += " no pdl";
  return name;
}

/// Every way that this machine has; the first is the one for the table's ratios where there is a GPU.
std::vector<way> ways(bool gpu, bool quick) {
  std::vector<way> all{{"host"}};
  if (!gpu) return all;
  for (const bool overlap : {true, false}) {
    all.push_back({"stream", 1, overlap});
    for (const int unroll : {1, 4, 16}) {
      if (quick && unroll == 4) continue;
      all.push_back({"graph", unroll, overlap});
    }
  }
  all.push_back({"resident"});
  return all;
}

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

/// Bytes a second of a copy from device to device, read and written, between buffers far larger than the caches; 0
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

/// Any failure of one entry becomes its reason; the others go on.
template <class Measure>
timing attempt(const Measure& measure) {
  try {
    return measure();
  } catch (const whilst::error& problem) {
    return {.why_not = problem.what()};
  }
}

std::string microseconds(const std::optional<timing>& measured) {
  if (!measured || !measured->why_not.empty()) return "-";
  return fmt::format("{:.{}f}", 1e6 * measured->seconds_per_iteration, measured->seconds_per_iteration < 1e-4 ? 2 : 0);
}

json entry_of(const timing& measured, json entry) {
  entry["why_not"] = measured.why_not;
  if (!measured.why_not.empty()) return entry;
  entry["microseconds_per_iteration"] = 1e6 * measured.seconds_per_iteration;
  entry["run_lengths"] = {measured.lengths.shorter, measured.lengths.longer};
  entry["repeats"] = measured.repeats;
  return entry;
}

json way_json(const way& how) {
  json entry{{"name", name_of(how)}, {"executor", how.executor}};
  if (how.unroll) entry["unroll"] = how.unroll;
  if (how.executor == "graph" || how.executor == "stream") entry["programmatic_launch"] = how.programmatic_launch;
  return entry;
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

/// A model problem where a way needs it.
struct problem {
  csr_matrix<double> A;
  std::vector<double> b;
  whilst::raw_buffer offsets;
  whilst::buffer<std::int32_t> columns;
  whilst::buffer<double> values, b_on_gpu, x_on_gpu;
  std::optional<csr_matrix<double>> A_on_gpu;

  problem(const std::string& name, bool gpu) : problem(whilst::make_gallery<double>(name), gpu) {}
  problem(whilst::gallery_problem<double> made, bool gpu) : A(std::move(made.matrix)), b(std::move(made.rhs)) {
    if (!gpu) return;
    const auto where = whilst::place::gpu(0);
    const std::size_t offset_bytes = (A.has_64bit_offsets() ? 8 : 4) * static_cast<std::size_t>(A.rows() + 1);
    offsets = whilst::raw_buffer(where, offset_bytes);
    offsets.upload(A.row_offsets_data(), offset_bytes);
    columns = whilst::buffer<std::int32_t>(where, A.nonzeros());
    columns.upload(A.column_indices_data());
    values = whilst::buffer<double>(where, A.nonzeros());
    values.upload(A.values_data());
    b_on_gpu = whilst::buffer<double>(where, A.rows());
    b_on_gpu.upload(b.data());
    x_on_gpu = whilst::buffer<double>(where, A.rows());
    const auto borrow = [&](const auto* borrowed_offsets) {
      A_on_gpu = csr_matrix<double>::on_device(A.rows(), A.columns(), A.nonzeros(), borrowed_offsets, columns.data(),
                                               values.data());
    };
    if (A.has_64bit_offsets())
      borrow(static_cast<const std::int64_t*>(offsets.data()));
    else
      borrow(static_cast<const std::int32_t*>(offsets.data()));
  }

  /// What an iteration of conjugate gradients in two steps must move: the matrix once, and 11 passes over a vector (r
  /// read and w written beside the matrix; x, r, p and q updated, w read).
  double ideal_bytes() const {
    const auto n = static_cast<double>(A.rows());
    return static_cast<double>(A.nonzeros()) * (8 + 4) + (n + 1) * (A.has_64bit_offsets() ? 8 : 4) + 11 * 8 * n;
  }
};

/// The longer run ends while the recurrence for r still is a number of normal size: on small problems it falls below
/// the smallest double soon after the solution has all its digits, and the solve would restart.
run_lengths lengths_for(index n, bool on_host) {
  if (n <= 64) return {48, 208};
  if (n <= 256) return {48, 496};
  if (n < 65536 || (!on_host && n < 524288)) return {48, 1008};
  if (on_host) return {16, n > 300000 ? 32 : 64};
  return {16, n < 2000000 ? 528 : n < 8000000 ? 208 : 112};
}

/// Times the public solver by the clock of whoever ran it. x receives the solution of the longer run.
timing time_solver(problem& given, const way& how, double budget, std::vector<double>& x) {
  const bool on_host = how.executor == "host";
  const run_lengths lengths = lengths_for(given.A.rows(), on_host);
  whilst::linear_solver_options options;
  options.executor = how.executor;
  options.unroll = how.unroll;
  options.programmatic_launch = how.programmatic_launch;
  options.rtol = 0;
  options.dtol = HUGE_VAL;
  whilst::linear_solver<double> solver(on_host ? given.A : *given.A_on_gpu, options);
  if (solver.executor() != how.executor) return {.why_not = "ran as " + solver.executor()};
  const auto rows = static_cast<std::size_t>(given.A.rows());
  if (on_host) x.resize(rows);
  const auto run = [&](index iterations) {
    solver.set_max_iterations(iterations);
    if (on_host) {
      x.assign(rows, 0.0);
#if WHILST_WITH_CUDA
    } else {
      WHILST_CUDA("clearing x", cudaMemset(given.x_on_gpu.data(), 0, rows * sizeof(double)));
#endif
    }
    const whilst::report report = on_host
                                      ? solver.enqueue(nullptr, given.b.data(), x.data()).wait()
                                      : solver.enqueue(nullptr, given.b_on_gpu.data(), given.x_on_gpu.data()).wait();
    if (report.iterations() != iterations || report.reason() != whilst::reason::iteration_limit)
      throw whilst::error("timing conjugate gradients",
                          fmt::format("a run of {} iterations ended as '{}'", iterations, report.message()));
    return report.solve_seconds();
  };
  const timing measured = time_iterations(lengths, budget, run);
  if (!on_host && given.A.rows() <= largest_compared) {
    x.resize(rows);
    given.x_on_gpu.download(x.data());
  }
  return measured;
}

/// Times a baseline, which repeats its runs by itself.
template <class Baseline>
timing time_baseline(const problem& given, std::vector<double>& x, const Baseline& baseline) {
  const run_lengths lengths = lengths_for(given.A.rows(), false);
  timing measured{.lengths = lengths};
  double seconds[2];
  for (const bool longer : {false, true}) {
    const index iterations = longer ? lengths.longer : lengths.shorter;
    baseline_result<double> result = baseline(*given.A_on_gpu, std::span<const double>(given.b), iterations);
    if (!result.available) return {.why_not = result.why_not};
    if (result.iterations != iterations)
      return {.why_not = fmt::format("ended after {} of {} iterations", result.iterations, iterations)};
    seconds[longer] = result.seconds_per_iteration * static_cast<double>(iterations);
    x = std::move(result.x);
  }
  measured.seconds_per_iteration =
      (seconds[true] - seconds[false]) / static_cast<double>(lengths.longer - lengths.shorter);
  return measured;
}

/// max |x - y| / max |y|.
double relative_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference = std::max(difference, std::abs(x[i] - y[i]));
    size = std::max(size, std::abs(y[i]));
  }
  return difference / size;
}

constexpr const char* by_hand = "by hand";
constexpr const char* by_hand_plain = "by hand, late reads";
constexpr const char* host_driven = "host-driven";

/// One size: every way and every baseline.
struct size_results {
  index n;
  double ideal_bytes;
  std::map<std::string, timing> timings;
  json entries = json::array();

  std::optional<timing> find(const std::string& name) const {
    const auto found = timings.find(name);
    return found == timings.end() ? std::nullopt : std::optional(found->second);
  }
  double seconds(const std::string& name) const {
    const auto found = find(name);
    return found && found->why_not.empty() ? found->seconds_per_iteration : 0;
  }
};

size_results measure_size(index side, const settings& asked, bool gpu, double copy_rate) {
  problem given(fmt::format("poisson2d:{}", side), gpu);
  const index n = given.A.rows();
  size_results results{.n = n, .ideal_bytes = given.ideal_bytes(), .timings = {}};
  std::vector<double> reference, x;
  index reference_iterations = 0;
  const auto add = [&](json entry, const auto& measure) {
    x.clear();
    const timing measured = attempt(measure);
    entry["n"] = n;
    entry["nonzeros"] = given.A.nonzeros();
    entry = entry_of(measured, std::move(entry));
    if (measured.why_not.empty()) {
      const double rate = given.ideal_bytes() / measured.seconds_per_iteration;
      entry["gigabytes_per_second"] = 1e-9 * rate;
      if (copy_rate > 0 && entry["name"] != "host") entry["ratio_to_copy"] = rate / copy_rate;
      // Only solutions of equally many iterations are the same.
      if (n <= largest_compared && reference.empty() && !x.empty()) {
        reference = x;
        reference_iterations = measured.lengths.longer;
      }
      if (!x.empty() && x.size() == reference.size() && measured.lengths.longer == reference_iterations)
        entry["difference"] = relative_difference(x, reference);
    }
    results.timings[entry["name"]] = measured;
    results.entries.push_back(std::move(entry));
  };
  for (const way& how : ways(gpu, asked.quick)) {
    if (how.executor == "host" && (n > largest_on_host || (asked.quick && n > 1 << 16))) continue;
    if (how.executor == "resident" && n > largest_resident) continue;
    if (asked.quick && n > 1 << 19 && (how.executor == "stream" || how.unroll == 1)) continue;
    add(way_json(how), [&] { return time_solver(given, how, asked.budget(), x); });
  }
  if (!gpu) return results;
  for (const bool early : {true, false}) {
    add(json{{"name", early ? by_hand : by_hand_plain}}, [&] {
      return time_baseline(given, x, [&](const auto&... arguments) {
        return whilst::hand_written_graph_conjugate_gradient<double>(arguments..., false, {.early_reads = early});
      });
    });
  }
  add(json{{"name", host_driven}}, [&] {
    return time_baseline(given, x, [](const auto&... arguments) {
      return whilst::host_driven_conjugate_gradient<double>(arguments..., false);
    });
  });
  return results;
}

json measure_conjugate_gradients(const settings& asked, bool gpu, double copy_rate) {
  std::vector<index> sides{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  if (asked.quick) sides = {8, 32, 128, 512, 1024};
  std::erase_if(sides, [&](index side) {
    const index n = side * side;
    return n > asked.largest || (!gpu && n > (asked.quick ? 1 << 16 : largest_on_host));
  });
  std::vector<std::string> names;
  for (const way& how : ways(gpu, asked.quick)) names.push_back(name_of(how));
  if (gpu) names.insert(names.end(), {by_hand, by_hand_plain, host_driven});

  fmt::print("\nConjugate gradients, 5-point Poisson matrix, double; microseconds an iteration\n");
  std::fflush(stdout);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::vector<size_results> all;
  json entries = json::array();
  for (const index side : sides) {
    all.push_back(measure_size(side, asked, gpu, copy_rate));
    for (auto& entry : all.back().entries) entries.push_back(entry);
    if (terminal) fmt::print(stderr, "\r\033[K{} unknowns done", side * side);
  }
  if (terminal) fmt::print(stderr, "\r\033[K");
  fmt::print("{:<20}", "n");
  for (const auto& results : all) fmt::print("{:>10}", results.n);
  fmt::print("\n");
  std::map<std::string, std::string> problems;
  for (const auto& name : names) {
    fmt::print("{:<20}", name);
    for (const auto& results : all) {
      const auto measured = results.find(name);
      fmt::print("{:>10}", microseconds(measured));
      if (measured && !measured->why_not.empty())
        problems[fmt::format("{}, n = {}", name, results.n)] = measured->why_not;
    }
    fmt::print("\n");
  }
  const auto row = [&](const char* title, const auto& text) {
    fmt::print("{:<20}", title);
    for (const auto& results : all) fmt::print("{:>10}", text(results));
    fmt::print("\n");
  };
  if (gpu) {
    const std::string graph = name_of({"graph", 16, true});
    const auto ratio = [&](const std::string& other) {
      return [&, other](const size_results& results) {
        const double own = results.seconds(graph), others = results.seconds(other);
        return own > 0 && others > 0 ? fmt::format("{:.3f}", own / others) : std::string("-");
      };
    };
    row("graph x16 / by hand", ratio(by_hand));
    row("  / late reads", ratio(by_hand_plain));
    row("  / host-driven", ratio(host_driven));
    const auto rate = [&](const size_results& results) {
      return results.seconds(graph) > 0 ? results.ideal_bytes / results.seconds(graph) : 0;
    };
    row("graph x16, GB/s", [&](const size_results& results) { return fmt::format("{:.0f}", 1e-9 * rate(results)); });
    row("  of a copy's", [&](const size_results& results) {
      return fmt::format("{:.2f}", copy_rate > 0 ? rate(results) / copy_rate : 0);
    });
    fmt::print(
        "GB/s: the bytes that an iteration must move, by its time; a copy from device to device moves {:.0f}.\n"
        "Where that fits the caches the ratio says little. by hand: no history, cancel, deadline or restart.\n",
        1e-9 * copy_rate);
  }
  for (const auto& [name, problem] : problems) fmt::print("{}: {}\n", name, problem);
  return entries;
}

/// Many systems on the pattern of one grid, which differ by a shift of the diagonal.
struct batch_case {
  index side, systems;
  run_lengths lengths;
};

/// Sizes that a thread, a warp and a block a system are for. The small ones run shorter: see lengths_for.
std::vector<batch_case> batch_cases(const settings& asked, bool on_host) {
  std::vector<batch_case> all{{3, 1 << 20, {8, 32}},
                              {6, 1 << 17, {16, 112}},
                              {8, 1 << 14, {48, 208}},
                              {32, 1 << 12, {48, 208}},
                              {64, 132, {48, 208}}};
  for (batch_case& one : all) {
    if (on_host) one.systems = std::max<index>(16, one.systems / 16);
    if (asked.quick) one.systems = std::max<index>(16, one.systems / 8);
  }
  return all;
}

timing time_batch(const batch_case& given, bool on_host, double budget) {
  const csr_matrix<double> pattern = whilst::make_gallery<double>(fmt::format("poisson2d:{}", given.side)).matrix;
  const auto rows = static_cast<std::size_t>(pattern.rows()), systems = static_cast<std::size_t>(given.systems);
  std::vector<double> values, b(rows * systems), x(rows * systems);
  values.reserve(static_cast<std::size_t>(pattern.nonzeros()) * systems);
  for (std::size_t k = 0; k < systems; ++k)
    for (const double value : pattern.values())
      values.push_back(value > 0 ? value + static_cast<double>(k % 1000) * 1e-4 : value);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1 + static_cast<double>(i * 7919 % 97) / 97;
  whilst::buffer<double> values_there, b_there, x_there;
  if (!on_host) {
    const auto where = whilst::place::gpu(0);
    values_there = whilst::buffer<double>(where, static_cast<index>(values.size()));
    b_there = whilst::buffer<double>(where, static_cast<index>(b.size()));
    x_there = whilst::buffer<double>(where, static_cast<index>(x.size()));
    values_there.upload(values.data());
    b_there.upload(b.data());
  }
  whilst::batch_linear_solver<double> solver(pattern, given.systems,
                                             {.rtol = 0, .dtol = HUGE_VAL, .executor = on_host ? "host" : "batch"});
  return time_iterations(given.lengths, budget, [&](index iterations) {
    solver.set_max_iterations(iterations);
    std::fill(x.begin(), x.end(), 0.0);
    if (!on_host) x_there.upload(x.data());
    const whilst::batch_report report =
        (on_host ? solver.enqueue(nullptr, values.data(), b.data(), x.data())
                 : solver.enqueue(nullptr, values_there.data(), b_there.data(), x_there.data()))
            .wait();
    for (const whilst::system_outcome& system : report)
      if (system.iterations != iterations || system.reason != whilst::reason::iteration_limit)
        throw whilst::error("timing a batch",
                            fmt::format("a run of {} iterations ended otherwise: {}", iterations, report.message()));
    return report.solve_seconds();
  });
}

json measure_batches(const settings& asked, bool gpu) {
  fmt::print(
      "\nBatches of conjugate gradients, 5-point Poisson matrices, double; nanoseconds an iteration and system\n"
      "{:<20}{:>10}{:>10}{:>12}\n",
      "", "n", "systems", "ns");
  json entries = json::array();
  for (const bool on_host : {true, false}) {
    if (!on_host && !gpu) continue;
    for (const batch_case& given : batch_cases(asked, on_host)) {
      const timing measured = attempt([&] { return time_batch(given, on_host, asked.budget()); });
      const double nanoseconds = 1e9 * measured.seconds_per_iteration / static_cast<double>(given.systems);
      fmt::print("{:<20}{:>10}{:>10}{:>12}\n", on_host ? "batch on the host" : "batch", given.side * given.side,
                 given.systems, measured.why_not.empty() ? fmt::format("{:.3f}", nanoseconds) : measured.why_not);
      std::fflush(stdout);
      json entry{{"name", on_host ? "batch on the host" : "batch"},
                 {"n", given.side * given.side},
                 {"systems", given.systems}};
      if (measured.why_not.empty()) entry["nanoseconds_per_iteration_and_system"] = nanoseconds;
      entries.push_back(entry_of(measured, std::move(entry)));
    }
  }
  return entries;
}

int run(const settings& asked) {
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
  const double copy_rate = measure_copy(gpu);
  document["copy_gigabytes_per_second"] = gpu ? json(1e-9 * copy_rate) : json(nullptr);
  document["method"] =
      "An iteration's time is the difference between the medians of runs of two lengths, by the iterations between "
      "them: steps by the wall clock, conjugate gradients and batches by the report's solve_seconds, baselines by "
      "events.";
  document["step_loops"] = measure_step_loops(asked, gpu);
  document["conjugate_gradients"] = measure_conjugate_gradients(asked, gpu, copy_rate);
  document["batch"] = measure_batches(asked, gpu);
  if (asked.json_file.empty()) return 0;
  std::ofstream file(asked.json_file);
  file << document.dump(2) << '\n';
  file.close();
  if (!file)
    throw whilst::error("writing " + asked.json_file, "it cannot be written", "Name a file in a folder that is there");
  return 0;
}

}  // namespace
}  // namespace overheads

int main(int count, char** arguments) {
  CLI::App app(
      "What an iteration costs: small steps and conjugate gradients, by every executor, beside the baselines, and "
      "batches");
  overheads::settings asked;
  app.add_option("--json", asked.json_file, "Write the results to FILE")->type_name("FILE");
  app.add_flag("--quick", asked.quick, "Fewer sizes and repeats: half a minute at most");
  app.add_option("--largest", asked.largest, "Leave out systems of more than N unknowns")->type_name("N");
  CLI11_PARSE(app, count, arguments);
  try {
    return overheads::run(asked);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "overheads: {}\n", problem.what());
    return 1;
  }
}
