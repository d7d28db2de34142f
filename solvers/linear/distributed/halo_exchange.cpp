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
  std::vector<std::int32_t> first_places{0}, places;

  explicit sends_by_entry(const halo_plan& plan) : read_by_others(static_cast<std::size_t>(plan.own / 32 + 1)) {
    std::vector<std::int32_t> order(plan.send_indices.size());
    std::iota(order.begin(), order.end(), 0);
    const auto entry = [&](std::int32_t place) { return plan.send_indices[static_cast<std::size_t>(place)]; };
    std::stable_sort(order.begin(), order.end(), [&](auto one, auto other) { return entry(one) < entry(other); });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::int32_t i = entry(order[k]);
      if (k > 0 && entry(order[k - 1]) != i) first_places.push_back(static_cast<std::int32_t>(k));
      read_by_others[static_cast<std::size_t>(i / 32)].bits |= std::uint32_t{1} << (i % 32);
      places.push_back(order[k]);
    }
    first_places.push_back(static_cast<std::int32_t>(order.size()));
    std::uint32_t before = 0;
    for (halo_exchange::entries_read& word : read_by_others) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
  }
};

}  // namespace

halo::halo(const exchange& ranks, const halo_plan& plan) : ranks_(ranks.ranks()) {
  const place where = ranks.where();
  const auto ghosts = static_cast<index_type>(plan.ghosts.size());
  words_ = window(ranks_, where, static_cast<std::size_t>(std::max<index_type>(2 * ghosts, 1)) * sizeof(tagged_word));
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
    std::vector<halo_target> targets;
    std::vector<std::int32_t> owners(plan.ghosts.size());
    for (const halo_neighbour& one : plan.neighbours) {
      std::fill(owners.begin() + one.ghost_begin, owners.begin() + one.ghost_end, one.rank);
      if (one.send_begin == one.send_end) continue;
      targets.push_back({.send_begin = one.send_begin,
                         .lands_at = static_cast<tagged_word*>(words_.of(one.rank)) + one.lands_at,
                         .half = all_ghosts[static_cast<std::size_t>(one.rank)]});
    }
    const auto copied = [&]<class Entry>(const std::vector<Entry>& from) {
      return buffer<Entry>(where, static_cast<index_type>(from.size()), from.empty() ? nullptr : from.data());
    };
    send_indices_ = copied(plan.send_indices);
    owners_ = copied(owners);
    targets_ = copied(targets);
    state_ = buffer<halo_state>(where, 1);
    const sends_by_entry sends(plan);
    read_by_others_ = copied(sends.read_by_others);
    first_places_ = copied(sends.first_places);
    places_ = copied(sends.places);
    of_steps_ = {.own = plan.own,
                 .ghosts = ghosts,
                 .sends = static_cast<index_type>(plan.send_indices.size()),
                 .send_indices = send_indices_.data(),
                 .targets = targets_.data(),
                 .target_count = static_cast<int>(targets.size()),
                 .words = static_cast<const tagged_word*>(words_.of(ranks_.rank())),
                 .owners = owners_.data(),
                 .state = state_.data(),
                 .read_by_others = read_by_others_.data(),
                 .first_places = first_places_.data(),
                 .places = places_.data(),
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
