#include "whilst/exchange/window.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

struct window::pieces {
  std::string transport = "one rank";
  std::size_t bytes = 0;
  int rank = 0;
  place where = place::host();
  std::shared_ptr<void> own;                  ///< this rank's
  std::vector<std::shared_ptr<void>> others;  ///< what this rank sees of the others, kept
  std::vector<void*> seen;                    ///< by rank
};

namespace {

constexpr const char* making_window = "making a window of a group";

/// Where a rank runs.
struct whereabouts {
  std::array<char, 128> machine;
  long long process;
  unsigned token;  ///< of the process: those of several containers may have one number
  int device;      ///< -1 for the host
};
/// How others reach its piece.
struct door {
  const std::shared_ptr<void>* in_process;
  std::size_t bytes;          ///< which may differ between ranks
  std::array<char, 64> name;  ///< of shared memory
#if WHILST_WITH_CUDA
  cudaIpcMemHandle_t handle;
#endif
};

whereabouts own_whereabouts(place where) {
  whereabouts here{};
  std::string machine(64, '\0');
  if (gethostname(machine.data(), machine.size()) != 0) machine.clear();
  machine = machine.c_str();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;  // two machines may have one name
  machine += " " + boot;
  std::copy_n(machine.begin(), std::min(machine.size(), here.machine.size() - 1), here.machine.begin());
  here.process = getpid();
  static const unsigned token = std::random_device()();
  here.token = token;
  here.device = where.on_host() ? -1 : where.device();
  return here;
}

[[noreturn]] void refuse_shared_memory(const std::string& doing) {
  throw error(doing, std::generic_category().message(errno), "See whether /dev/shm is there and has room");
}

/// Zeroed memory that other processes can open by its name until it is unlinked.
class named_memory {
 public:
  named_memory(std::size_t bytes, std::string name, bool makes_it) : name_(std::move(name)), owns_name_(makes_it) {
    const std::string doing =
        (makes_it ? "making" : "opening") + std::string(" shared memory for the ranks of a group");
    const int file = shm_open(name_.c_str(), makes_it ? O_CREAT | O_EXCL | O_RDWR : O_RDWR, 0600);
    if (file < 0) refuse_shared_memory(doing);
    int refused = 0;
    do {
      refused = makes_it ? posix_fallocate(file, 0, static_cast<off_t>(bytes)) : 0;
    } while (refused == EINTR);
    const bool has_room = refused == 0;
    void* const mapped = has_room ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    const int why = has_room ? errno : refused;
    close(file);
    if (mapped == MAP_FAILED) {
      unlink();
      errno = why;
      refuse_shared_memory(doing);
    }
    memory_ = std::shared_ptr<void>(mapped, [bytes](void* at) { munmap(at, bytes); });
  }
  ~named_memory() { unlink(); }
  named_memory(const named_memory&) = delete;
  named_memory& operator=(const named_memory&) = delete;
  const std::shared_ptr<void>& memory() const { return memory_; }

 private:
  void unlink() const {
    if (owns_name_) shm_unlink(name_.c_str());
  }
  std::string name_;
  bool owns_name_;
  std::shared_ptr<void> memory_;
};

std::string next_name() {
  static std::atomic<int> made{0};
  return "/whilst-" + std::to_string(getpid()) + "-" + std::to_string(made++);
}

std::shared_ptr<void> private_memory(place where, std::size_t bytes) {
  const auto made = std::make_shared<raw_buffer>(where, bytes);
  return {made, made->data()};
}

#if WHILST_WITH_CUDA
/// Lets kernels of one GPU write memory of another, of this process.
void reach(int from, int to) {
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
std::shared_ptr<void> opened(int device, const cudaIpcMemHandle_t& handle) {
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
#endif

}  // namespace

window::window(const group& ranks, place where, std::size_t bytes) : pieces_(std::make_shared<pieces>()) {
  pieces& made = *pieces_;
  made.bytes = bytes;
  made.rank = ranks.rank();
  made.where = where;
  const std::vector<whereabouts> all =
      ranks.all_gather<whereabouts>(making_window, [&] { return std::vector{own_whereabouts(where)}; }).all;
  const whereabouts& here = all[static_cast<std::size_t>(made.rank)];
  const auto shares_process = [&](const whereabouts& other) {
    return other.machine == here.machine && other.process == here.process && other.token == here.token;
  };
  const bool in_one_process = std::all_of(all.begin(), all.end(), shares_process);
  if (ranks.size() > 1)
    made.transport = !where.on_host() ? "peer memory" : in_one_process ? "threads" : "shared memory";

  std::unique_ptr<named_memory> named;
  door own{};
  const auto open_own = [&] {
    for (const whereabouts& other : all) {
      if ((other.device < 0) != where.on_host())
        throw error(making_window, "one of the ranks runs on the host, another on a GPU",
                    "Give all ranks the same executor");
      if (other.machine != here.machine)
        throw error(making_window, "ranks are on several machines, which no transport of this version spans",
                    "Start all ranks on one machine");
    }
    if (where.on_host() && !in_one_process) {
      const std::string name = next_name();
      named = std::make_unique<named_memory>(std::max<std::size_t>(bytes, 1), name, true);
      made.own = named->memory();
      std::copy(name.begin(), name.end(), own.name.begin());
    } else {
      made.own = private_memory(where, bytes);
    }
    own.in_process = &made.own;
    own.bytes = bytes;
#if WHILST_WITH_CUDA
    if (!where.on_host() && !in_one_process) {
      const cuda::device_guard current(where.device());
      WHILST_CUDA("sharing a GPU's memory with other processes", cudaIpcGetMemHandle(&own.handle, made.own.get()));
    }
#endif
    return std::vector{own};
  };
  const std::vector<door> doors = ranks.all_gather<door>(making_window, open_own).all;

  // No rank may go before all have opened what it has: its memory, and the name of that.
  ranks.agree(making_window, [&] {
    for (std::size_t q = 0; q < all.size(); ++q) {
      std::shared_ptr<void> piece = made.own;
      if (q != static_cast<std::size_t>(made.rank)) {
        if (shares_process(all[q])) {
          piece = *doors[q].in_process;
#if WHILST_WITH_CUDA
          if (!where.on_host()) reach(where.device(), all[q].device);
        } else if (!where.on_host()) {
          piece = opened(where.device(), doors[q].handle);
#endif
        } else {
          piece = named_memory(std::max<std::size_t>(doors[q].bytes, 1), doors[q].name.data(), false).memory();
        }
      }
      made.seen.push_back(piece.get());
      made.others.push_back(std::move(piece));
    }
  });
}

void* window::of(int rank) const { return pieces_->seen[static_cast<std::size_t>(rank)]; }
const std::string& window::transport() const { return pieces_->transport; }

void window::set_to_zero() {
  pieces& own = *pieces_;
  if (own.where.on_host()) {
    std::memset(own.own.get(), 0, own.bytes);
    return;
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(own.where.device());
  WHILST_CUDA("clearing a window", cudaMemset(own.own.get(), 0, own.bytes));
  WHILST_CUDA("clearing a window", cudaDeviceSynchronize());
#endif
}

}  // namespace whilst
