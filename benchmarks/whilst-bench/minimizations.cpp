// compiled by nvcc where CUDA is on
#include "benchmarks/whilst-bench/minimizations.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "whilst/error.hpp"

namespace whilst_bench {
namespace {

using whilst::index_type;

/// Rosenbrock's function of K unknowns, chained: sum of 100 (x_(j+1) - x_j^2)^2 + (1 - x_j)^2.
template <int K>
struct rosenbrock {
  static constexpr int unknowns = K;
  WHILST_HD rosenbrock of_problem(index_type) const { return {}; }
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    S f = 0.0;
    for (int j = 0; j + 1 < K; ++j) {
      const S a = x[j + 1] - x[j] * x[j], b = 1.0 - x[j];
      f += 100.0 * (a * a) + b * b;
    }
    return f;
  }
};

/// Between -2 and 2, the same for the same key on every machine: S. Vigna's SplitMix64 as a hash.
double start_of(std::uint64_t key) {
  std::uint64_t z = (key + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return 4 * ((static_cast<double>(z >> 11) + 0.5) * 0x1p-53) - 2;
}

template <class T, int K>
minimizations_result measure(const minimizations_options& options) {
  const double tolerance = options.tolerance >= 0 ? options.tolerance : sizeof(T) == 4 ? 1e-3 : 1e-8;
  const index_type n = options.unknowns;
  std::vector<std::int32_t> pairs;
  for (std::int32_t j = 0; n != K && j < n; ++j) pairs.push_back(j);
  whilst::minimizer_batch<T, rosenbrock<K>> batch([](whilst::place) { return rosenbrock<K>{}; }, options.problems, n,
                                                  pairs,
                                                  {.method = options.method,
                                                   .line_search = options.line_search,
                                                   .tolerances = {.gradient = tolerance},
                                                   .executor = options.executor,
                                                   .lanes = options.lanes});
  std::vector<T> start(static_cast<std::size_t>(options.problems * n)), x;
  for (std::size_t j = 0; j < start.size(); ++j) start[j] = static_cast<T>(start_of(j));
  minimizations_result result;
  result.tolerance = tolerance;
  for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
    x = start;
    const auto began = std::chrono::steady_clock::now();
    result.report = batch.solve(x);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (repetition == 0) continue;  // warm-up
    result.launch_seconds.push_back(result.report.solve_seconds());
    result.call_seconds.push_back(seconds);
  }
  for (index_type k = 0; k < options.problems; ++k)
    for (index_type j = 0; j < n && result.report[k].converged(); ++j)
      result.largest_error =
          std::max(result.largest_error, std::abs(static_cast<double>(x[static_cast<std::size_t>(k * n + j)]) - 1));
  return result;
}

template <class T>
minimizations_result measure_size(const minimizations_options& options) {
  return options.unknowns == 3 ? measure<T, 3>(options) : measure<T, 2>(options);
}

}  // namespace

int run_minimizations(const minimizations_options& options) {
  const index_type n = options.unknowns;
  if (options.problems < 1 || n < 2 || (n != 3 && n % 2 != 0))
    throw whilst::error(
        "measuring minimizations",
        "there are " + std::to_string(options.problems) + " problems of " + std::to_string(n) + " unknowns",
        "Give 1 or more, of 3 unknowns or an even number");
  return report_minimizations(
      options.precision == "float" ? measure_size<float>(options) : measure_size<double>(options), options);
}

}  // namespace whilst_bench
