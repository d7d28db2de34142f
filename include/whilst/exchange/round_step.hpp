#pragma once

#include <algorithm>
#include <optional>

#include "whilst/engine/steps/step.hpp"
#include "whilst/exchange/group_exchange.hpp"
#if defined(__CUDACC__)
#include "whilst/exchange/round_step_kernel.hpp"
#endif

namespace whilst {

#if defined(__CUDACC__)

/// A step on a GPU between two rounds of sums: see round_step_kernel.hpp. Sends: as halo_sends_of_two.
template <class Total, class Finish, class Map, class Sends>
class round_step final : public recorded_step {
 public:
  round_step(const char* name, index_type n, const Finish& finish, const Map& map, const give_sums<Total>& gives,
             const Sends& sends)
      : recorded_step(name, {.has_finish = true,
                             .fetches_only_constants = detail::fetches_only_constants<Map>(),
                             .bytes_of_sums = sizeof(Total)}),
        finish_(finish),
        map_(map),
        gives_(gives),
        sends_(sends) {
    static_assert(detail::by_each_block<Finish> && !detail::by_warp<Finish>, "each block runs the finish");
    set_count(n, detail::lanes_wanted(map), detail::host_chunk);
  }
  std::optional<index_type> bytes() const override {
    if constexpr (requires { map_.bytes(count()); }) {
      return map_.bytes(count());
    } else {
      return std::nullopt;
    }
  }
  void run_on_host(loop_state*, int) override {}  // it is recorded for GPUs alone
#if WHILST_WITH_CUDA
  launch_shape shape(const device_traits& device) const override {
    launch_shape made;
    made.threads = detail::threads_of_group_step;
    const index_type most = detail::threads_of_group_step;
    if (threads() > most && threads() <= largest_cluster * most) {
      made.cluster = threads() <= 8 * most ? 8 : largest_cluster;
      if (waits_for_previous(device, made) &&
          device.kernels->cluster_blocks(kernel(made), static_cast<int>(most), name()) >=
              static_cast<int>(made.cluster)) {
        made.blocks = made.cluster;
        made.threads = static_cast<unsigned>((threads() + 32 * made.blocks - 1) / (32 * made.blocks) * 32);
        return made;
      }
      made.cluster = 1;
    }
    const int resident = device.kernels->resident_blocks(kernel(made), static_cast<int>(made.threads), name());
    made.blocks = static_cast<unsigned>(std::clamp<index_type>(
        (threads() + made.threads - 1) / made.threads, 1, static_cast<index_type>(resident) * device.multiprocessors));
    return made;
  }
  void with_kernel(const launch_shape& shape, const step_frame& frame, const kernel_user& use) const override {
    step_frame filled = frame;
    filled.n = count();
    filled.lanes = detail::lanes_wanted(map_);
    const auto address = [](const auto& part) { return const_cast<void*>(static_cast<const void*>(&part)); };
    void* arguments[] = {address(finish_), address(map_), address(gives_), address(sends_), &filled};
    use(kernel(shape), arguments);
  }
#endif

 private:
  index_type threads() const { return count() * detail::lanes_wanted(map_); }
  template <detail::round_form form>
  static const void* kernel_of() {
    return reinterpret_cast<const void*>(&detail::round_step_kernel<Total, Finish, Map, Sends, form>);
  }
  const void* kernel(const launch_shape& shape) const {
    using detail::round_form;
    return shape.cluster > 1                                ? kernel_of<round_form::cluster>()
           : threads() > detail::most_indices_of_few_blocks ? kernel_of<round_form::many>()
                                                            : kernel_of<round_form::few>();
  }
  void run_chunk(index_type) override {}

  Finish finish_;
  Map map_;
  give_sums<Total> gives_;
  Sends sends_;
};

#endif

}  // namespace whilst
