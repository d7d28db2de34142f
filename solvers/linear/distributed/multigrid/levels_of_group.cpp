// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"

#include <algorithm>
#include <utility>

#include "solvers/linear/distributed/multigrid/aggregates_of_group.hpp"
#include "solvers/linear/distributed/multigrid/border_entries.hpp"
#include "solvers/linear/distributed/multigrid/gathered_level.hpp"
#include "solvers/linear/distributed/multigrid/patterns_of_group.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_in_memory.hpp"
#include "solvers/linear/multigrid/cycles/smoother_values.hpp"
#include "solvers/linear/multigrid/patterns/longest_row.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

namespace whilst::multigrid {
namespace {

constexpr double smoothing_across_ranks = 4.0 / 3;  // as on one rank
/// [S | Q] by the numbers of the cycle: own unknowns, its ghosts, and the coarser level's, likewise.
struct put_way_up_of_group {
  pattern_view A, Q;
  std::int32_t *offsets, *indices;
  std::int32_t own, with_ghosts, own_coarse;
  const std::int32_t *ghosts, *coarse_ghosts;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const std::int32_t before_A = A.offsets[i], before_Q = Q.offsets[i];
    std::int32_t* const of_S = indices + before_Q;
    std::int32_t* const of_Q = indices + A.offsets[i + 1];
    A.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { of_S[e] = j < own ? j : ghosts[j - own]; });
    Q.each_entry(i, team, [&](std::int32_t q, std::int32_t g) {
      of_Q[q] = with_ghosts + (g < own_coarse ? g : coarse_ghosts[g - own_coarse]);
    });
    if (team.rank() > 0) return;
    offsets[i] = before_A + before_Q;
    if (i + 1 == A.rows) offsets[i + 1] = A.offsets[i + 1] + Q.offsets[i + 1];
  }
};

}  // namespace

template <class C>
levels_of_group<C>::levels_of_group(const exchange& ranks, const local_numbers& named, const halo_plan& plan,
                                    const pattern_view& A, const C* values, const amg_options& options)
    : ranks_(ranks),
      where_(ranks.where()),
      copies_(where_),
      border_(std::make_shared<border_window>(ranks)),
      options_(options),
      kept_(where_, 40 * as_size(A.nonzeros) + 900 * as_size(A.rows) + 4096),
      scratch_(std::in_place, kept_) {
  level_of_group<C> finest;
  finest.is_finest = true;
  finest.named = named;
  finest.A = A;
  finest.A_values = const_cast<C*>(values);
  build(std::move(finest), plan);
  scratch_.reset();
}

template <class C>
void levels_of_group<C>::build(level_of_group<C> level, const halo_plan& plan) {
  const index_type few = rows_gathered(where_);
  exchange_by(level, plan);
  while (true) {
    const index_type rows = level.named.partition.rows();
    const bool may = static_cast<int>(levels_.size()) + 1 < options_.most_levels;
    local_numbers coarse;
    if (rows <= few || !may || !coarsen(level, coarse)) {
      if (may && rows <= most_gathered * few) {
        gather(level);
      } else {
        smooth_alone(level);
        levels_.push_back(std::move(level));
      }
      break;
    }
    level_of_group<C> next;
    next.named = std::move(coarse);
    next.A = level.coarse;
    next.A_values = level.coarse_values;
    levels_.push_back(std::move(level));
    level = std::move(next);
    exchange_by(level, make_halo_plan(ranks_.ranks(), level.named.partition, level.named.ghosts));
  }
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    if (k + 1 < levels_.size()) {
      take_cycle(levels_[k], levels_[k + 1].named, levels_[k + 1].ghosts);
    } else {
      const local_numbers& below = gathered() ? gathered_.numbers : local_numbers{};
      take_cycle(levels_[k], below, below.ghosts);
    }
  }
}

template <class C>
void levels_of_group<C>::exchange_by(level_of_group<C>& level, const halo_plan& plan) {
  std::vector<std::vector<std::int32_t>> for_rank(as_size(ranks_.ranks().size()));
  for (const halo_neighbour& one : plan.neighbours)
    for_rank[as_size(one.rank)].assign(plan.send_indices.begin() + one.send_begin,
                                       plan.send_indices.begin() + one.send_end);
  level.of_vector = exchanged_entries(making, border_, for_rank);
}

