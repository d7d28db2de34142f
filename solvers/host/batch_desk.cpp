#include "whilst/host/batch_desk.hpp"

#include <limits>

#include "solvers/host/deadline.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/steps/host_threads.hpp"
#include "whilst/host/choose_executor.hpp"

namespace whilst::detail {
namespace {

const batch_settings& checked(const batch_settings& settings) {
  const auto refuse = [&](const std::string& what, const std::string& cure) {
    throw error(settings.doing, what, cure);
  };
  if (settings.problems < 1) refuse("the number of problems is " + std::to_string(settings.problems), "Give 1 or more");
  constexpr index_type most_problems =
      std::numeric_limits<index_type>::max() / 65536;  // their byte counts must not overflow
  if (settings.problems > most_problems)
    refuse(std::to_string(settings.problems) + " problems are beyond any memory", "Solve them in parts");
  if (settings.max_iterations < 0 || settings.max_iterations > std::numeric_limits<std::int32_t>::max())
    refuse("max_iterations is " + std::to_string(settings.max_iterations), "Give 0 to 2147483647");
  check_deadline(settings.doing, settings.deadline);
  check_host_threads(settings.doing, settings.threads);
  const int lanes = settings.lanes;
  const bool part_of_warp = lanes > 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0;
  if (lanes != 0 && !part_of_warp && !(lanes > 32 && lanes <= 1024 && lanes % 32 == 0))
    refuse("lanes is " + std::to_string(lanes),
           "Give 1, 2, 4, 8, 16 or 32, or a multiple of 32 up to 1024, or 0 for what suits");
  return settings;
}

}  // namespace

batch_desk::batch_desk(const batch_settings& settings)
    : settings_(checked(settings)),
      where_(
          place_of_batch({.executor = settings.executor, .device = settings.device}, settings.doing, settings.alone)),
      frame_(where_, 1) {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  cuda::device_guard current(where_.device());
  beside_ = cuda::make_stream();
  pinned_ = shared_memory_block(where_, sizeof(std::uint64_t));
#endif
}

void batch_desk::require_context([[maybe_unused]] std::string_view doing) const {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  cuda::device_guard current(where_.device());
  beside_.get_deleter().life.require(doing);
#endif
}

int batch_desk::lanes_or(int suited) const {
  if (where_.on_host()) return 1;
  return settings_.lanes != 0 ? settings_.lanes : suited;
}

void check_deadline(const std::string& doing, double seconds) {
  if (!(seconds > 0)) throw error(doing, "the deadline is " + std::to_string(seconds) + " seconds", "Give more than 0");
}
std::uint64_t nanoseconds_of_deadline(double seconds) { return nanoseconds_of(seconds); }

void batch_desk::cancel() {
  const std::uint64_t latest = latest_.load();
  if (latest == 0) return;
  const std::uint64_t request = launch_set::up_to(latest).word;
  std::uint64_t& target = frame_.data()->root.outside.cancel_request;
  if (where_.on_host()) {
    std::atomic_ref(target).store(request, std::memory_order_relaxed);
    return;
  }
#if WHILST_WITH_CUDA
  require_context("cancelling a batch");  // before the host writes memory that may be gone with it
  const std::lock_guard hold(lock_);
  cuda::device_guard current(where_.device());
  *static_cast<std::uint64_t*>(pinned_.data()) = request;
  WHILST_CUDA("cancelling a batch",
              cudaMemcpyAsync(&target, pinned_.data(), sizeof request, cudaMemcpyHostToDevice, beside_.get()));
  cuda::finish_copies("cancelling a batch", beside_.get());
#endif
}

}  // namespace whilst::detail
