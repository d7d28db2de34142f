#include "whilst/linear/distributed/halo_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

namespace {

constexpr const char* making_plan = "making a halo plan";

void check_ghosts(const row_partition& partition, int rank, std::span<const index_type> ghosts) {
  for (std::size_t k = 0; k < ghosts.size(); ++k) {
    const auto it = [&] { return "ghost " + std::to_string(k) + " is " + std::to_string(ghosts[k]); };
    if (ghosts[k] < 0 || ghosts[k] >= partition.rows())
      throw error(making_plan, it(), "Give numbers from 0 to " + std::to_string(partition.rows() - 1));
    if (partition.has(rank, ghosts[k]))
      throw error(making_plan, it() + ", which is this rank's own", "Give what other ranks have");
    if (k > 0 && ghosts[k - 1] >= ghosts[k])
      throw error(making_plan, it() + ", after " + std::to_string(ghosts[k - 1]), "Sort them, and give each once");
  }
}

/// Which of these ghosts a rank has.
std::pair<index_type, index_type> owned_by(const row_partition& partition, int rank,
                                           std::span<const index_type> ghosts) {
  const auto before = [&](index_type row) {
    return static_cast<index_type>(std::lower_bound(ghosts.begin(), ghosts.end(), row) - ghosts.begin());
  };
  return {before(partition.first(rank)), before(partition.first(rank + 1))};
}

}  // namespace

halo_plan make_halo_plan(const group& ranks, const row_partition& partition, std::vector<index_type> ghosts) {
  const int self = ranks.rank();
  const auto all = ranks.all_gather<index_type>(making_plan, [&] {
    if (partition.ranks() != ranks.size()) {
      throw error(making_plan, "the rows are split among " + std::to_string(partition.ranks()) + " ranks",
                  "Split them among " + std::to_string(ranks.size()) + ", as many as the group has");
    }
    check_ghosts(partition, self, ghosts);
    constexpr index_type most = index_type{std::numeric_limits<std::int32_t>::max()} + 1;
    if (partition.rows_of(self) + static_cast<index_type>(ghosts.size()) > most) {
      throw error(making_plan, "own entries and ghosts together are more than 2147483648",
                  "Local indices have 32 bits: split the rows among more ranks");
    }
    return ghosts;
  });

  halo_plan plan;
  ranks.agree(making_plan, [&] {
    plan.own = partition.rows_of(self);
    plan.ghosts = std::move(ghosts);
    for (int q = 0; q < ranks.size(); ++q) {
      if (q == self) continue;
      halo_neighbour neighbour{.rank = q};
      const std::span<const index_type> wanted = all.of(q);
      const auto [begin, end] = owned_by(partition, self, wanted);
      neighbour.lands_at = begin;
      neighbour.send_begin = static_cast<index_type>(plan.send_indices.size());
      for (index_type k = begin; k < end; ++k) {
        plan.send_indices.push_back(
            static_cast<std::int32_t>(wanted[static_cast<std::size_t>(k)] - partition.first(self)));
      }
      neighbour.send_end = static_cast<index_type>(plan.send_indices.size());
      std::tie(neighbour.ghost_begin, neighbour.ghost_end) = owned_by(partition, q, plan.ghosts);
      if (begin < end || neighbour.ghost_begin < neighbour.ghost_end) plan.neighbours.push_back(neighbour);
    }
  });
  return plan;
}

namespace {

/// A word on its way: the ghost that it becomes, on which rank.
template <class T>
struct halo_word {
  T value;
  index_type ghost;
  int rank;
};

}  // namespace

template <class T>
void exchange_halo(const group& ranks, const halo_plan& plan, std::span<T> x) {
  const char* const exchanging = "exchanging a halo";
  const auto all = ranks.all_gather<halo_word<T>>(exchanging, [&] {
    if (static_cast<index_type>(x.size()) != plan.with_ghosts()) {
      throw error(exchanging, "x has " + std::to_string(x.size()) + " entries",
                  "Give own entries and ghosts: " + std::to_string(plan.with_ghosts()));
    }
    std::vector<halo_word<T>> words;
    for (const halo_neighbour& to : plan.neighbours) {
      for (index_type k = to.send_begin; k < to.send_end; ++k) {
        const auto from = static_cast<std::size_t>(plan.send_indices[static_cast<std::size_t>(k)]);
        words.push_back({x[from], to.lands_at + k - to.send_begin, to.rank});
      }
    }
    return words;
  });
  for (const halo_word<T>& word : all.all)
    if (word.rank == ranks.rank()) x[static_cast<std::size_t>(plan.own + word.ghost)] = word.value;
}

template void exchange_halo<float>(const group&, const halo_plan&, std::span<float>);
template void exchange_halo<double>(const group&, const halo_plan&, std::span<double>);

}  // namespace whilst
