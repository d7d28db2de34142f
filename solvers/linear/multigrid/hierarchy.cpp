// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/multigrid/hierarchy.hpp"

#include <cstdio>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/rows_as_sets.hpp"

namespace whilst::multigrid {
namespace {

/// Threads for a row of a product: one an entry of it, up to a warp.
int lanes_of_product(const pattern_view& product) {
  int lanes = 1;
  while (lanes < 32 && lanes * product.rows < product.nonzeros) lanes *= 2;
  return lanes;
}

}  // namespace

template <class C>
index_type level<C>::bytes() const {
  return own_pattern.bytes() + values.bytes() + strong.bytes() + parts.of_unknown.bytes() + P.bytes() + AP.bytes() +
         R.bytes() + QT.bytes() + P_values.bytes() + AP_values.bytes() + Q_values.bytes() + QT_values.bytes() +
         M.bytes() + up_offsets.bytes() + up_indices.bytes() + up_values.bytes();
}

template <class C>
void hierarchy<C>::begin(const pattern_view& A) {
  levels_.emplace_back();
  levels_.front().A = A;
  levels_.front().values = buffer<C>(where_, A.nonzeros);
}

template <class C>
void hierarchy<C>::build() {
  while (levels_.back().rows() > options_.coarsest_rows && static_cast<int>(levels_.size()) < options_.most_levels) {
    level<C>& fine = levels_.back();
    coarsen(fine, options_.strength);
    // A coarse level that is hardly smaller is not worth its work.
    if (fine.coarse_rows() == 0 || fine.coarse_rows() * 10 > fine.rows() * 9) break;
    level<C> coarse;
    coarse.own_pattern = pattern_of(where_, fine.coarse_rows(), fine.coarse_rows(), 32,
                                    columns_of_product{fine.R.pattern.view(), fine.AP.view()});
    coarse.A = coarse.own_pattern.view();
    coarse.values = buffer<C>(where_, coarse.A.nonzeros);
    finish_level(fine);
    program_recorder run(where_);
    record_values_of(run, fine);
    record_coarse_matrix(run, fine, coarse);
    run_now(std::move(run).finish(), where_);
    levels_.push_back(std::move(coarse));
  }
  level<C>& coarsest = levels_.back();
  const index_type n = coarsest.rows();
  program_recorder run(where_);
  if (n <= options_.coarsest_rows) {
    inverse_ = buffer<C>(where_, n * n);
    work_ = buffer<double>(where_, n * (n + 2));
    record_inverse(run);
  } else {
    coarsest.parts.count = 0;  // S alone
    finish_level(coarsest);
    record_values_of(run, coarsest);
  }
  run_now(std::move(run).finish(), where_);
}

template <class C>
void hierarchy<C>::coarsen(level<C>& fine, double threshold) {
  const index_type n = fine.rows();
  const int lanes = fine.A.lanes();
  fine.strong = buffer<std::uint8_t>(where_, fine.A.nonzeros);
  buffer<C> largest(where_, n);
  buffer<std::int8_t> has_strong(where_, n);
  program_recorder run(where_);
  run.step("the largest neighbour", n, largest_beside_diagonal<C>{fine.matrix(), largest.data(), lanes});
  run.step("strong entries", n,
           mark_strong<C>{fine.matrix(), largest.data(), threshold, fine.strong.data(), has_strong.data(), lanes});
  run_now(std::move(run).finish(), where_);
  const strong_graph<C> graph{fine.matrix(), fine.strong.data()};
  fine.parts = aggregate(where_, graph, has_strong.data());
  if (fine.parts.count == 0) return;
  fine.P =
      pattern_of(where_, n, fine.coarse_rows(), lanes, columns_of_prolongation<C>{graph, fine.parts.of_unknown.data()});
  fine.R = transposed_pattern(where_, fine.P.view());
  fine.AP = pattern_of(where_, n, fine.coarse_rows(), lanes, columns_of_product{fine.A, fine.P.view()});
}

/// All that has the level's values.
template <class C>
void hierarchy<C>::finish_level(level<C>& fine) {
  const index_type n = fine.rows();
  if (fine.coarse_rows() == 0) {
    // No aggregates: patterns without columns.
    fine.P = sparse_pattern(n, 0, buffer<std::int32_t>(where_, n + 1), buffer<std::int32_t>(where_, 0));
    fine.AP = sparse_pattern(n, 0, buffer<std::int32_t>(where_, n + 1), buffer<std::int32_t>(where_, 0));
    fine.R = {};
  }
  const index_type of_P = fine.P.view().nonzeros, of_AP = fine.AP.view().nonzeros;
  fine.P_values = buffer<C>(where_, of_P);
  fine.AP_values = buffer<C>(where_, of_AP);
  fine.Q_values = buffer<C>(where_, of_AP);
  fine.QT_values = buffer<C>(where_, of_AP);
  fine.M = buffer<C>(where_, n);
  const index_type of_up = fine.A.nonzeros + of_AP;
  if (!offsets_suffice_32(of_up))
    throw error("making preconditioner amg",
                "the matrix and its prolongation have " + std::to_string(of_up) + " nonzeros",
                "Use another preconditioner");
  fine.up_offsets = buffer<std::int32_t>(where_, n + 1);
  fine.up_indices = buffer<std::int32_t>(where_, of_up);
  fine.up_values = buffer<C>(where_, of_up);
  if (fine.coarse_rows() > 0) fine.QT = transposed_pattern(where_, fine.AP.view());
  program_recorder run(where_);
  run.step("columns of [S | Q]", n,
           put_way_up<C>{{fine.A, fine.AP.view()}, fine.up_offsets.data(), fine.up_indices.data(), fine.A.lanes()});
  run_now(std::move(run).finish(), where_);
}

template <class C>
void hierarchy<C>::record_values_of(recorder& run, const level<C>& here) const {
  const index_type n = here.rows();
  const matrix_view<C> A = here.matrix(), P{here.P.view(), here.P_values.data()},
                       AP{here.AP.view(), here.AP_values.data()};
  run.step("M", n, smoother_values<C>{A, here.M.data(), here.A.lanes()});
  if (here.coarse_rows() > 0) {
    run.step("P", n,
             prolongation_values<C>{A, here.strong.data(), here.parts.of_unknown.data(), P.pattern,
                                    here.P_values.data(), lanes_of_product(P.pattern)});
    run.step("A P", n,
             product_values<C>{A, nullptr, P, AP.pattern, here.AP_values.data(), lanes_of_product(AP.pattern)});
  }
  run.step("[S | Q]", n,
           way_up_values<C>{A, P, AP, here.M.data(), here.up_values.data(), here.Q_values.data(), here.A.lanes()});
  if (here.coarse_rows() > 0)
    run.step("Q'", here.QT.sources.size(),
             gather_values<C>{here.QT.sources.data(), here.Q_values.data(), here.QT_values.data()});
}

template <class C>
void hierarchy<C>::record_coarse_matrix(recorder& run, const level<C>& fine, const level<C>& coarse) const {
  run.step("P' A P", coarse.rows(),
           product_values<C>{{fine.R.pattern.view(), fine.P_values.data()},
                             fine.R.sources.data(),
                             {fine.AP.view(), fine.AP_values.data()},
                             coarse.A,
                             coarse.values.data(),
                             lanes_of_product(coarse.A)});
}

template <class C>
void hierarchy<C>::record_inverse(recorder& run) const {
  const level<C>& coarsest = levels_.back();
  const index_type n = coarsest.rows();
  double* const work = work_.data();
  if (n > 0)
    run.team("the coarsest inverse", 1,
             invert_coarsest<C>{coarsest.matrix(), work, work + n * n, work + n * (n + 1), inverse_.data()});
}

template <class C>
void hierarchy<C>::record_values(recorder& run) const {
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const bool is_last = k + 1 == levels_.size();
    if (!is_last || !has_inverse()) record_values_of(run, levels_[k]);
    if (!is_last) record_coarse_matrix(run, levels_[k], levels_[k + 1]);
  }
  if (has_inverse()) record_inverse(run);
}

template <class C>
index_type hierarchy<C>::bytes() const {
  index_type all = inverse_.bytes() + work_.bytes();
  for (const auto& one : levels_) all += one.bytes();
  return all;
}

template <class C>
std::string hierarchy<C>::description() const {
  std::string rows;
  double nonzeros = 0;
  for (const auto& one : levels_) {
    rows += (rows.empty() ? "" : ", ") + std::to_string(one.rows());
    nonzeros += static_cast<double>(one.A.nonzeros);
  }
  const auto of_finest = static_cast<double>(levels_.front().A.nonzeros);
  char complexity[32];
  std::snprintf(complexity, sizeof complexity, "%.2f", of_finest > 0 ? nonzeros / of_finest : 1);
  const std::size_t count = levels_.size();
  return std::to_string(count) + (count == 1 ? " level of " : " levels of ") + rows + " rows; operator complexity " +
         complexity;
}

template struct level<WHILST_NUMBER>;
template class hierarchy<WHILST_NUMBER>;

}  // namespace whilst::multigrid