template <class C>
bool levels_of_group<C>::coarsen(level_of_group<C>& fine, local_numbers& coarse) {
  coarse = divide(fine);
  if (coarse.partition.rows() == 0 || coarse.partition.rows() * 10 > fine.named.partition.rows() * 9) {
    fine.coarse_rows = 0;
    return false;
  }
  fine.has_coarser = true;
  find_prolongation(fine, coarse);
  make_products(fine);
  find_restriction(fine, coarse);
  find_coarse_matrix(fine, coarse);
  make_coarse(fine);
  by_all([&] { scratch_->reuse(); });
  return true;
}

/// The last level, if it is not gathered.
template <class C>
void levels_of_group<C>::smooth_alone(level_of_group<C>& last) {
  by_all([&] {
    const index_type n = last.A.rows;
    std::int32_t* const offsets = kept_.take<std::int32_t>(n + 1).data();
    run([&](recorder& steps) { steps.step("no coarser level", n + 1, fill_entries<std::int32_t>{0, offsets}); });
    last.coarse_rows = 0;
    last.P = last.AP = last.Q = {n, 0, 0, offsets, nullptr};
    last.W.view = {0, n, 0, offsets, nullptr};
    last.up_values = kept_.take<C>(last.A.nonzeros).data();
    last.ghosts = last.named.ghosts;
    scratch_->reuse();
  });
  make_products(last);
  make_coarse(last);
}

/// M, P and A P.
template <class C>
void levels_of_group<C>::make_products(level_of_group<C>& here) {
  const index_type n = here.A.rows;
  const int lanes = here.A.lanes(8);
  by_all([&] {
    if (!here.M) here.M = kept_.take<C>(here.named.with_ghosts()).data();
    run([&](recorder& steps) {
      steps.step("M", n, smoother_values<C>{here.matrix(), here.M, lanes});
      if (here.is_finest)
        steps.step("rows of zeros", n, unit_for_zero_rows<C>{node_matrix<C>{here.A, here.A_values, 1, 1}, here.M});
      if (here.has_coarser)
        steps.step("P", n,
                   prolongation_values<C>{
                       {here.graph(), here.aggregate}, here.P, here.P_values, smoothing_across_ranks, lanes});
    });
  });
  here.of_vector.exchange_to(making, static_cast<const C*>(here.M), here.M + n, {});
  if (!here.has_coarser) return;
  here.of_P.take(making, here.P_values);
  by_all([&] {
    run([&](recorder& steps) {
      record_product_values(steps, "A P", here.matrix(), nullptr, matrix_view<C>{here.P, here.P_values}, here.AP,
                            here.AP_values, nullptr, /*skips_long_rows=*/true);
    });
  });
}

/// The cycle's matrices, and the coarser level's.
template <class C>
void levels_of_group<C>::make_coarse(level_of_group<C>& here) {
  const index_type n = here.A.rows;
  by_all([&] {
    run([&](recorder& steps) {
      steps.step(
          "[S | Q]", n,
          way_up_values<C>{here.matrix(), {here.all_of_Q(), here.Q}, here.up_values, here.Q_values, here.A.lanes(2)});
      if (here.has_coarser)
        record_product_values(steps, "P'A P", matrix_view<C>{here.R.view, here.P_values}, here.R.sources,
                              matrix_view<C>{here.AP, here.AP_values},
                              rows_of(here.shares, here.R.view.rows, here.of_shares.begin), here.shares_values, nullptr,
                              /*skips_long_rows=*/false);
    });
  });
  if (!here.has_coarser) return;
  here.of_Q.take(making, here.Q_values);
  here.of_shares.take(making, here.shares_values);
  by_all([&] {
    run([&](recorder& steps) {
      steps.step("W", here.W.view.nonzeros, gather_values<C>{here.W.sources, here.Q_values, here.W_values});
      record_product_values(steps, "shares of all ranks", matrix_view<C>{here.E, here.ones}, nullptr,
                            matrix_view<C>{here.shares, here.shares_values}, here.coarse, here.coarse_values, nullptr,
                            /*skips_long_rows=*/false);
    });
  });
}

