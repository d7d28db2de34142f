#include "benchmarks/overheads/conjugate_gradients.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "benchmarks/common/baselines.hpp"
#include "benchmarks/overheads/linear_runs.hpp"

namespace overheads {
namespace {

using whilst::baseline_result;

/// Solutions are compared up to this size; beyond it, the copies to the host would take longer than the runs.
constexpr index_type largest_compared = 1 << 18;
constexpr index_type largest_on_host = 1 << 20;
constexpr index_type largest_resident = 1 << 15;

/// The longer run ends while the recurrence for r is still a normal number: on small problems it falls below the
/// smallest double soon after the solution has all its digits, and the solve would restart.
run_lengths lengths_for(index_type n, bool on_host) {
  if (n <= 64) return {48, 208};
  if (n <= 256) return {48, 496};
  if (n < 65536 || (!on_host && n < 524288)) return {48, 1008};
  if (on_host) return {16, n > 300000 ? 32 : 64};
  return {16, n < 2000000 ? 528 : n < 8000000 ? 208 : 112};
}

timing time_conjugate_gradients(problem& given, const way& how, double budget, std::vector<double>& x) {
  const run_lengths lengths = lengths_for(given.A.rows(), how.executor == "host");
  return time_solver(given, "cg", how, lengths, budget, given.A.rows() <= largest_compared ? &x : nullptr);
}

/// Times a baseline, which repeats its runs by itself.
template <class Baseline>
timing time_baseline(const problem& given, std::vector<double>& x, const Baseline& baseline) {
  const run_lengths lengths = lengths_for(given.A.rows(), false);
  timing measured{.lengths = lengths};
  double seconds[2];
  for (const bool longer : {false, true}) {
    const index_type iterations = longer ? lengths.longer : lengths.shorter;
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
  index_type n;
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

size_results measure_size(index_type side, const settings& asked, bool gpu, double copy_rate) {
  problem given(fmt::format("poisson2d:{}", side), gpu);
  const index_type n = given.A.rows();
  size_results results{.n = n, .ideal_bytes = given.ideal_bytes(), .timings = {}};
  std::vector<double> reference, x;
  index_type reference_iterations = 0;
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
      // Only solutions after equally many iterations agree.
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
    add(way_json(how), [&] { return time_conjugate_gradients(given, how, asked.budget(), x); });
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

}  // namespace

json measure_conjugate_gradients(const settings& asked, bool gpu, double copy_rate) {
  std::vector<index_type> sides{8, 16, 32, 64, 128, 181, 256, 512, 1024, 2048, 4096};
  if (asked.quick) sides = {8, 32, 128, 512, 1024};
  std::erase_if(sides, [&](index_type side) {
    const index_type n = side * side;
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
  for (const index_type side : sides) {
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

}  // namespace overheads
