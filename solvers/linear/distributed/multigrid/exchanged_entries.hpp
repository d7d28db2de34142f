#pragma once

#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/group/group.hpp"

namespace whilst::multigrid {

/// Entries of an array, one after another.
template <class V>
struct gather_entries {
  const std::int32_t* which;
  const V* from;
  V* to;
  WHILST_HD void operator()(index_type k) const { to[k] = from[which[k]]; }
};
template <class V>
struct copy_entries {
  const V* from;
  V* to;
  WHILST_HD void operator()(index_type k) const { to[k] = from[k]; }
};

/// Copies between host memory and memory of a place that others own.
class host_copies {
 public:
  explicit host_copies(place where) : where_(where) {}
  template <class V>
  void put(V* to, const std::vector<V>& from) const {
    const auto count = static_cast<index_type>(from.size());
    if (count == 0) return;
    const buffer<V> staged(where_, count, from.data());
    run("from the host", count, copy_entries<V>{staged.data(), to});
  }
  template <class V>
  std::vector<V> fetched(const V* from, index_type count) const {
    std::vector<V> found(static_cast<std::size_t>(count));
    if (count == 0) return found;
    const buffer<V> staged(where_, count);
    run("to the host", count, copy_entries<V>{from, staged.data()});
    staged.download(found.data());
    return found;
  }
  /// Entries which[0], which[1], ... of an array; which: on the place.
  template <class V>
  std::vector<V> fetched(const V* from, const buffer<std::int32_t>& which) const {
    std::vector<V> found(static_cast<std::size_t>(which.size()));
    if (found.empty()) return found;
    const buffer<V> staged(where_, which.size());
    run("to the host", which.size(), gather_entries<V>{which.data(), from, staged.data()});
    staged.download(found.data());
    return found;
  }
  place where() const { return where_; }

 private:
  template <class Map>
  void run(const char* name, index_type n, const Map& map) const {
    program_recorder steps(where_);
    steps.step(name, n, map);
    run_now(std::move(steps).finish(), where_);
  }
  place where_;
};

/// What a rank got, in the order of the ranks it is from, and of each in the order in which that sent it.
template <class V>
struct entries_received {
  std::vector<V> all;
  std::vector<std::size_t> first;  ///< one more than ranks
};

/// Entries of an array on the place that other ranks need in a set-up, the same ones whenever values are new. They
/// travel by the host, and all ranks get to see all of them: meant for what lies along the borders between some hundred
/// ranks.
class exchanged_entries {
 public:
  exchanged_entries() = default;
  /// for_rank[q]: which entries rank q gets. Collective.
  exchanged_entries(const char* doing, const group& ranks, place where,
                    const std::vector<std::vector<std::int32_t>>& for_rank)
      : ranks_(ranks), copies_(where), for_rank_(for_rank) {
    std::vector<std::int32_t> entries;
    const auto counts = ranks.all_gather<std::int64_t>(doing, [&] {
      std::vector<std::int64_t> mine;
      for (const std::vector<std::int32_t>& some : for_rank) {
        mine.push_back(static_cast<std::int64_t>(some.size()));
        entries.insert(entries.end(), some.begin(), some.end());
      }
      entries_ = buffer<std::int32_t>(where, static_cast<index_type>(entries.size()), entries.data());
      return mine;
    });
    const auto self = static_cast<std::size_t>(ranks.rank());
    for (int q = 0; q < ranks.size(); ++q) {
      const auto of = counts.of(q);
      begins_.push_back(static_cast<std::size_t>(std::accumulate(of.begin(), of.begin() + ranks.rank(), 0LL)));
      counts_.push_back(static_cast<std::size_t>(of[self]));
    }
  }
  /// As given.
  const std::vector<std::vector<std::int32_t>>& lists() const { return for_rank_; }
  /// Sends change(k, value) for the k-th entry that this rank sends. Collective.
  template <class V, class Change>
  auto exchange(const char* doing, const V* values, const Change& change) const {
    using sent = std::remove_cvref_t<decltype(change(std::size_t(), V()))>;
    return taken(ranks_.all_gather<sent>(doing, [&] {
      const std::vector<V> own = copies_.fetched(values, entries_);
      std::vector<sent> made;
      made.reserve(own.size());
      for (std::size_t k = 0; k < own.size(); ++k) made.push_back(change(k, own[k]));
      return made;
    }));
  }
  template <class V>
  entries_received<V> exchange(const char* doing, const V* values) const {
    return exchange(doing, values, [](std::size_t, V value) { return value; });
  }

 private:
  template <class V>
  entries_received<V> taken(const arrays_of_ranks<V>& from_all) const {
    entries_received<V> mine;
    mine.first.push_back(0);
    for (int q = 0; q < ranks_.size(); ++q) {
      const auto p = static_cast<std::size_t>(q);
      const std::span<const V> share = from_all.of(q).subspan(begins_[p], counts_[p]);
      mine.all.insert(mine.all.end(), share.begin(), share.end());
      mine.first.push_back(mine.all.size());
    }
    return mine;
  }

  group ranks_;
  host_copies copies_{place::host()};
  std::vector<std::vector<std::int32_t>> for_rank_;
  buffer<std::int32_t> entries_;
  std::vector<std::size_t> begins_, counts_;  ///< of what each rank sends, this one's
};

}  // namespace whilst::multigrid
