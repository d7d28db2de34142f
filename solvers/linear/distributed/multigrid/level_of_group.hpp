#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "solvers/linear/distributed/multigrid/exchanged_entries.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_rows.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"
#include "whilst/linear/distributed/halo_exchange.hpp"

namespace whilst::multigrid {

/// For each of some numbers where it is among all; both ascending.
inline std::vector<std::int32_t> places_among(const std::vector<index_type>& some, const std::vector<index_type>& all,
                                              index_type first_place) {
  std::vector<std::int32_t> places;
  places.reserve(some.size());
  auto at = all.begin();
  for (const index_type one : some) {
    while (*at < one) ++at;
    places.push_back(static_cast<std::int32_t>(first_place + (at - all.begin())));
  }
  return places;
}

/// How a rank numbers unknowns of a level: its own ones from 0, then those of others that it names, by global numbers.
struct local_numbers {
  row_partition partition;
  int rank = 0;
  std::vector<index_type> ghosts;

  index_type own() const { return partition.rows_of(rank); }
  index_type first() const { return partition.first(rank); }
  index_type with_ghosts() const { return own() + static_cast<index_type>(ghosts.size()); }
  std::int32_t local(index_type global) const {
    if (partition.has(rank, global)) return static_cast<std::int32_t>(global - first());
    const auto at = std::lower_bound(ghosts.begin(), ghosts.end(), global) - ghosts.begin();
    return static_cast<std::int32_t>(own() + at);
  }
  index_type global(std::int32_t local) const {
    return local < own() ? first() + local : ghosts[static_cast<std::size_t>(local - own())];
  }
  /// Of each ghost.
  std::vector<int> owners() const {
    std::vector<int> all;
    all.reserve(ghosts.size());
    for (int q = 0; const index_type one : ghosts) {
      while (!partition.has(q, one)) ++q;
      all.push_back(q);
    }
    return all;
  }
  /// Names more of them; own ones among `others`, and -1 for none, are passed over. Returns the new numbers of the
  /// ghosts that there were, which stay in order.
  std::vector<std::int32_t> name(std::vector<index_type> others) {
    std::erase_if(others, [&](index_type one) { return one < 0 || partition.has(rank, one); });
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    const std::vector<index_type> before = std::exchange(ghosts, {});
    std::set_union(before.begin(), before.end(), others.begin(), others.end(), std::back_inserter(ghosts));
    return places_among(before, ghosts, own());
  }
};

/// Entries of a matrix of this rank that come from others, behind its own ones.
struct entries_of_others {
  exchanged_entries exchange;
  buffer<std::int32_t> order;  ///< which of those received is the first one, the second one, ...
  index_type begin = 0;        ///< where they begin among the values

  /// Collective.
  template <class V>
  void take(const char* doing, V* values) const {
    exchange.exchange_to(doing, static_cast<const V*>(values), values + begin, order);
  }
};

/// A level of a distributed matrix, as one rank has it, in numbers of type C. Columns are numbered by local_numbers,
/// those of A by `named`, those of P, A P and Q by the coarser level's `named`.
///
/// Own rows of P and Q may name ghosts of the coarser level. So other ranks have shares of this one's rows of the
/// coarse matrix P'A P: each rank makes what its own rows add to all coarse rows, `shares`, and gets those of its own
/// coarse rows from others, which lie behind; the product with E, whose entries are ones, adds them up. For W = Q'
/// other ranks' rows of Q lie behind the own ones.
template <class C>
struct level_of_group {
  local_numbers named;
  std::vector<index_type> ghosts;  ///< of the cycle: `named.ghosts`, and whose rows of Q have columns of this rank
  exchanged_entries of_vector;     ///< of a vector, for named.ghosts
  pattern_view A;
  C* A_values = nullptr;
  std::uint8_t* strong = nullptr;     ///< of each entry of A
  C* M = nullptr;                     ///< of own unknowns and named.ghosts
  std::int32_t* aggregate = nullptr;  ///< likewise
  pattern_view P;                     ///< likewise
  C* P_values = nullptr;
  pattern_view AP, Q;
  C *AP_values = nullptr, *Q_values = nullptr;
  transposed_pattern R, W;  ///< of own rows of P, with rows for ghosts of the coarser level; own rows of Q'
  pattern_view shares, E, coarse;
  C *shares_values = nullptr, *ones = nullptr, *coarse_values = nullptr;
  entries_of_others of_P, of_Q, of_shares;
  bool is_finest = false, has_coarser = false;
  index_type coarse_rows = 0;  ///< own ones

  // What the cycle has:
  interleaved_rows<C> up, down;  ///< [S | Q] and W
  C *up_values = nullptr, *W_values = nullptr;
  std::optional<halo> cycle_halo;
  buffer<C> x;  ///< the residual by own unknowns and ghosts; behind it what the coarser level answers, likewise

  index_type rows() const { return A.rows; }
  index_type with_ghosts() const { return A.rows + static_cast<index_type>(ghosts.size()); }
  C* residual() const { return x.data(); }
  C* answer() const { return x.data() + with_ghosts(); }
  matrix_view<C> matrix() const { return {A, A_values}; }
  strong_graph<C> graph() const { return {matrix(), strong}; }
  entries_of_Q<C> all_of_Q() const { return {{P, P_values}, {AP, AP_values}, M}; }
};

}  // namespace whilst::multigrid
