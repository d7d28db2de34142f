#include "whilst/least_squares_batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "solvers/matrix_on_place.hpp"
#include "whilst/error.hpp"
#include "whilst/executor.hpp"

namespace whilst {

least_squares_batch_report::least_squares_batch_report(report_fields common, int lanes, std::vector<fit_outcome> fits)
    : common_(std::move(common)), lanes_(lanes), fits_(std::move(fits)) {
  const auto is_worse = [](const fit_outcome& one, const fit_outcome& other) {
    if (one.converged() != other.converged()) return other.converged();
    return one.value > other.value || (std::isnan(one.value) && !std::isnan(other.value));
  };
  for (index k = 0; k < size(); ++k) {
    const fit_outcome& fit = fits_[static_cast<std::size_t>(k)];
    number_converged_ += fit.converged();
    if (is_worse(fit, fits_[static_cast<std::size_t>(worst_)])) worst_ = k;
  }
}

const fit_outcome& least_squares_batch_report::operator[](index k) const {
  if (k < 0 || k >= size())
    throw error("looking up a fit of a batch",
                "there is no fit " + std::to_string(k) + " among " + std::to_string(size()), "Fits count from 0");
  return fits_[static_cast<std::size_t>(k)];
}

double least_squares_batch_report::mean_iterations() const {
  double sum = 0;
  for (const fit_outcome& fit : fits_) sum += fit.iterations;
  return fits_.empty() ? 0 : sum / static_cast<double>(fits_.size());
}

index least_squares_batch_report::most_iterations() const {
  std::int32_t most = 0;
  for (const fit_outcome& fit : fits_) most = std::max(most, fit.iterations);
  return most;
}

std::string least_squares_batch_report::message() const {
  std::string text = std::to_string(number_converged_) + " of " + std::to_string(size()) + " fits converged";
  if (size() == 0) return text;
  const fit_outcome& fit = (*this)[worst_];
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, ", after %ld iterations, at a value of %.3g",
                static_cast<long>(fit.iterations), fit.value);
  return text + "; the worst, fit " + std::to_string(worst_) + ": " + std::string(sentence(fit.reason)) + numbers;
}

int lanes_for_fits(index residuals, index fits) {
  // Few fits leave a GPU idle with a thread each, and a block's barriers pay from some residuals a thread on.
  constexpr index most_for_a_thread = 64, fits_for_threads = 4096, most_for_a_warp = 2048;
  if (residuals <= most_for_a_thread && fits >= fits_for_threads) return 1;
  return residuals <= most_for_a_warp ? 32 : 256;
}

namespace detail {
namespace {

const std::string making = "making a batch of fits";

const least_squares_batch_options& checked(const least_squares_batch_options& options, index fits) {
  if (fits < 1) throw error(making, "the number of problems is " + std::to_string(fits), "Give 1 or more");
  if (options.max_iterations < 0 || options.max_iterations > std::numeric_limits<std::int32_t>::max())
    throw error(making, "max_iterations is " + std::to_string(options.max_iterations), "Give 0 to 2147483647");
  if (!(options.deadline > 0))
    throw error(making, "the deadline is " + std::to_string(options.deadline) + " seconds", "Give more than 0");
  const int lanes = options.lanes;
  const bool part_of_warp = lanes > 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0;
  if (lanes != 0 && !part_of_warp && !(lanes > 32 && lanes <= 1024 && lanes % 32 == 0))
    throw error(making, "lanes is " + std::to_string(lanes),
                "Give 1, 2, 4, 8, 16 or 32, or a multiple of 32 up to 1024, or 0 for what suits");
  check_tolerances(making, options.tolerances);
  return options;
}

/// The CPU where the options or the environment say so or there is nothing else; the GPU asked for otherwise.
place choose_place(const least_squares_batch_options& options) {
  executor how = executor_from_name(options.executor);
  if (how != executor::automatic && how != executor::host && how != executor::batch)
    throw error(making, "executor '" + options.executor + "' is for single fits",
                "Use auto, batch or host, or a least_squares_solver for each problem");
  if (const char* from_environment = std::getenv("WHILST_EXECUTOR"); how == executor::automatic && from_environment) {
    try {
      how = executor_from_name(from_environment);
    } catch (const error& unknown) {
      throw error(making + " with the executor of WHILST_EXECUTOR: " + unknown.what());
    }
  }
  // One kernel is how a resident fit runs, too, and on the same devices.
  const bool on_host = how == executor::host || cuda::device_count() == 0;
  return choose_executor({.executor = on_host ? "host" : "resident", .device = options.device}, 1, false, true).where;
}

}  // namespace

fits_desk::fits_desk(const least_squares_batch_options& options, index fits)
    : options_(checked(options, fits)), fits_(fits), where_(choose_place(options)), frame_(where_, 1) {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  cuda::device_guard current(where_.device());
  beside_ = cuda::make_stream();
  pinned_ = shared_memory_block(where_, sizeof(std::uint64_t));
#endif
}

int fits_desk::lanes_for(index residuals) const {
  if (residuals < 1) throw error(making, "there are no residuals", "Give data to fit");
  if (where_.on_host()) return 1;
  return options_.lanes != 0 ? options_.lanes : lanes_for_fits(residuals, fits_);
}

std::uint64_t fits_desk::deadline_nanoseconds() const {
  constexpr double longest = 1e9;  // seconds, 30 years: more would overflow
  if (!(options_.deadline < longest)) return 0;
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(1e9 * options_.deadline), 1);
}

void fits_desk::cancel() {
  const std::uint64_t latest = latest_.load();
  if (latest == 0) return;
  const std::uint64_t request = launch_set::up_to(latest).word;
  std::uint64_t& target = frame_.data()->wish.cancel_request;
  if (where_.on_host()) {
    std::atomic_ref(target).store(request, std::memory_order_relaxed);
    return;
  }
#if WHILST_WITH_CUDA
  const std::lock_guard hold(lock_);
  cuda::device_guard current(where_.device());
  *static_cast<std::uint64_t*>(pinned_.data()) = request;
  WHILST_CUDA("cancelling a batch of fits",
              cudaMemcpyAsync(&target, pinned_.data(), sizeof request, cudaMemcpyHostToDevice, beside_.get()));
  WHILST_CUDA("cancelling a batch of fits", cudaStreamSynchronize(beside_.get()));
#endif
}

}  // namespace detail
}  // namespace whilst
