// compiled by nvcc where CUDA is on
#include "benchmarks/whilst-bench/fits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "benchmarks/whilst-bench/fits_table.hpp"
#include "whilst/error.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst_bench {
namespace {

using whilst::index_type;

/// y = b0 exp(-b1 t) + b2
struct decay {
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* t) const {
    using std::exp;
    return b[0] * exp(b[1] * (-t[0])) + b[2];
  }
};
constexpr std::size_t n = decay::parameters;

/// Uniform in (0, 1), the same for the same key on every machine: S. Vigna's SplitMix64 as a hash.
double uniform(std::uint64_t key) {
  std::uint64_t z = (key + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
}
/// Normal, with mean 0 and deviation 1 (Box and Muller).
double normal(std::uint64_t key) {
  constexpr double pi = 3.14159265358979323846;
  return std::sqrt(-2 * std::log(uniform(2 * key))) * std::cos(2 * pi * uniform(2 * key + 1));
}

/// Data sets of decays sampled over a few of their lifetimes, with noise of 1 % of b0.
template <class T>
struct made_data {
  index_type problems, points;
  /// Neighbours in memory are neighbouring problems, for one thread each, or neighbouring points.
  bool by_points;
  std::vector<double> times;
  std::vector<T> responses, start;
  std::vector<double> truth;

  made_data(const fits_options& options, bool by_points)
      : problems(options.problems),
        points(options.points),
        by_points(by_points),
        times(static_cast<std::size_t>(points)),
        responses(static_cast<std::size_t>(problems * points)),
        start(static_cast<std::size_t>(problems) * n),
        truth(start.size()) {
    constexpr double longest = 5, relative_noise = 0.01, off = 0.5;
    constexpr std::array<double, n> least{1, 0.7, 0.5}, most{2, 1.4, 1};
    for (index_type i = 0; i < points; ++i)
      times[static_cast<std::size_t>(i)] = longest * static_cast<double>(i) / static_cast<double>(points);
#if defined(_OPENMP)
#pragma omp parallel for
#endif
    for (index_type k = 0; k < problems; ++k) {
      const auto keys = static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(points + 8);
      double* const b = truth.data() + static_cast<std::size_t>(k) * n;
      for (std::size_t j = 0; j < n; ++j) {
        b[j] = least[j] + (most[j] - least[j]) * uniform(2 * (keys + j));
        const double sign = uniform(2 * (keys + n + j)) < 0.5 ? -1 : 1;
        start[static_cast<std::size_t>(k) * n + j] = static_cast<T>(b[j] * (1 + sign * off));
      }
      for (index_type i = 0; i < points; ++i) {
        const double y = b[0] * std::exp(-b[1] * times[static_cast<std::size_t>(i)]) + b[2];
        responses[static_cast<std::size_t>(by_points ? i * problems + k : k * points + i)] =
            static_cast<T>(y + relative_noise * b[0] * normal(keys + 8 + static_cast<std::uint64_t>(i)));
      }
    }
  }
};

/// How far the parameters of the fits that converged are from the truth.
template <class T>
std::array<fits_spread, n> spread_of(const made_data<T>& data, const std::vector<T>& x,
                                     const whilst::least_squares_batch_report& report) {
  std::array<fits_spread, n> result;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0, squares = 0;
    for (index_type k = 0; k < data.problems; ++k) {
      if (!report[k].converged()) continue;
      const std::size_t at = static_cast<std::size_t>(k) * n + j;
      const double error = static_cast<double>(x[at]) / data.truth[at] - 1;
      sum += error;
      squares += error * error;
    }
    const auto count = static_cast<double>(std::max<index_type>(report.number_converged(), 1));
    result[j] = {sum / count, std::sqrt(std::max(squares / count - sum / count * (sum / count), 0.0))};
  }
  return result;
}

template <class T>
fits_result measure(const fits_options& options) {
  const auto suggested = options.lanes ? options.lanes : whilst::lanes_for_fits(options.points, options.problems);
  const made_data<T> data(options, options.executor != "host" && suggested == 1);
  using problem = whilst::curve_residuals_of_many<T, decay>;
  whilst::buffer<double> times;
  whilst::buffer<T> responses;
  whilst::least_squares_batch_options settings{.executor = options.executor, .lanes = options.lanes};
  settings.tolerances.first_damping = options.first_damping;
  if (options.tolerance >= 0) settings.tolerances.gradient = settings.tolerances.step = options.tolerance;
  whilst::least_squares_batch<T, problem> batch(
      [&](whilst::place where) {
        times = whilst::buffer<double>(where, data.points);
        responses = whilst::buffer<T>(where, data.problems * data.points);
        times.upload(data.times.data());
        responses.upload(data.responses.data());
        return problem{{},
                       data.points,
                       times.data(),
                       responses.data(),
                       data.by_points ? data.problems : 1,
                       data.by_points ? 1 : data.points};
      },
      data.problems, settings);

  std::vector<T> x;
  fits_result result;
  for (int repetition = 0; repetition <= options.repetitions; ++repetition) {
    x = data.start;
    const auto began = std::chrono::steady_clock::now();
    result.report = batch.solve(x);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (repetition == 0) continue;  // warm-up
    result.launch_seconds.push_back(result.report.solve_seconds());
    result.call_seconds.push_back(seconds);
  }
  result.spreads = spread_of(data, x, result.report);
  result.tolerances = settings.tolerances;
  return result;
}

}  // namespace

int run_fits(const fits_options& options) {
  if (options.problems < 1 || options.points < 1)
    throw whilst::error(
        "measuring fits",
        "there are " + std::to_string(options.problems) + " problems of " + std::to_string(options.points) + " points",
        "Give 1 or more of both");
  return report_fits(options.precision == "float" ? measure<float>(options) : measure<double>(options), options);
}

}  // namespace whilst_bench
