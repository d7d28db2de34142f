#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/engine/memory/copies.hpp"
#include "solvers/host/run_now.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/window.hpp"
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
    copy_to_place(where_, to, from.data(), from.size() * sizeof(V));
  }
  template <class V>
  std::vector<V> fetched(const V* from, index_type count) const {
    std::vector<V> found(static_cast<std::size_t>(count));
    copy_from_place(where_, found.data(), from, found.size() * sizeof(V));
    return found;
  }
  /// Entries which[0], which[1], ... of an array; which: on the place.
  template <class V>
  std::vector<V> fetched(const V* from, const buffer<std::int32_t>& which) const {
    return fetched_by<V>(which.size(), [&](V* to) { return gather_entries<V>{which.data(), from, to}; });
  }
  /// Of memory that only steps reach: another rank's.
  template <class V>
  std::vector<V> fetched_by_a_step(const V* from, index_type count) const {
    return fetched_by<V>(count, [&](V* to) { return copy_entries<V>{from, to}; });
  }
  place where() const { return where_; }
  template <class Map>
  void run(const char* name, index_type n, const Map& map) const {
    program_recorder steps(where_);
    steps.step(name, n, map);
    run_now(std::move(steps).finish(), where_);
  }

 private:
  /// map_to(to): the step that puts the entries there.
  template <class V, class MapTo>
  std::vector<V> fetched_by(index_type count, const MapTo& map_to) const {
    std::vector<V> found(static_cast<std::size_t>(count));
    if (count == 0) return found;
    const raw_buffer staged = raw_buffer::unset(where_, found.size() * sizeof(V));
    run("to the host", count, map_to(static_cast<V*>(staged.data())));
    staged.download(found.data(), staged.bytes());
    return found;
  }
  place where_;
};

/// What a rank got, in the order of the ranks it is from, and of each in the order in which that sent it.
template <class V>
struct entries_received {
  std::vector<V> all;
  std::vector<std::size_t> first;  ///< one more than ranks
};

/// How many entries ranks send one another, and of what each sends, where this rank's share is.
struct shares_sent {
  std::vector<index_type> begins, counts;  ///< of the shares, by the rank that they are from
  std::size_t most = 0;                    ///< entries that a rank sends to all

  shares_sent() = default;
  /// for_rank[q]: what rank q gets. Collective.
  template <class V>
  shares_sent(const char* doing, const group& ranks, const std::vector<std::vector<V>>& for_rank) {
    const auto sizes = ranks.all_gather<std::int64_t>(doing, [&] {
      std::vector<std::int64_t> own;
      for (const std::vector<V>& some : for_rank) own.push_back(static_cast<std::int64_t>(some.size()));
      return own;
    });
    for (int q = 0; q < ranks.size(); ++q) {
      const auto of = sizes.of(q);
      begins.push_back(std::accumulate(of.begin(), of.begin() + ranks.rank(), index_type{0}));
      counts.push_back(of[static_cast<std::size_t>(ranks.rank())]);
      most = std::max(most, static_cast<std::size_t>(std::accumulate(of.begin(), of.end(), index_type{0})));
    }
  }
};
/// Lists one after another.
template <class V>
std::vector<V> joined(const std::vector<std::vector<V>>& lists) {
  std::vector<V> all;
  for (const std::vector<V>& some : lists) all.insert(all.end(), some.begin(), some.end());
  return all;
}

/// Memory of each rank that the others read in a set-up, made larger as needed.
class border_window {
 public:
  explicit border_window(const whilst::exchange& ranks)
      : ranks_(ranks.ranks()), copies_(ranks.where()), mailboxes_(ranks.mailboxes()) {}
  /// Collective; all ask for the same.
  void require(std::size_t bytes) {
    if (bytes <= bytes_) return;
    bytes_ = std::max(bytes, 2 * bytes_);
    windows_.push_back(mailboxes_.another(bytes_));
  }
  template <class V>
  V* of(int rank) const {
    return static_cast<V*>(windows_.back().of(rank));
  }
  /// Each rank leaves what make() returns, in host memory, and gets its shares of what others left. Collective.
  template <class V, class Make>
  entries_received<V> exchange(const char* doing, const shares_sent& shares, const Make& make) {
    entries_received<V> mine{{}, std::vector<std::size_t>(1)};
    if (shares.most == 0) {
      mine.first.resize(static_cast<std::size_t>(ranks_.size()) + 1);
      return mine;
    }
    require(shares.most * sizeof(V));
    ranks_.agree(doing, [&] {
      const auto made = make();
      windows_.back().put(made.data(), made.size() * sizeof(V));
    });
    ranks_.agree(doing, [&] {
      for (int q = 0; q < ranks_.size(); ++q) {
        const auto from = static_cast<std::size_t>(q);
        const std::vector<V> share =
            copies_.fetched_by_a_step(static_cast<const V*>(of<V>(q)) + shares.begins[from], shares.counts[from]);
        mine.all.insert(mine.all.end(), share.begin(), share.end());
        mine.first.push_back(mine.all.size());
      }
    });
    return mine;
  }
  /// for_rank[q]: what rank q gets. Collective.
  template <class V>
  entries_received<V> exchange(const char* doing, const std::vector<std::vector<V>>& for_rank) {
    return exchange<V>(doing, shares_sent(doing, ranks_, for_rank), [&] { return joined(for_rank); });
  }
  const group& ranks() const { return ranks_; }
  place where() const { return copies_.where(); }

