#include "whilst/nonlinear/minimize/minimizer_batch.hpp"

#include "solvers/nonlinear/descent/descent_options.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {

double minimizer_batch_report::mean_evaluations() const {
  double sum = 0;
  for (const minimization_outcome& one : *this) sum += one.evaluations;
  return size() == 0 ? 0 : sum / static_cast<double>(size());
}

namespace detail {
namespace {

const std::string making_batch = "making a batch of minimizations";

}  // namespace

batch_settings settings_of_minimizations(const minimizer_batch_options& options, index_type problems) {
  check_descent(making_batch, options.tolerances, options.lower_bound);
  if (options.max_evaluations < 0)
    throw error(making_batch, "max_evaluations is " + std::to_string(options.max_evaluations),
                "Give 1 or more, or 0 to have it chosen");
  return {making_batch, "a minimizer", problems, options};
}

minimization_settings settings_of_each(const minimizer_batch_options& options, bool single) {
  minimization_settings made;
  const line_search_kind search = line_search_from_name(making_batch, options.line_search);
  if (search == line_search_kind::parallel)
    throw error(making_batch, "line search 'parallel' is for a minimizer: within a kernel lengths are tried in turn",
                "Use strong-wolfe, approximate-wolfe or backtracking");
  made.descent = usual_descent_settings(options.method, search, options.tolerances, options.lower_bound, single);
  made.loop.limit = options.max_iterations;
  made.loop.trip_limit = trip_limit(options.max_iterations, options.max_evaluations);
  return made;
}

void refuse_method(const std::string& asked, const std::string& known) {
  throw error(making_batch, "there is no method called '" + asked + "' among those that the batch is compiled for",
              "Use one of " + known);
}

void check_dense(const char* method, index_type unknowns, index_type most) {
  check_unknowns(making_batch, method, unknowns, most, "lbfgs");
}

index_type bytes_of_all(index_type problems, index_type bytes_a_problem) {
  constexpr index_type most = std::numeric_limits<index_type>::max() / 2;
  if (problems > most / bytes_a_problem)
    throw error(making_batch, std::to_string(problems) + " problems want more memory than can be counted",
                "Solve them in parts");
  return problems * bytes_a_problem;
}

int lanes_for_minimizations(const pattern_view& pattern, bool by_threads) {
  // One term is one thread's work, whatever the other threads could do meanwhile.
  if (by_threads) return 1;
  constexpr index_type unknowns_for_a_block = 64;
  constexpr int most = 256;
  int threads = 32;
  while (pattern.unknowns >= unknowns_for_a_block && threads < pattern.unknowns && threads < most) threads *= 2;
  return threads;
}

index_type fast_memory_for_problem([[maybe_unused]] place where, [[maybe_unused]] index_type problems) {
#if WHILST_WITH_CUDA
  if (where.on_host()) return 0;
  // Block sums need some shared memory themselves. If there are many blocks, several should share a multiprocessor.
  constexpr index_type for_sums = 16 * 1024;
  const device_traits traits = traits_of_device(where.device());
  const index_type most = static_cast<index_type>(traits.fast_memory_bytes) - for_sums;
  return problems <= traits.multiprocessors ? most : most / 4;
#else
  return 0;
#endif
}

}  // namespace detail
}  // namespace whilst
