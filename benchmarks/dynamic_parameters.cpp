/// The cost of running the same few kernels repeatedly with changing parameters: eight tiny kernels per round, four of
/// them with a number that changes, as in NVIDIA's published comparison of ways to do so with CUDA graphs. Prints a
/// table and writes JSON.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/dynamic_parameters/rounds.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace dynamic_parameters {
namespace {

using nlohmann::json;

struct settings {
  std::string json_file, executor = "auto";
  index_type rounds = 40'000;
  int repeats = 3;
};

/// Rounds that fit a stream's queue without making the host wait for room.
constexpr index_type burst = 64;
constexpr index_type most_bursts = 50;

double seconds_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds per round.
struct timing {
  double wall = 0;
  double process = 0;  ///< CPU time of all threads of the process, waiting included
  double host = 0;     ///< CPU time of the enqueuing thread, while the stream has room
  double calls = 0;    ///< CUDA calls per round
  std::string why_not = {};
};

/// CUDA calls that `body` makes.
template <class Body>
double count_calls([[maybe_unused]] const Body& body) {
#if WHILST_WITH_CUDA
  index_type calls = 0;
  whilst::cuda::observer() = [&](std::string_view) { return ++calls, cudaSuccess; };
  body();
  whilst::cuda::observer() = nullptr;
  return static_cast<double>(calls);
#else
  return 0;
#endif
}

timing measure(const named_way& named, const settings& asked) {
  const std::unique_ptr<way> one = named.make();
  const index_type at_once = std::min(burst, asked.rounds), enqueued = named.is_one_launch ? asked.rounds : at_once;
  const auto per = [](double whole, index_type rounds) { return whole / static_cast<double>(rounds); };
  one->reset();
  one->enqueue(0, at_once);
  one->wait();
  one->check(at_once);
  timing result;
  std::vector<double> walls, processes, hosts;
  for (int repeat = 0; repeat < asked.repeats; ++repeat) {
    one->reset();
    const double process = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    const auto begin = std::chrono::steady_clock::now();
    one->enqueue(0, asked.rounds);
    one->wait();
    walls.push_back(per(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), asked.rounds));
    processes.push_back(per(seconds_on(CLOCK_PROCESS_CPUTIME_ID) - process, asked.rounds));
    one->check(asked.rounds);
  }
  one->reset();
  for (index_type k = 0; k < std::clamp<index_type>(asked.rounds / burst, 1, named.is_one_launch ? 3 : most_bursts);
       ++k) {
    const double thread = seconds_on(CLOCK_THREAD_CPUTIME_ID);
    one->enqueue(0, enqueued);
    hosts.push_back(per(seconds_on(CLOCK_THREAD_CPUTIME_ID) - thread, enqueued));
    one->wait();
  }
  result.wall = median(walls);
  result.process = median(processes);
  result.host = median(hosts);
  result.calls = per(count_calls([&] { one->enqueue(0, enqueued); }), enqueued);
  one->wait();
  return result;
}

json describe(const whilst::machine_description& machine, const settings& asked, bool gpu) {
  const whilst::measured_at measured = whilst::measured_now();
  const auto version = [](int coded) { return fmt::format("{}.{}", coded / 1000, coded % 1000 / 10); };
  return {{"version", whilst::version},
          {"commit", measured.commit},
          {"date", measured.date},
          {"machine",
           {{"processor", machine.processor},
            {"threads", machine.threads},
            {"device", gpu ? machine.device : std::string()},
            {"driver", machine.driver_release.empty() ? "unknown" : machine.driver_release},
            {"driver_cuda", version(machine.driver_version)},
            {"toolkit", version(machine.toolkit_version)}}},
          {"rounds", asked.rounds},
          {"repeats", asked.repeats},
          {"kernels_a_round", steps},
          {"of_which_change", changing},
          {"entries_a_kernel", entries},
          {"method",
           "Medians. wall: all rounds, from the first enqueue to the end of the last. process: CPU time of the process "
           "meanwhile; the wait at the end sleeps, but a full stream has the host spin. host: CPU time of the thread "
           "that enqueues, in bursts of 64 rounds that the stream has room for; of the loops, of one launch of all. "
           "Programs of Whilst overlap their kernels by programmatic launch; the graphs by hand have plain edges. The "
           "calls are those that are checked, without what handles and guards do. In the loops the device makes the "
           "next parameters itself; elsewhere they are the host's."},
          {"published",
           {{"what", "NVIDIA, Constructing CUDA Graphs with Dynamic Parameters (2022): 40 000 rounds on an A100"},
            {"no_graph_milliseconds", 706},
            {"recapture_milliseconds", 580},
            {"node_update_milliseconds", 433}}}};
}