 private:
  group ranks_;
  host_copies copies_;
  window mailboxes_;             ///< of the same transport
  std::vector<window> windows_;  ///< outgrown ones, too: another process may have them open yet
  std::size_t bytes_ = 0;
};

/// Entries of an array on the place that other ranks need in a set-up, the same ones whenever values are new. Each rank
/// leaves in its window what others need, and these read it there: from GPU to GPU.
class exchanged_entries {
 public:
  exchanged_entries() = default;
  /// for_rank[q]: which entries rank q gets. Collective.
  exchanged_entries(const char* doing, const std::shared_ptr<border_window>& border,
                    std::vector<std::vector<std::int32_t>> for_rank)
      : border_(border),
        copies_(border->where()),
        for_rank_(std::move(for_rank)),
        shares_(doing, border->ranks(), for_rank_) {
    border->ranks().agree(doing, [&] {
      const std::vector<std::int32_t> entries = joined(for_rank_);
      entries_ = buffer<std::int32_t>(border->where(), static_cast<index_type>(entries.size()), entries.data());
    });
  }
  /// As given.
  const std::vector<std::vector<std::int32_t>>& lists() const { return for_rank_; }

  /// Sends change(k, value) for the k-th entry that this rank sends, by host memory. Collective.
  template <class V, class Change>
  auto exchange(const char* doing, const V* values, const Change& change) const {
    using sent = std::remove_cvref_t<decltype(change(std::size_t(), V()))>;
    return border_->exchange<sent>(doing, shares_, [&] {
      const std::vector<V> own = copies_.fetched(values, entries_);
      std::vector<sent> made;
      made.reserve(own.size());
      for (std::size_t k = 0; k < own.size(); ++k) made.push_back(change(k, own[k]));
      return made;
    });
  }
  /// Puts what comes in behind `to`, in that order, or as it comes where the order is empty. Collective; the host sees
  /// nothing of it.
  template <class V>
  void exchange_to(const char* doing, const V* values, V* to, const buffer<std::int32_t>& order) const {
    const group& ranks = border_->ranks();
    if (shares_.most == 0) return;
    border_->require(shares_.most * sizeof(V));
    ranks.agree(doing, [&] {
      copies_.run("what others need", entries_.size(),
                  gather_entries<V>{entries_.data(), values, border_->of<V>(ranks.rank())});
    });
    ranks.agree(doing, [&] {
      const index_type all = std::accumulate(shares_.counts.begin(), shares_.counts.end(), index_type{0});
      const raw_buffer staged =
          raw_buffer::unset(border_->where(), order.size() > 0 ? static_cast<std::size_t>(all) * sizeof(V) : 0);
      V* const received = order.size() > 0 ? static_cast<V*>(staged.data()) : to;
      index_type begin = 0;
      program_recorder steps(border_->where());
      for (int q = 0; q < ranks.size(); ++q) {
        const auto from = static_cast<std::size_t>(q);
        if (shares_.counts[from] == 0) continue;
        steps.step("what others have", shares_.counts[from],
                   copy_entries<V>{border_->of<V>(q) + shares_.begins[from], received + begin});
        begin += shares_.counts[from];
      }
      if (order.size() > 0) steps.step("in order", all, gather_entries<V>{order.data(), received, to});
      run_now(std::move(steps).finish(), border_->where());
    });
  }

 private:
  std::shared_ptr<border_window> border_;
  host_copies copies_{place::host()};
  std::vector<std::vector<std::int32_t>> for_rank_;
  buffer<std::int32_t> entries_;
  shares_sent shares_;
};

}  // namespace whilst::multigrid
