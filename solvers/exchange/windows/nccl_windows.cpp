// GPUs that reach one another's memory by NCCL's windows, with the addresses of its device interface: load and store
// accessible memory (LSA). The steps that write words are those of peer memory.
//
// NCCL is loaded when it is asked for, so that the library needs it neither to link nor to run. Its NVLink multicast
// must be off.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include "solvers/exchange/windows/transport.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

// WHILST_WITH_NCCL_WINDOWS: NCCL's headers were found, of version 2.28 or later.
#if WHILST_WITH_NCCL_WINDOWS
#include "solvers/exchange/windows/nccl_pieces.hpp"
#endif

namespace whilst::windows {
namespace {

#if WHILST_WITH_NCCL_WINDOWS
static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0));

/// The functions of NCCL's library.
class nccl_library {
 public:
  /// Throws whilst::error where it is not there, or is not the one of the headers.
  static const nccl_library& loaded() {
    static const nccl_library the_one;
    return the_one;
  }

#define WHILST_NCCL_FUNCTION(name) decltype(&::nccl##name) name = found<decltype(&::nccl##name)>("nccl" #name)
  nccl_library() : at_(opened()) { require_version(); }

 private:
  void* at_;

 public:
  WHILST_NCCL_FUNCTION(GetVersion);
  WHILST_NCCL_FUNCTION(GetErrorString);
  WHILST_NCCL_FUNCTION(GetUniqueId);
  WHILST_NCCL_FUNCTION(CommInitRank);
  WHILST_NCCL_FUNCTION(CommDestroy);
  WHILST_NCCL_FUNCTION(MemAlloc);
  WHILST_NCCL_FUNCTION(MemFree);
  WHILST_NCCL_FUNCTION(CommWindowRegister);
  WHILST_NCCL_FUNCTION(CommWindowDeregister);
  void* TeamLsa = found<void*>("ncclTeamLsa");  ///< whose type is of the device interface
#undef WHILST_NCCL_FUNCTION

  void require(ncclResult_t status, const char* doing) const {
    if (status != ncclSuccess)
      throw error(doing, std::string("NCCL says: ") + GetErrorString(status),
                  "NCCL_DEBUG=WARN has it say more; or use another transport");
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, const std::string& cure) {
    throw error("loading NCCL", what, cure);
  }
  static void* opened() {
    if (void* const at = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) return at;
    const std::string why = dlerror();
    if (const char* const home = std::getenv("NCCL_HOME"))
      if (void* const at = dlopen((std::string(home) + "/lib/libnccl.so.2").c_str(), RTLD_NOW | RTLD_LOCAL)) return at;
    refuse(why, "Let LD_LIBRARY_PATH or NCCL_HOME lead to it, or use another transport");
  }
  template <class Function>
  Function found(const char* name) const {
    void* const at = dlsym(at_, name);
    if (!at) refuse(std::string("it has no ") + name, "Use NCCL 2.28 or later");
    return reinterpret_cast<Function>(at);
  }
  /// Windows of other versions have another layout, which is compiled in.
  void require_version() const {
    int version = 0;
    require(GetVersion(&version), "asking for NCCL's version");
    if (version / 100 != NCCL_VERSION_CODE / 100)
      refuse(
          "its version is " + std::to_string(version) + ", Whilst was built with " + std::to_string(NCCL_VERSION_CODE),
          "Use the same one, but for the last two digits");
  }
};

/// Empty if NCCL is told to use no multicast. NCCL looks at the environment alone, when it is first used: if others had
/// loaded it before, only what the process was started with is sure to have reached it.
std::string why_multicast_is_on() {
  static const bool was_loaded = [] {
    void* const at = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
    if (at) dlclose(at);
    return at != nullptr;
  }();
  constexpr std::string_view off = "NCCL_NVLS_ENABLE=0";
  if (was_loaded) {
    std::ifstream start("/proc/self/environ", std::ios::binary);
    for (std::string one; std::getline(start, one, '\0');)
      if (one == off) return "";
    return "NCCL was loaded before, and NVLink multicast may be on: start the process with " + std::string(off);
  }
  const char* const asked = std::getenv("NCCL_NVLS_ENABLE");
  return asked && std::strcmp(asked, "0") == 0 ? "" : "NCCL's NVLink multicast is not off: set " + std::string(off);
}
std::string why_no_nccl_windows() {
  if (const std::string why = why_multicast_is_on(); !why.empty()) return why;
  try {
    nccl_library::loaded();
    return "";
  } catch (const error& problem) {
    return problem.what();
  }
}

