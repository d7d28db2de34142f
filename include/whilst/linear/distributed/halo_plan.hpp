#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/row_partition.hpp"

namespace whilst {

/// What a rank sends to another one and gets from it before a product. Positions count entries; each range may be
/// empty, but not both.
struct halo_neighbour {
  int rank = 0;
  index_type send_begin = 0, send_end = 0;    ///< of halo_plan::send_indices, for it
  index_type lands_at = 0;                    ///< where the first of them belongs among the neighbour's ghosts
  index_type ghost_begin = 0, ghost_end = 0;  ///< of halo_plan::ghosts, from it
};

/// Which entries of a distributed vector a rank reads that other ranks have, its *ghosts*, and which of its own the
/// others read. A vector with ghosts has the own entries first, then the ghosts.
struct halo_plan {
  index_type own = 0;                      ///< entries that this rank has
  std::vector<index_type> ghosts;          ///< their global numbers, ascending: by owner, too
  std::vector<std::int32_t> send_indices;  ///< own entries, local, neighbour after neighbour, in the receiver's order
  std::vector<halo_neighbour> neighbours;  ///< by rank

  index_type with_ghosts() const { return own + static_cast<index_type>(ghosts.size()); }
};

/// Makes the plan from the global numbers of what this rank reads and does not have: ascending, each once, else
/// whilst::error. Collective. Each rank gets to see all ranks' ghosts: meant for up to some hundred ranks.
halo_plan make_halo_plan(const group& ranks, const row_partition& partition, std::vector<index_type> ghosts);

/// Fetches the ghosts of a vector, on the host: x has plan.with_ghosts() entries in host memory, of which the last are
/// overwritten. Collective. A reference that follows the plan word by word, not for speed.
template <class T>
void exchange_halo(const group& ranks, const halo_plan& plan, std::span<T> x);

extern template void exchange_halo<float>(const group&, const halo_plan&, std::span<float>);
extern template void exchange_halo<double>(const group&, const halo_plan&, std::span<double>);

}  // namespace whilst
