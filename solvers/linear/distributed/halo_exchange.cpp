#include "whilst/linear/distributed/halo_exchange.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace whilst {
namespace {

constexpr const char* making_halo = "making the halo of a distributed operator";

/// The plan's sends, by the entry: see halo_exchange.
struct sends_by_entry {
  std::vector<halo_exchange::entries_read> read_by_others;
  std::vector<std::int32_t> send_indices, first_sends{0};
  std::vector<halo_target> targets;

  /// at: where each send of the plan goes.
  sends_by_entry(const halo_plan& plan, const std::vector<halo_target>& at)
      : read_by_others(static_cast<std::size_t>(plan.own / 32 + 1)) {
    std::vector<std::size_t> order(plan.send_indices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!std::is_sorted(plan.send_indices.begin(), plan.send_indices.end()))
      std::stable_sort(order.begin(), order.end(),
                       [&](auto one, auto other) { return plan.send_indices[one] < plan.send_indices[other]; });
    for (const std::size_t place : order) {
      const std::int32_t i = plan.send_indices[place];
      if (!send_indices.empty() && send_indices.back() != i)
        first_sends.push_back(static_cast<std::int32_t>(send_indices.size()));
      read_by_others[static_cast<std::size_t>(i / 32)].bits |= std::uint32_t{1} << (i % 32);
      send_indices.push_back(i);
      targets.push_back(at[place]);
    }
    first_sends.push_back(static_cast<std::int32_t>(send_indices.size()));
    std::uint32_t before = 0;
    for (halo_exchange::entries_read& word : read_by_others) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
  }
};

}  // namespace

halo::halo(const exchange& ranks, const halo_plan& plan, int vectors) : ranks_(ranks.ranks()) {
  const place where = ranks.where();
  const auto ghosts = static_cast<index_type>(plan.ghosts.size());
  words_ = ranks.mailboxes().another(static_cast<std::size_t>(2 * vectors * ghosts) * sizeof(tagged_word));
  const std::vector<index_type> all_ghosts =
      ranks_.all_gather<index_type>(making_halo, [&] { return std::vector{ghosts}; }).all;
  const std::vector<int> mutual =
      ranks_
          .all_gather<int>(making_halo,
                           [&] {
                             return std::vector<int>{std::all_of(
                                 plan.neighbours.begin(), plan.neighbours.end(), [](const halo_neighbour& one) {
                                   return (one.send_begin < one.send_end) == (one.ghost_begin < one.ghost_end);
                                 })};
                           })
          .all;
  is_mutual_ = std::all_of(mutual.begin(), mutual.end(), [](int is) { return is != 0; });

  ranks_.agree(making_halo, [&] {
    std::vector<halo_target> targets(plan.send_indices.size());
    std::vector<std::int32_t> owners(plan.ghosts.size());
    for (const halo_neighbour& one : plan.neighbours) {
      std::fill(owners.begin() + one.ghost_begin, owners.begin() + one.ghost_end, one.rank);
      auto* const of_neighbour = static_cast<tagged_word*>(words_.of(one.rank)) + vectors * one.lands_at;
      for (index_type k = one.send_begin; k < one.send_end; ++k)
        targets[static_cast<std::size_t>(k)] = {.lands_at = of_neighbour + vectors * (k - one.send_begin),
                                                .half = vectors * all_ghosts[static_cast<std::size_t>(one.rank)]};
    }
    const auto copied = [&]<class Entry>(const std::vector<Entry>& from) {
      return buffer<Entry>(where, static_cast<index_type>(from.size()), from.empty() ? nullptr : from.data());
    };
    const sends_by_entry sends(plan, targets);
    send_indices_ = copied(sends.send_indices);
    owners_ = copied(owners);
    targets_ = copied(sends.targets);
    state_ = buffer<halo_state>(where, 1);
    read_by_others_ = copied(sends.read_by_others);
    first_sends_ = copied(sends.first_sends);
    of_steps_ = {.own = plan.own,
                 .ghosts = ghosts,
                 .sends = static_cast<index_type>(plan.send_indices.size()),
                 .vectors = vectors,
                 .send_indices = send_indices_.data(),
                 .targets = targets_.data(),
                 .words = static_cast<const tagged_word*>(words_.of(ranks_.rank())),
                 .owners = owners_.data(),
                 .state = state_.data(),
                 .read_by_others = read_by_others_.data(),
                 .first_sends = first_sends_.data(),
                 .ranks = ranks.of_steps()};
  });
}

void halo::recover() {
  ranks_.barrier(making_halo);
  ranks_.agree(making_halo, [&] {
    words_.set_to_zero();
    const halo_state fresh{};
    state_.upload(&fresh);
  });
}

}  // namespace whilst
