#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/group/group.hpp"

/// How the windows of a group are made. A transport is a file beside this one, and a line in transports.cpp.
namespace whilst::windows {

inline constexpr const char* making_window = "making a window of a group";

/// Where a rank runs.
struct whereabouts {
  std::array<char, 128> machine;
  long long process;
  unsigned token;              ///< of the process: those of several containers may have one number
  int device;                  ///< -1 for the host
  std::array<char, 32> asked;  ///< the transport
};

/// The ranks that share windows, as one of them knows them.
struct ranks_known {
  group ranks;
  place where;
  std::vector<whereabouts> all;  ///< by rank

  /// Collective. Throws whilst::error on all ranks where they are in no one place, or ask for different transports.
  ranks_known(const group& ranks, place where, const std::string& asked);
  const whereabouts& own() const { return all[static_cast<std::size_t>(ranks.rank())]; }
  /// Whether rank q is a thread of this process.
  bool shares_process(std::size_t q) const;
  bool are_one_process() const;
  /// Whether another thread of this process is on this one's GPU.
  bool shares_gpu() const;
};

/// The memory of a window, as one rank has it.
struct memory_seen {
  std::size_t bytes = 0;                      ///< of this rank's piece; others' may have other sizes
  std::shared_ptr<void> own = nullptr;        ///< this rank's
  bool own_is_of_host = false;                ///< else of its GPU
  std::vector<std::shared_ptr<void>> others;  ///< what this rank sees of all, kept
  std::vector<void*> seen;                    ///< by rank: where kernels of this one, or its threads, reach the piece
};

/// A way from each rank's place to memory of all. It outlives its windows.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;
  /// Makes zeroed memory of made.bytes and finds that of the others. Collective: throws on all ranks or on none. What
  /// it leaves in `made` when it throws, the caller releases: `others` on all ranks before `own` on any.
  virtual void open(memory_seen& made) const = 0;
};

/// What this machine's GPUs can do, as machine_description has it.
using peers_of_gpus = std::vector<std::vector<int>>;

struct transport_kind {
  const char* name;
  bool is_for_gpus;
  bool is_automatic;  ///< whether "auto" tries it
  /// Why these ranks cannot use it, in a sentence; empty if they may. By what all ranks know, so the same on all. What
  /// only trying shows, make and open throw.
  std::string (*why_not)(const ranks_known&);
  /// Collective: throws on all ranks or on none.
  std::unique_ptr<transport> (*make)(const ranks_known&);
  /// Whether ranks of one process could use all GPUs of this machine by it; why not, or empty. For descriptions.
  std::string (*why_not_here)(const peers_of_gpus&);
};
using list_of_kinds = std::span<const transport_kind* const>;
/// In the order in which they are tried.
list_of_kinds transport_kinds();

/// The transport of some windows.
struct choice {
  std::string name = "one rank";
  std::shared_ptr<const transport> by = nullptr;  ///< null for one rank
  std::string passed_over = {};                   ///< those before it, and why
};
/// The first of the kinds by which memory of made.bytes is there on all ranks, or the one that is asked for; `made`
/// becomes that memory. Collective. Throws whilst::error on all ranks as window does.
choice choose(const ranks_known& known, const std::string& asked, list_of_kinds kinds, memory_seen& made);
/// Memory of made.bytes by a transport that is known to work. Collective: throws on all ranks or on none.
void open_memory(const ranks_known& known, const transport* by, memory_seen& made);
/// Null for "auto". Throws whilst::error if none has that name; hyphens are as good as spaces.
const transport_kind* kind_called(std::string_view doing, std::string name, list_of_kinds kinds);

extern const transport_kind between_threads, by_shared_memory, by_peer_memory, by_host_memory, by_nccl_windows;

/// A process's own memory, zeroed.
std::shared_ptr<void> own_memory(place where, std::size_t bytes);
/// Of no window, for kinds that need no GPU.
inline std::string always_here(const peers_of_gpus&) { return ""; }
/// Empty where there are several GPUs.
std::string why_no_two_gpus(const peers_of_gpus& peers);

/// How others reach a piece. Name: what leads another process to it.
template <class Name>
struct door {
  const std::shared_ptr<void>* in_process;
  std::size_t bytes;
  Name name;
};
/// What transports by load and store have in common. open_own() makes made.own and returns the Name; open_other(q,
/// name, bytes) returns the memory of a rank of another process; reach(q, memory) returns where that of rank q is seen.
/// Collective.
template <class Name, class OpenOwn, class OpenOther, class Reach>
void open_doors(const ranks_known& known, memory_seen& made, const OpenOwn& open_own, const OpenOther& open_other,
                const Reach& reach) {
  const std::vector<door<Name>> doors =
      known.ranks
          .all_gather<door<Name>>(making_window,
                                  [&] {
                                    const Name name = open_own();
                                    return std::vector<door<Name>>{{&made.own, made.bytes, name}};
                                  })
          .all;
  // No rank may go before all have opened what it has: its memory, and the name of that.
  known.ranks.agree(making_window, [&] {
    for (std::size_t q = 0; q < doors.size(); ++q) {
      const bool is_own = q == static_cast<std::size_t>(known.ranks.rank());
      std::shared_ptr<void> piece = is_own                    ? made.own
                                    : known.shares_process(q) ? *doors[q].in_process
                                                              : open_other(q, doors[q].name, doors[q].bytes);
      made.seen.push_back(reach(q, piece));
      made.others.push_back(std::move(piece));
    }
  });
}

}  // namespace whilst::windows
