// GPUs of one machine that reach one another's memory: directly within a process, else by cudaIpc handles.
#include <algorithm>
#include <memory>
#include <string>

#include "solvers/exchange/windows/transport.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst::windows {
namespace {

#if WHILST_WITH_CUDA
/// Lets kernels of one GPU write memory of another, of this process.
void reach_gpu(int from, int to) {
  if (from == to) return;
  const cuda::device_guard current(from);
  int can = 0;
  WHILST_CUDA("asking whether a GPU reaches another", cudaDeviceCanAccessPeer(&can, from, to));
  if (!can)
    throw error(making_window, "GPU " + std::to_string(from) + " cannot reach the memory of GPU " + std::to_string(to),
                "Use GPUs that NVLink or one PCIe switch connects: nvidia-smi topo -m shows them");
  const cudaError_t status = WHILST_CUDA_ATTEMPT(cudaDeviceEnablePeerAccess(to, 0));
  if (status != cudaSuccess && status != cudaErrorPeerAccessAlreadyEnabled)
    cuda::fail(status, "cudaDeviceEnablePeerAccess", "letting a GPU reach another");
}
std::shared_ptr<void> memory_of_process(int device, const cudaIpcMemHandle_t& handle) {
  const cuda::device_guard current(device);
  void* at = nullptr;
  WHILST_CUDA("opening the memory of another process's GPU",
              cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
  return {at, [device, life = cuda::context_life::current()](void* memory) {
            if (life.ended()) return;
            const cuda::device_guard own(device);
            cudaIpcCloseMemHandle(memory);
          }};
}

class transport_of_peers final : public transport {
 public:
  explicit transport_of_peers(const ranks_known& known) : known_(known) {}
  void open(memory_seen& made) const override {
    const place where = known_.where;
    const auto open_own = [&] {
      cudaIpcMemHandle_t handle{};
      made.own = own_memory(where, made.bytes);
      if (!known_.are_one_process()) {
        const cuda::device_guard current(where.device());
        WHILST_CUDA("sharing a GPU's memory with other processes", cudaIpcGetMemHandle(&handle, made.own.get()));
      }
      return handle;
    };
    open_doors<cudaIpcMemHandle_t>(
        known_, made, open_own,
        [&](std::size_t, const cudaIpcMemHandle_t& handle, std::size_t) {
          return memory_of_process(where.device(), handle);
        },
        [&](std::size_t q, const std::shared_ptr<void>& piece) {
          if (known_.shares_process(q)) reach_gpu(where.device(), known_.all[q].device);
          return piece.get();
        });
  }

 private:
  ranks_known known_;
};
#endif

}  // namespace

const transport_kind by_peer_memory{
    .name = "peer memory",
    .is_for_gpus = true,
    .is_automatic = true,
    .why_not = [](const ranks_known&) -> std::string { return ""; },
    .make = []([[maybe_unused]] const ranks_known& known) -> std::unique_ptr<transport> {
#if WHILST_WITH_CUDA
      return std::make_unique<transport_of_peers>(known);
#else
      return nullptr;  // no rank runs on a GPU
#endif
    },
    .why_not_here = [](const peers_of_gpus& peers) -> std::string {
      if (const std::string why = why_no_two_gpus(peers); !why.empty()) return why;
      const int count = static_cast<int>(peers.size());
      for (int from = 0; from < count; ++from) {
        const std::vector<int>& reached = peers[static_cast<std::size_t>(from)];
        for (int to = 0; to < count; ++to)
          if (to != from && std::find(reached.begin(), reached.end(), to) == reached.end())
            return "GPU " + std::to_string(from) + " does not reach the memory of GPU " + std::to_string(to);
      }
      return "";
    },
};

}  // namespace whilst::windows
