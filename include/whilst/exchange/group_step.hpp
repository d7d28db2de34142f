#pragma once

#include <optional>

#include "whilst/engine/steps/step.hpp"
#include "whilst/exchange/group_exchange.hpp"
#if defined(__CUDACC__)
#include "whilst/exchange/group_step_kernel.hpp"
#endif

namespace whilst {

/// Whether a finish and its sequel may run as one kernel once the sums of all ranks are there.
template <class Finish, class Sequel>
constexpr bool finishes_in_group_step = [] {
  if constexpr (std::is_same_v<Sequel, no_sequel>) {
    return false;
  } else {
    return by_nvcc && detail::by_each_block<Finish> && !detail::by_warp<Finish>;
  }
}();

#if defined(__CUDACC__)

/// A step on a GPU that waits for the sums of all ranks, with its finish and its sequel: see group_step_kernel.hpp.
/// Sends: no_sends, or what sends entries of the vector that the sequel makes, as halo_sends.
template <class Total, class Finish, class Sequel, class Sends>
class group_step final : public recorded_step {
 public:
  group_step(const char* name, index_type n, const group_exchange& ranks, const Finish& finish, const Sequel& sequel,
             const Sends& sends)
      : recorded_step(name, {.has_finish = true,
                             .has_sequel = true,
                             .fetches_only_constants = detail::fetches_only_constants<Sequel>()}),
        ranks_(ranks),
        finish_(finish),
        sequel_(sequel),
        sends_(sends) {
    set_count(n, 1, detail::host_chunk);
  }
  std::optional<index_type> bytes() const override {
    if constexpr (requires { sequel_.bytes(count()); }) {
      return sequel_.bytes(count());
    } else {
      return std::nullopt;
    }
  }
  void run_on_host(loop_state*, int) override {}  // it is recorded for GPUs alone
#if WHILST_WITH_CUDA
  launch_shape shape(const device_traits& device) const override {
    launch_shape made;
    made.threads = detail::threads_of_group_step;
    const int resident = device.kernels->resident_blocks(kernel(), static_cast<int>(made.threads), name());
    made.blocks = static_cast<unsigned>(std::clamp<index_type>(
        (count() + made.threads - 1) / made.threads, 1, static_cast<index_type>(resident) * device.multiprocessors));
    return made;
  }
  void with_kernel(const launch_shape&, const step_frame& frame, const kernel_user& use) const override {
    step_frame filled = frame;
    filled.n = count();
    const auto address = [](const auto& part) { return const_cast<void*>(static_cast<const void*>(&part)); };
    void* arguments[] = {address(ranks_), address(finish_), address(sequel_), address(sends_), &filled};
    use(kernel(), arguments);
  }
#endif

 private:
  template <int blocks>
  static const void* kernel_of() {
    return reinterpret_cast<const void*>(&detail::group_step_kernel<Total, Finish, Sequel, Sends, blocks>);
  }
  const void* kernel() const {
    return count() > detail::most_indices_of_two_blocks   ? kernel_of<4>()
           : count() > detail::most_indices_of_few_blocks ? kernel_of<2>()
                                                          : kernel_of<1>();
  }
  void run_chunk(index_type) override {}

  group_exchange ranks_;
  Finish finish_;
  Sequel sequel_;
  Sends sends_;
};

#endif

}  // namespace whilst
