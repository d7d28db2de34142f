// GPUs of one machine that cannot reach one another's memory, by memory of the host that all can reach: between
// processes POSIX shared memory that each registers with its GPU, within a process pinned memory.
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "solvers/exchange/windows/named_memory.hpp"
#include "solvers/exchange/windows/transport.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst::windows {
namespace {

#if WHILST_WITH_CUDA
constexpr unsigned for_all_gpus = cudaHostRegisterPortable | cudaHostRegisterMapped;
static_assert(cudaHostAllocPortable == cudaHostRegisterPortable && cudaHostAllocMapped == cudaHostRegisterMapped);

/// Zeroed memory that all GPUs of this process reach.
std::shared_ptr<void> pinned_memory(int device, std::size_t bytes) {
  const cuda::device_guard current(device);
  void* at = nullptr;
  WHILST_CUDA("making memory of the host that GPUs reach", cudaHostAlloc(&at, bytes, for_all_gpus));
  std::shared_ptr<void> made(at, [device, life = cuda::context_life::current()](void* memory) {
    if (life.ended()) return;
    const cuda::device_guard own(device);
    cudaFreeHost(memory);
  });
  std::memset(at, 0, bytes);
  return made;
}
/// Mapped memory, made known to all GPUs of this process until the last copy of what is returned goes.
std::shared_ptr<void> registered(int device, std::shared_ptr<void> mapped, std::size_t bytes) {
  const cuda::device_guard current(device);
  void* const at = mapped.get();
  WHILST_CUDA("letting GPUs reach memory that processes share", cudaHostRegister(at, bytes, for_all_gpus));
  return {at, [device, kept = std::move(mapped), life = cuda::context_life::current()](void* memory) {
            if (life.ended()) return;
            const cuda::device_guard own(device);
            cudaHostUnregister(memory);  // before it is unmapped
          }};
}

class transport_of_host_memory final : public transport {
 public:
  explicit transport_of_host_memory(const ranks_known& known) : known_(known) {}
  void open(memory_seen& made) const override {
    const int device = known_.where.device();
    made.own_is_of_host = true;
    std::unique_ptr<named_memory> named;  // its name is there until all have opened it
    const auto open_own = [&] {
      if (known_.are_one_process()) {
        made.own = pinned_memory(device, made.bytes);
        return named_memory::name_text{};
      }
      named = named_memory::made(made.bytes);
      made.own = registered(device, named->memory(), made.bytes);
      return named->name();
    };
    const auto open_other = [&](std::size_t, const named_memory::name_text& name, std::size_t bytes) {
      return registered(device, named_memory::opened(name, bytes), bytes);
    };
    open_doors<named_memory::name_text>(
        known_, made, open_own, open_other, [&](std::size_t, const std::shared_ptr<void>& piece) {
          const cuda::device_guard current(device);
          void* seen = nullptr;
          WHILST_CUDA("asking where a GPU reaches memory of the host", cudaHostGetDevicePointer(&seen, piece.get(), 0));
          return seen;
        });
  }

 private:
  ranks_known known_;
};

std::string why_gpu_reaches_no_host_memory(int device) {
  int maps = 0, registers = 0;
  WHILST_CUDA("asking whether a GPU reaches memory of the host",
              cudaDeviceGetAttribute(&maps, cudaDevAttrCanMapHostMemory, device));
  WHILST_CUDA("asking whether a GPU reaches memory of the host",
              cudaDeviceGetAttribute(&registers, cudaDevAttrHostRegisterSupported, device));
  return maps && registers ? "" : "GPU " + std::to_string(device) + " does not reach memory of the host";
}
#endif

}  // namespace

const transport_kind by_host_memory{
    .name = "host memory",
    .is_for_gpus = true,
    .is_automatic = true,
    .why_not = [](const ranks_known&) -> std::string { return ""; },
    .make = []([[maybe_unused]] const ranks_known& known) -> std::unique_ptr<transport> {
#if WHILST_WITH_CUDA
      return std::make_unique<transport_of_host_memory>(known);
#else
      return nullptr;  // no rank runs on a GPU
#endif
    },
    .why_not_here = [](const peers_of_gpus& peers) -> std::string {
      if (const std::string why = why_no_two_gpus(peers); !why.empty()) return why;
#if WHILST_WITH_CUDA
      for (int device = 0; device < static_cast<int>(peers.size()); ++device)
        if (const std::string why = why_gpu_reaches_no_host_memory(device); !why.empty()) return why;
#endif
      return "";
    },
};

}  // namespace whilst::windows
