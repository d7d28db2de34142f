#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <optional>
#include <random>
#include <utility>

#include <unistd.h>

#include "solvers/exchange/windows/transport.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst::windows {
namespace {

template <std::size_t most>
std::array<char, most> fixed(const std::string& text) {
  std::array<char, most> made{};
  std::copy_n(text.begin(), std::min(text.size(), most - 1), made.begin());
  return made;
}

whereabouts own_whereabouts(place where, const std::string& asked) {
  whereabouts here{};
  std::string machine(64, '\0');
  if (gethostname(machine.data(), machine.size()) != 0) machine.clear();
  machine = machine.c_str();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;  // two machines may have one name
  here.machine = fixed<128>(machine + " " + boot);
  here.process = getpid();
  static const unsigned token = std::random_device()();
  here.token = token;
  here.device = where.on_host() ? -1 : where.device();
  here.asked = fixed<32>(asked);
  return here;
}

std::string names_of(list_of_kinds kinds) {
  std::string all = "auto";
  for (const transport_kind* const kind : kinds) all += ", " + std::string(kind->name);
  return all;
}

void add_reason(std::string& to, const transport_kind& of, const std::string& why) {
  to += (to.empty() ? "" : "; ") + std::string(of.name) + ": " + why;
}

/// Those to try, one at least. why_not: why others are not among them.
std::vector<const transport_kind*> candidates(const ranks_known& known, const transport_kind* asked,
                                              list_of_kinds kinds, std::string& why_not) {
  const bool on_host = known.where.on_host();
  if (asked && asked->is_for_gpus == on_host)
    throw error(making_window,
                "transport " + std::string(asked->name) + " is for ranks on " +
                    (on_host ? "GPUs, and these run on the host" : "the host, and these run on GPUs"),
                "Use another transport, or another executor");
  std::vector<const transport_kind*> found;
  for (const transport_kind* const kind : kinds) {
    if (asked ? kind != asked : !kind->is_automatic || kind->is_for_gpus == on_host) continue;
    const std::string why = kind->why_not(known);
    if (why.empty()) {
      found.push_back(kind);
    } else {
      add_reason(why_not, *kind, why);
    }
  }
  if (found.empty())
    throw error(making_window, "there is no transport for these ranks: " + why_not,
                "Use one of " + names_of(kinds) + " that suits them");
  return found;
}

}  // namespace

list_of_kinds transport_kinds() {
  static constexpr std::array kinds{&between_threads, &by_shared_memory, &by_peer_memory, &by_host_memory,
                                    &by_nccl_windows};
  return kinds;
}

ranks_known::ranks_known(const group& ranks_given, place where_given, const std::string& asked)
    : ranks(ranks_given),
      where(where_given),
      all(ranks.all_gather<whereabouts>(making_window, [&] { return std::vector{own_whereabouts(where, asked)}; })
              .all) {
  ranks.agree(making_window, [&] {
    for (const whereabouts& other : all) {
      if ((other.device < 0) != where.on_host())
        throw error(making_window, "one of the ranks runs on the host, another on a GPU",
                    "Give all ranks the same executor");
      if (other.machine != own().machine)
        throw error(making_window, "ranks are on several machines, which no transport of this version spans",
                    "Start all ranks on one machine");
      if (other.asked != own().asked)
        throw error(making_window, "ranks ask for different transports", "Give all ranks the same");
    }
  });
}

bool ranks_known::shares_process(std::size_t q) const {
  return all[q].process == own().process && all[q].token == own().token;
}
bool ranks_known::are_one_process() const {
  for (std::size_t q = 0; q < all.size(); ++q)
    if (!shares_process(q)) return false;
  return true;
}

bool ranks_known::shares_gpu() const {
  if (where.on_host()) return false;
  for (std::size_t q = 0; q < all.size(); ++q)
    if (q != static_cast<std::size_t>(ranks.rank()) && shares_process(q) && all[q].device == own().device) return true;
  return false;
}

const transport_kind* kind_called(std::string_view doing, std::string name, list_of_kinds kinds) {
  if (name == "auto") return nullptr;
  std::replace(name.begin(), name.end(), '-', ' ');
  for (const transport_kind* const kind : kinds)
    if (kind->name == name) return kind;
  throw error(doing, "there is no transport called '" + name + "'", "Use one of " + names_of(kinds));
}

void open_memory(const ranks_known& known, const transport* by, memory_seen& made) {
  if (!by) {
    made.own = own_memory(known.where, made.bytes);
    made.own_is_of_host = known.where.on_host();
    made.seen = {made.own.get()};
    return;
  }
  std::exception_ptr failure;
  try {
    by->open(made);
    return;
  } catch (...) {
    failure = std::current_exception();
  }
  made.others.clear();
  made.seen.clear();
  known.ranks.barrier(making_window);  // before any rank frees what others may have open
  made = {made.bytes, nullptr, false, {}, {}};
  std::rethrow_exception(failure);
}

choice choose(const ranks_known& known, const std::string& asked, list_of_kinds kinds, memory_seen& made) {
  std::vector<const transport_kind*> tried;
  std::string passed_over;
  known.ranks.agree(making_window, [&] {
    const transport_kind* const kind = kind_called(making_window, asked, kinds);
    if (known.ranks.size() > 1) tried = candidates(known, kind, kinds, passed_over);
  });
  choice made_by;
  if (tried.empty()) open_memory(known, nullptr, made);
  for (const transport_kind* const kind : tried) {
    const bool is_last = kind == tried.back();
    try {
#if WHILST_WITH_CUDA
      std::optional<cuda::caught_failures> are_caught;
      if (!is_last) are_caught.emplace();
#endif
      made_by = {kind->name, kind->make(known), passed_over};
      open_memory(known, made_by.by.get(), made);
      return made_by;
    } catch (const std::exception& failure) {  // on all ranks
      if (is_last) throw;
      add_reason(passed_over, *kind, failure.what());
    }
    known.ranks.barrier(making_window);  // throws if the group is broken
  }
  return made_by;
}

std::shared_ptr<void> own_memory(place where, std::size_t bytes) {
  const auto made = std::make_shared<raw_buffer>(where, bytes);
  return {made, made->data()};
}

std::string why_no_two_gpus(const peers_of_gpus& peers) {
  return peers.empty() ? "no GPU" : peers.size() == 1 ? "one GPU is visible" : "";
}

}  // namespace whilst::windows
