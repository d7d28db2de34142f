#include "benchmarks/overheads/setups.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <span>

#include "whilst/csr_matrix.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace overheads {
namespace {

using clock = std::chrono::steady_clock;

double seconds_between(clock::time_point begin, clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// How long make() takes; destroying what it returns does not count.
template <class Make>
double seconds_of(const Make& make) {
  const auto begin = clock::now();
  [[maybe_unused]] const auto made = make();
  return seconds_between(begin, clock::now());
}

template <class Make>
double median_of(int repeats, const Make& make) {
  std::vector<double> all;
  for (int k = 0; k < repeats; ++k) all.push_back(seconds_of(make));
  return median(all);
}

/// The CUDA calls of some work, with the time from each to the next one, or to the end.
template <class Work>
json calls_of([[maybe_unused]] const std::string& title, const Work& work) {
#if WHILST_WITH_CUDA
  struct call {
    std::string name;
    clock::time_point at;
  };
  std::vector<call> calls;
  whilst::cuda::observer() = [&](std::string_view expression) {
    calls.push_back({std::string(expression.substr(0, expression.find('('))), clock::now()});
    return cudaSuccess;
  };
  work();
  const auto end = clock::now();
  whilst::cuda::observer() = nullptr;
  struct sum {
    int count = 0;
    double seconds = 0;
  };
  std::map<std::string, sum> by_name;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    sum& of = by_name[calls[k].name];
    ++of.count;
    of.seconds += seconds_between(calls[k].at, k + 1 < calls.size() ? calls[k + 1].at : end);
  }
  fmt::print("\nCUDA calls of {}; microseconds until the next call\n", title);
  json entries = json::array();
  for (const auto& [name, of] : by_name) {
    fmt::print("{:<52}{:>5}{:>10.1f}\n", name, of.count, 1e6 * of.seconds);
    entries.push_back({{"call", name}, {"count", of.count}, {"microseconds", 1e6 * of.seconds}});
  }
  return entries;
#else
  work();
  return json::array();
#endif
}

json measure_solver(const settings& asked, bool gpu) {
  const auto A = whilst::make_gallery<double>("poisson2d:64").matrix;
  const whilst::linear_solver_options options{.executor = gpu ? "graph" : "host"};
  // The solution is known and exact: ones, with the sums of rows on the right-hand side.
  std::vector<double> b(static_cast<std::size_t>(A.rows())), x(b.size(), 1);
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      b[static_cast<std::size_t>(i)] += A.values()[static_cast<std::size_t>(k)];
#if WHILST_WITH_CUDA
  if (gpu) WHILST_CUDA("starting CUDA", cudaFree(nullptr));  // not the library's doing
#endif
  json entry{{"rows", A.rows()}, {"executor", options.executor}};
  const auto make = [&] { return whilst::linear_solver<double>(A, options); };
  if (asked.calls) entry["calls_of_the_first"] = calls_of("the first solver", make);
  const double first = seconds_of(make), next = median_of(asked.quick ? 5 : 21, make);
  whilst::linear_solver<double> solver(A, options);
  const auto solve = [&] {
    const whilst::report ended = solver.solve(b, x);
    if (!ended.converged() || ended.iterations() != 0)
      throw whilst::error("measuring a solve without iterations", ended.message());
    return ended;
  };
  solve();
  const double solved = median_of(asked.quick ? 21 : 201, solve);
  if (!asked.calls) entry["first_seconds"] = first;  // else the first was another
  entry["next_seconds"] = next;
  entry["solve_without_iterations_seconds"] = solved;
  fmt::print("\nBefore the first iteration, {} unknowns, executor {}; microseconds\n", A.rows(), options.executor);
  if (!asked.calls) fmt::print("{:<52}{:>10.1f}\n", "the first solver of the process", 1e6 * first);
  fmt::print("{:<52}{:>10.1f}\n", "the next ones", 1e6 * next);
  fmt::print("{:<52}{:>10.1f}\n", "a solve from host memory, nothing to iterate", 1e6 * solved);
  if (asked.calls) {
    entry["calls_of_the_next"] = calls_of("a later solver, which is destroyed then", make);
    entry["calls_of_a_solve"] = calls_of("a solve from host memory, nothing to iterate", solve);
  }
  return entry;
}

json measure_matrix(const settings& asked) {
  constexpr std::int32_t rows = 1'000'000, in_row = 5;
  std::vector<std::int32_t> offsets(rows + 1), columns(std::size_t{rows} * in_row);
  for (std::int32_t i = 0; i <= rows; ++i) offsets[static_cast<std::size_t>(i)] = i * in_row;
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<std::int32_t>(7919 * k % rows);
  const std::vector<std::size_t> wide_offsets(offsets.begin(), offsets.end()),
      wide_columns(columns.begin(), columns.end());
  const std::vector<double> values(columns.size(), 1);
  using matrix = whilst::csr_matrix<double>;
  const int repeats = asked.quick ? 3 : 11;
  const double narrow = median_of(repeats, [&] { return matrix(rows, rows, offsets, columns, values); });
  const double wide = median_of(repeats, [&] { return matrix(rows, rows, wide_offsets, wide_columns, values); });
  const double borrowed = median_of(repeats, [&] {
    return matrix::borrow(rows, rows, std::span<const std::int32_t>(offsets), std::span<const std::int32_t>(columns),
                          std::span<const double>(values));
  });
  fmt::print("\nMaking a matrix of {} nonzeros; milliseconds\n", columns.size());
  fmt::print("{:<52}{:>10.2f}\n{:<52}{:>10.2f}\n{:<52}{:>10.2f}\n", "from arrays of int32", 1e3 * narrow,
             "from arrays of size_t", 1e3 * wide, "borrowed", 1e3 * borrowed);
  return {{"nonzeros", columns.size()},
          {"from_int32_seconds", narrow},
          {"from_size_t_seconds", wide},
          {"borrowed_seconds", borrowed}};
}

}  // namespace

json measure_setups(const settings& asked, bool gpu) {
  json solver = measure_solver(asked, gpu);
  return {{"solver", std::move(solver)}, {"matrix", measure_matrix(asked)}};
}

}  // namespace overheads
