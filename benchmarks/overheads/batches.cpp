#include "benchmarks/overheads/batches.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "whilst/batch_linear_solver.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"

namespace overheads {
namespace {

using whilst::csr_matrix;

/// Many systems on the pattern of one grid, with different shifts of the diagonal.
struct batch_case {
  index_type side, systems;
  run_lengths lengths;
};

/// Sizes that suit a thread, a warp and a block per system. The small ones run shorter: see lengths_for.
std::vector<batch_case> batch_cases(const settings& asked, bool on_host) {
  std::vector<batch_case> all{{3, 1 << 20, {8, 32}},    {6, 1 << 17, {16, 112}}, {8, 1 << 14, {48, 208}},
                              {32, 1 << 12, {48, 208}}, {64, 132, {48, 208}},    {64, 64, {48, 208}}};
  for (batch_case& one : all) {
    if (on_host) one.systems = std::max<index_type>(16, one.systems / 16);
    if (asked.quick) one.systems = std::max<index_type>(16, one.systems / 8);
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
    values_there = whilst::buffer<double>(where, static_cast<index_type>(values.size()));
    b_there = whilst::buffer<double>(where, static_cast<index_type>(b.size()));
    x_there = whilst::buffer<double>(where, static_cast<index_type>(x.size()));
    values_there.upload(values.data());
    b_there.upload(b.data());
  }
  whilst::batch_linear_solver<double> solver(pattern, given.systems,
                                             {.rtol = 0, .dtol = HUGE_VAL, .executor = on_host ? "host" : "batch"});
  return time_iterations(given.lengths, budget, [&](index_type iterations) {
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

}  // namespace

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

}  // namespace overheads
