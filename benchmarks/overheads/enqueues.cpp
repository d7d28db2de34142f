#include "benchmarks/overheads/enqueues.hpp"

#include <fmt/format.h>

#include <chrono>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace overheads {
namespace {

/// Host seconds per enqueue: the median over bursts that fit the GPU's queue.
timing time_enqueues(bool check_pointers, double budget) {
  const auto A = whilst::make_gallery<double>("poisson1d:64").matrix;
  whilst::linear_solver<double> solver(A, {.max_iterations = 0, .executor = "graph", .check_pointers = check_pointers});
  const whilst::place where = whilst::place::gpu(0);
  const whilst::buffer<double> b(where, A.rows()), x(where, A.rows());
  constexpr index_type burst = 64;
  std::vector<double> bursts;
  double spent = 0;
  while (bursts.size() < 5 || spent < budget) {
    const auto begin = std::chrono::steady_clock::now();
    for (index_type k = 1; k < burst; ++k) solver.enqueue(nullptr, b.data(), x.data());
    const whilst::ticket last = solver.enqueue(nullptr, b.data(), x.data());
    bursts.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    spent += bursts.back();
    last.wait();
  }
  return {.seconds_per_iteration = median(bursts) / static_cast<double>(burst),
          .repeats = static_cast<int>(bursts.size())};
}

}  // namespace

json measure_enqueues(const settings& asked, bool gpu) {
  json entries = json::array();
  if (!gpu) return entries;
  fmt::print("\nEnqueueing a solve of 64 unknowns that has no iteration; microseconds of the host\n");
  for (const bool check_pointers : {true, false}) {
    const timing measured = attempt([&] { return time_enqueues(check_pointers, asked.budget()); });
    fmt::print("{:<24}{:>9}\n", check_pointers ? "pointers looked at" : "pointers left unchecked",
               microseconds(measured));
    if (!measured.why_not.empty()) fmt::print("{}\n", measured.why_not);
    entries.push_back({{"check_pointers", check_pointers},
                       {"seconds", measured.why_not.empty() ? json(measured.seconds_per_iteration) : json(nullptr)}});
  }
  return entries;
}

}  // namespace overheads