/// This rank's seat in a communicator of NCCL.
class communicator {
 public:
  explicit communicator(int device) : device_(device) {}
  /// Makes it, with the other ranks. Collective.
  void join(const ranks_known& known) {
    const char* const doing = "making a communicator of NCCL";
    const auto ids = known.ranks.all_gather<ncclUniqueId>(doing, [&] {
      if (const std::string why = why_no_nccl_windows(); !why.empty()) throw error(doing, why, "Use another transport");
      for (std::size_t q = 0; q < known.all.size(); ++q)
        if (q != static_cast<std::size_t>(known.ranks.rank()) && known.shares_process(q) &&
            known.all[q].device == device_)
          throw error(doing, "two ranks have one GPU, which NCCL refuses", "Give each rank a GPU of its own");
      const cuda::device_guard current(device_);
      life_ = cuda::context_life::current();  // here, where a rank that throws keeps none waiting
      std::vector<ncclUniqueId> own;
      if (known.ranks.rank() == 0)
        nccl_library::loaded().require(nccl_library::loaded().GetUniqueId(&own.emplace_back()), doing);
      return own;
    });
    known.ranks.agree(doing, [&] {
      const nccl_library& nccl = nccl_library::loaded();
      const cuda::device_guard current(device_);
      nccl.require(nccl.CommInitRank(&at_, known.ranks.size(), ids.all.front(), known.ranks.rank()), doing);
      if (const int reached = ranks_in_reach(nccl.TeamLsa, at_); reached != known.ranks.size())
        throw error(doing, "a GPU reaches " + std::to_string(reached) + " of the ranks' GPUs by load and store",
                    "Use another transport");
    });
  }
  ~communicator() {
    if (!at_ || life_.ended()) return;
    const cuda::device_guard current(device_);
    nccl_library::loaded().CommDestroy(at_);
  }
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;
  ncclComm_t get() const { return at_; }
  int device() const { return device_; }
  const cuda::context_life& life() const { return life_; }

 private:
  int device_;
  ncclComm_t at_ = nullptr;
  cuda::context_life life_;
};

class transport_of_nccl final : public transport {
 public:
  explicit transport_of_nccl(const ranks_known& known)
      : known_(known), communicator_(std::make_shared<communicator>(known.where.device())) {
    communicator_->join(known_);
  }
  void open(memory_seen& made) const override {
    const nccl_library& nccl = nccl_library::loaded();
    const int device = communicator_->device(), ranks = known_.ranks.size();
    const auto sizes = known_.ranks.all_gather<std::size_t>(making_window, [&] { return std::vector{made.bytes}; });
    std::size_t most = 0;  // NCCL wants the same on all
    for (const std::size_t bytes : sizes.all) most = std::max(most, bytes);
    known_.ranks.agree(making_window, [&] {
      const cuda::device_guard current(device);
      void* at = nullptr;
      nccl.require(nccl.MemAlloc(&at, most), "making memory for a window of NCCL");
      made.own = {at, [of = communicator_](void* memory) {
                    if (of->life().ended()) return;
                    const cuda::device_guard own(of->device());
                    nccl_library::loaded().MemFree(memory);
                  }};
      WHILST_CUDA("clearing a window", cudaMemset(at, 0, most));
      WHILST_CUDA("clearing a window", cudaDeviceSynchronize());
    });
    known_.ranks.agree(making_window, [&] {
      const cuda::device_guard current(device);
      ncclWindow_t window = nullptr;
      nccl.require(
          nccl.CommWindowRegister(communicator_->get(), made.own.get(), most, &window, NCCL_WIN_COLL_SYMMETRIC),
          "registering a window of NCCL");
      if (!window)
        throw error("registering a window of NCCL", "NCCL makes none of these GPUs' memory", "Use another transport");
      made.others.push_back({window, [of = communicator_](void* registered) {
                               if (of->life().ended()) return;
                               const cuda::device_guard own(of->device());
                               nccl_library::loaded().CommWindowDeregister(of->get(),
                                                                           static_cast<ncclWindow_t>(registered));
                             }});
      const raw_buffer pieces(known_.where, static_cast<std::size_t>(ranks) * sizeof(void*));
      find_nccl_pieces(window, ranks, static_cast<void**>(pieces.data()));
      made.seen.resize(static_cast<std::size_t>(ranks));
      pieces.download(made.seen.data(), pieces.bytes());
    });
  }

 private:
  ranks_known known_;
  std::shared_ptr<communicator> communicator_;
};

#else

std::string why_no_nccl_windows() { return "built without NCCL's device interface, which NCCL 2.28 has"; }

#endif

}  // namespace

const transport_kind by_nccl_windows{
    .name = "nccl windows",
    .is_for_gpus = true,
    .is_automatic = false,  // it reaches what peer memory reaches, and takes longer to set up
    .why_not = [](const ranks_known&) -> std::string {
#if WHILST_WITH_NCCL_WINDOWS
      return "";
#else
      return why_no_nccl_windows();
#endif
    },
    .make = []([[maybe_unused]] const ranks_known& known) -> std::unique_ptr<transport> {
#if WHILST_WITH_NCCL_WINDOWS
      return std::make_unique<transport_of_nccl>(known);
#else
      return nullptr;
#endif
    },
    .why_not_here = [](const peers_of_gpus& peers) -> std::string {
      const std::string why = why_no_two_gpus(peers);
      return why.empty() ? why_no_nccl_windows() : why;
    },
};

}  // namespace whilst::windows