int run(const settings& asked) {
  if (asked.rounds < 1 || asked.rounds > most_rounds)
    throw whilst::error("choosing rounds", fmt::format("there are to be {}", asked.rounds),
                        fmt::format("Give 1 to {}: numbers stay exact then", most_rounds));
  if (asked.repeats < 1) throw whilst::error("choosing repeats", "there are to be none", "Give 1 or more");
  const whilst::machine_description machine = whilst::describe_machine();
  const bool has_gpu = !machine.device.empty(), gpu = asked.executor == "auto" ? has_gpu : asked.executor == "graph";
  if (gpu && !has_gpu)
    throw whilst::error("choosing an executor", "there is no GPU here", "Use --executor host, or leave it out");
  json document = describe(machine, asked, gpu);
  fmt::print("whilst {}, commit {}, {}\n{}\n", whilst::version, document["commit"].get<std::string>(),
             document["date"].get<std::string>(), gpu ? machine.device : machine.processor + ", host");
  fmt::print("\n{} rounds of {} small kernels, {} with a parameter that changes; microseconds a round\n", asked.rounds,
             steps, changing);
  fmt::print("{:<26}{:>10}{:>12}{:>12}{:>12}{:>12}\n", "", "wall", "speed-up", "host", "process", "CUDA calls");
  json entries_of_ways = json::array();
  double first_wall = 0;
  for (const named_way& named : ways_on(gpu ? whilst::place::gpu(0) : whilst::place::host())) {
    timing measured;
    try {
      measured = measure(named, asked);
    } catch (const whilst::error& problem) {
      measured.why_not = problem.what();
    }
    json entry{{"name", named.name}, {"why_not", measured.why_not}};
    if (measured.why_not.empty()) {
      if (named.name == no_graph) first_wall = measured.wall;
      const double speed_up = first_wall > 0 ? first_wall / measured.wall : 0;
      fmt::print("{:<26}{:>10.3f}{:>12.2f}{:>12.3f}{:>12.3f}{:>12.2f}\n", named.name, 1e6 * measured.wall, speed_up,
                 1e6 * measured.host, 1e6 * measured.process, measured.calls);
      entry["wall_microseconds_per_round"] = 1e6 * measured.wall;
      entry["wall_milliseconds"] = 1e3 * measured.wall * static_cast<double>(asked.rounds);
      entry["host_microseconds_per_round"] = 1e6 * measured.host;
      entry["process_microseconds_per_round"] = 1e6 * measured.process;
      entry["cuda_calls_per_round"] = measured.calls;
      entry["speed_up"] = speed_up;
    } else {
      fmt::print("{:<26} {}\n", named.name, measured.why_not);
    }
    std::fflush(stdout);
    entries_of_ways.push_back(std::move(entry));
  }
  const bool all = std::all_of(entries_of_ways.begin(), entries_of_ways.end(),
                               [](const json& entry) { return entry["why_not"].get<std::string>().empty(); });
  fmt::print("{}\n", all ? "All ended with the same numbers." : "Not all could be run.");
  document["ways"] = std::move(entries_of_ways);
  if (asked.json_file.empty()) return all ? 0 : 1;
  std::ofstream file(asked.json_file);
  file << document.dump(2) << '\n';
  file.close();
  if (!file)
    throw whilst::error("writing " + asked.json_file, "it cannot be written", "Name a file in a folder that is there");
  return all ? 0 : 1;
}

}  // namespace
}  // namespace dynamic_parameters

int main(int count, char** arguments) {
  CLI::App app("Rounds of small kernels with parameters that change: what each way to change them costs");
  dynamic_parameters::settings asked;
  app.add_option("--rounds", asked.rounds, "How many rounds")->type_name("N")->capture_default_str();
  app.add_option("--repeats", asked.repeats, "How often all of them are run")->type_name("N")->capture_default_str();
  app.add_option("--executor", asked.executor, "auto, host or graph")
      ->check(CLI::IsMember({"auto", "host", "graph"}))
      ->capture_default_str();
  app.add_option("--json", asked.json_file, "Write the results to FILE")->type_name("FILE");
  CLI11_PARSE(app, count, arguments);
  try {
    return dynamic_parameters::run(asked);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "dynamic_parameters: {}\n", problem.what());
    return 1;
  }
}
