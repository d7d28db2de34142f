#include "whilst/linear/distributed/halo_exchange.hpp"

#include <algorithm>
#include <vector>

namespace whilst {
namespace {

constexpr const char* making = "making the halo of a distributed operator";

}  // namespace

halo::halo(const exchange& ranks, const halo_plan& plan) : ranks_(ranks.ranks()) {
  const place where = ranks.where();
  const auto ghosts = static_cast<index_type>(plan.ghosts.size());
  words_ = window(ranks_, where, static_cast<std::size_t>(std::max<index_type>(2 * ghosts, 1)) * sizeof(tagged_word));
  const std::vector<index_type> all_ghosts =
      ranks_.all_gather<index_type>(making, [&] { return std::vector{ghosts}; }).all;
  const std::vector<int> mutual =
      ranks_
          .all_gather<int>(making,
                           [&] {
                             return std::vector<int>{std::all_of(
                                 plan.neighbours.begin(), plan.neighbours.end(), [](const halo_neighbour& one) {
                                   return (one.send_begin < one.send_end) == (one.ghost_begin < one.ghost_end);
                                 })};
                           })
          .all;
  is_mutual_ = std::all_of(mutual.begin(), mutual.end(), [](int is) { return is != 0; });

  ranks_.agree(making, [&] {
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
    round_ = buffer<std::uint32_t>(where, 1);
    of_steps_ = {.own = plan.own,
                 .ghosts = ghosts,
                 .sends = static_cast<index_type>(plan.send_indices.size()),
                 .send_indices = send_indices_.data(),
                 .targets = targets_.data(),
                 .target_count = static_cast<int>(targets.size()),
                 .words = static_cast<const tagged_word*>(words_.of(ranks_.rank())),
                 .owners = owners_.data(),
                 .round = round_.data(),
                 .ranks = ranks.of_steps()};
  });
}

void halo::recover() {
  ranks_.barrier(making);
  words_.set_to_zero();
  const std::uint32_t none = 0;
  round_.upload(&none);
  ranks_.barrier(making);
}

}  // namespace whilst
