#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solvers/linear/distributed/multigrid/border_entries.hpp"
#include "solvers/linear/multigrid/cycles/cycle.hpp"
#include "whilst/exchange/exchange.hpp"

namespace whilst::multigrid {

/// A level that every rank has whole, with those below it.
template <class C>
struct gathered_level {
  buffer<std::int32_t> offsets, indices;
  buffer<C> values;
  std::unique_ptr<hierarchy<C>> levels;
  const C* own_values = nullptr;
  buffer<std::int32_t> order;  ///< which of the rank's own entries is the first, the second, ...
  std::optional<halo> of_all;  ///< its ghosts are all unknowns of other ranks
  local_numbers numbers;
  buffer<std::int32_t> named;  ///< which unknowns the rank names, by its numbers
  buffer<C> residual, answer;  ///< of own unknowns, of all
  raw_buffer memory;
  cycle_vectors<C> vectors;
};

/// The levels of a distributed matrix: smoothed aggregation as on one rank, see hierarchy.hpp. Aggregates grow within
/// ranks; only unknowns whose strong neighbours are all on other ranks join or make aggregates with these.
/// Prolongations and products see the neighbours' rows. A level of few rows on all ranks is gathered: each rank has
/// that whole, and a hierarchy of its own for it.
///
/// Steps on the place do the work of a set-up. Values along the borders between ranks go from place to place; patterns
/// there are put in order on the host.
template <class C>
class levels_of_group {
 public:
  /// A: this rank's rows, columns by `named`; offsets and indices on the place of the exchange, borrowed as `values`
  /// are. plan: for these ghosts. Collective.
  levels_of_group(const exchange& ranks, const local_numbers& named, const halo_plan& plan, const pattern_view& A,
                  const C* values, const amg_options& options);
  /// Makes all levels for the values that are there now. Collective, between solves.
  void update_values();
  /// See exchange::recover. Collective.
  void recover();

  /// Those that are distributed; none if the matrix itself is gathered.
  const std::vector<level_of_group<C>>& levels() const { return levels_; }
  /// Null if the last level smooths alone.
  const gathered_level<C>* gathered() const { return gathered_.levels ? &gathered_ : nullptr; }
  /// Where a cycle finds the residual.
  C* residual() const { return levels_.empty() ? gathered_.residual.data() : levels_.front().residual(); }
  std::string description() const;

  /// A level of no more rows on all ranks is gathered; one that coarsens badly, up to most_gathered times as large,
  /// too.
  static index_type rows_gathered(place where) { return where.on_host() ? 2000 : 10000; }
  static constexpr index_type most_gathered = 16;

 private:
  void build(level_of_group<C> level, const halo_plan& plan);
  /// Adds a level below. False if that would hardly be smaller.
  bool coarsen(level_of_group<C>& fine, local_numbers& coarse);
  void exchange_by(level_of_group<C>& level, const halo_plan& plan);
  local_numbers divide(level_of_group<C>& fine);
  local_numbers join_across(level_of_group<C>& fine);
  void find_prolongation(level_of_group<C>& fine, local_numbers& coarse);
  void find_restriction(level_of_group<C>& fine, const local_numbers& coarse);
  void find_coarse_matrix(level_of_group<C>& fine, local_numbers& coarse);
  void smooth_alone(level_of_group<C>& last);
  void take_cycle(level_of_group<C>& fine, const local_numbers& coarse, const std::vector<index_type>& coarse_ghosts);
  void make_products(level_of_group<C>& here);
  void make_coarse(level_of_group<C>& here);
  void put_in_order(recorder& run, const level_of_group<C>& here) const;
  void gather(const level_of_group<C>& level);
  void take_gathered_values();
  /// That of a system, in double, is another one: there is none here.
  template <class V>
  void copy_gathered([[maybe_unused]] recorder& run, [[maybe_unused]] V* to) const {
    if constexpr (std::is_same_v<V, C>)
      run.step("the gathered matrix", gathered_.values.size(), copy_entries<C>{gathered_.values.data(), to});
  }
  interleaved_rows<C> interleaved(recorder& run, const pattern_view& pattern, const C* values);
  static void name_columns(rows_received& found, const local_numbers& numbers);
  /// A pattern with rows behind its own ones, whose entries others have sent: rows, counted from the first of these, in
  /// order, and columns by local numbers.
  pattern_view with_received(const pattern_view& own, index_type more_rows, const rows_received& found,
                             entries_of_others& received);
  struct columns_of_level {
    const std::int32_t* indices;
    index_type count;
  };
  void renumber(std::initializer_list<columns_of_level> all, index_type own, const std::vector<std::int32_t>& now);

  template <class Record>
  void run(const Record& record) const {
    program_recorder steps(where_);
    record(steps);
    run_now(std::move(steps).finish(), where_);
  }
  template <class Work>
  void by_all(const Work& work) const {
    ranks_.ranks().agree(making, work);
  }
  std::int32_t told(const std::int32_t* at) const { return copies_.fetched(at, 1).front(); }
  std::int32_t longest_of(const pattern_view& pattern);

  static constexpr const char* making = "making amg for several ranks";
  const exchange& ranks_;
  place where_;
  host_copies copies_;
  std::shared_ptr<border_window> border_;
  amg_options options_;
  level_memory kept_;
  std::optional<level_memory> scratch_;  ///< while levels are built
  std::vector<level_of_group<C>> levels_;
  gathered_level<C> gathered_;
};

extern template class levels_of_group<float>;
extern template class levels_of_group<double>;

}  // namespace whilst::multigrid