/// What a cycle needs, once the coarser level is known.
template <class C>
void levels_of_group<C>::take_cycle(level_of_group<C>& fine, const local_numbers& coarse,
                                    const std::vector<index_type>& coarse_ghosts) {
  const index_type n = fine.A.rows;
  fine.cycle_halo.emplace(ranks_, make_halo_plan(ranks_.ranks(), fine.named.partition, fine.ghosts));
  by_all([&] {
    const auto numbers_among = [&](const std::vector<index_type>& some, const std::vector<index_type>& all,
                                   index_type from) {
      const std::vector<std::int32_t> numbers = places_among(some, all, from);
      return buffer<std::int32_t>(where_, static_cast<index_type>(numbers.size()), numbers.data());
    };
    const index_type nonzeros = fine.A.nonzeros + fine.Q.nonzeros,
                     below = fine.coarse_rows + static_cast<index_type>(coarse_ghosts.size());
    require_32_bits(nonzeros);
    const auto ghosts = numbers_among(fine.named.ghosts, fine.ghosts, n);
    const auto of_coarse = numbers_among(coarse.ghosts, coarse_ghosts, fine.coarse_rows);
    std::int32_t *const offsets = kept_.take<std::int32_t>(n + 1).data(),
                        *const indices =
                            (where_.on_host() ? kept_ : *scratch_).template take<std::int32_t>(nonzeros).data();
    run([&](recorder& steps) {
      steps.step("columns of [S | Q]", n,
                 put_way_up_of_group{fine.A, fine.Q, offsets, indices, static_cast<std::int32_t>(n),
                                     static_cast<std::int32_t>(fine.with_ghosts()),
                                     static_cast<std::int32_t>(fine.coarse_rows), ghosts.data(), of_coarse.data(),
                                     fine.A.lanes(2)});
      if (n == 0) steps.step("no rows", 1, fill_entries<std::int32_t>{0, offsets});
      fine.up = interleaved(steps, {n, fine.with_ghosts() + below, nonzeros, offsets, indices}, fine.up_values);
      fine.down = interleaved(steps, fine.W.view, fine.W_values);
      put_in_order(steps, fine);
    });
    fine.x = buffer<C>(where_, fine.with_ghosts() + below);
    scratch_->reuse();
  });
}

template <class C>
interleaved_rows<C> levels_of_group<C>::interleaved(recorder& run, const pattern_view& pattern, const C* values) {
  return interleaved_in_memory(run, kept_, pattern, values, options_.precision == "bfloat16");
}

template <class C>
void levels_of_group<C>::put_in_order(recorder& run, const level_of_group<C>& here) const {
  if (where_.on_host()) return;
  here.up.record_values(run);
  here.down.record_values(run);
}

template <class C>
void levels_of_group<C>::update_values() {
  for (level_of_group<C>& one : levels_) {
    make_products(one);
    make_coarse(one);
    by_all([&] { run([&](recorder& steps) { put_in_order(steps, one); }); });
  }
  if (!gathered()) return;
  take_gathered_values();
  by_all([&] {
    run([&](recorder& steps) {
      gathered_.levels->with_given_values([&](auto* to) { copy_gathered(steps, to); });
      gathered_.levels->record_values(steps);
    });
  });
}

template <class C>
void levels_of_group<C>::recover() {
  for (level_of_group<C>& one : levels_) one.cycle_halo->recover();
  if (gathered()) gathered_.of_all->recover();
}

template <class C>
std::string levels_of_group<C>::description() const {
  std::string words;
  for (const level_of_group<C>& one : levels_)
    words += (words.empty() ? "" : ", ") + std::to_string(one.named.partition.rows());
  if (!words.empty()) words = "levels of " + words + " rows across ranks";
  if (!gathered()) return words;
  return words + (words.empty() ? "" : ", then ") + "on each rank " + gathered_.levels->description();
}

template <class C>
std::int32_t levels_of_group<C>::longest_of(const pattern_view& pattern) {
  std::int32_t* const found = scratch_->take<std::int32_t>(1).data();
  run([&](recorder& steps) { record_longest(steps, pattern, found); });
  return told(found);
}

template class levels_of_group<WHILST_NUMBER>;

}  // namespace whilst::multigrid
