#include "whilst/engine/loop_endings.hpp"

#include "kernels/engine/program_view.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

control copy_of(const control& on_place, [[maybe_unused]] place where) {
  control copy{};
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    const cuda::device_guard current(where.device());
    const cuda::stream copying = cuda::make_stream();
    const char* const doing = "asking a loop how it stands";
    WHILST_CUDA(doing, cudaMemcpyAsync(&copy, &on_place, sizeof copy, cudaMemcpyDeviceToHost, copying.get()));
    cuda::finish_copies(doing, copying.get());
    return copy;
  }
#endif
  copy = on_place;
  return copy;
}

std::vector<loop_ending> loop_endings(const program& of) {
  of.wait();
  const program_view self = of.view();
  std::vector<loop_ending> all;
  std::uint64_t root_started = 0;
  visit_nodes(self.nodes, [&](const program_node& node, const std::string& loops) {
    if (node.what != program_node::kind::loop) return;
    const control found = copy_of(*node.loop, self.where);
    if (loops.empty()) root_started = found.started_at;
    all.push_back({.loop = loops.empty() ? node.name : loops + " > " + node.name,
                   .ran = found.started_at > 0 && found.started_at >= root_started,
                   .why = found.why,
                   .iterations = found.iteration});
  });
  return all;
}

}  // namespace whilst
