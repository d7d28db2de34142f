#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/colouring/row_colours.hpp"
#include "solvers/linear/multigrid/classical/extended_interpolation.hpp"
#include "solvers/linear/multigrid/classical/two_stages.hpp"
#include "solvers/linear/multigrid/cycles/cycle_plan.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_rows.hpp"
#include "solvers/linear/multigrid/cycles/largest_eigenvalue.hpp"
#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/patterns/longest_row.hpp"
#include "solvers/linear/multigrid/patterns/merged_rows.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"
#include "solvers/linear/multigrid/roughness.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "solvers/linear/multigrid/systems/near_null_space.hpp"
#include "solvers/linear/multigrid/systems/node_matrix.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst::multigrid {

/// A level, in numbers of type C. Where A counts as symmetric, A' and A are the same, R' and P,
/// and W' and Q. Else A' has A's pattern, since that equals its transpose then, R' has P's, and A'R' has A P's.
/// Of a system, patterns are those of nodes, and values those of node matrices: A's blocks are block x block, those of
/// P and A P block x coarse_block.
template <class C>
struct level {
  pattern_view A, P, AP, Q, WT;
  transposed_pattern R, W;  ///< of P and of W'
  C *A_values = nullptr, *AT_values = nullptr, *P_values = nullptr, *RT_values = nullptr, *AP_values = nullptr,
    *ATRT_values = nullptr, *up_values = nullptr, *WT_values = nullptr, *W_values = nullptr, *M = nullptr;
  std::int32_t* mirrored = nullptr;         ///< for each entry a_ij of A where a_ji is; null if A counts as symmetric
  std::uint8_t* strong = nullptr;           ///< of each entry of A
  std::int32_t* aggregate = nullptr;        ///< of each unknown; -1 for none
  extended_interpolation<C> interpolation;  ///< of classical coarsening, in place of strong and aggregate
  two_stages<C> stages;                     ///< likewise, where that is aggressive
  index_type coarse_rows = 0;
  interleaved_rows<C> up, down;    ///< [S | Q], and W
  interleaved_rows<C> whole;       ///< A itself, without rows where the cycle does not need it
  C* whole_values = nullptr;       ///< in CSR
  C* inverse_blocks = nullptr;     ///< of A's diagonal, of a system's smoother that goes by colours
  colouring::row_colours colours;  ///< of a smoother that goes by them
  // Of a system:
  int block = 1, coarse_block = 1;
  pattern_view T;  ///< of the tentative prolongation
  /// Values that the cycle does not read, whatever its numbers are: rounded to float, the stiffness of a slender body
  /// may lose its sign in the motions that cost least energy.
  struct {
    double *A = nullptr, *T = nullptr, *P = nullptr, *AP = nullptr, *M = nullptr;
  } in_double;
  double *near_null = nullptr, *iterates = nullptr;  ///< the latter for the largest eigenvalue of M A
  lanczos_memory lanczos;                            ///< likewise, of a smoother that is a polynomial

  index_type unknowns() const { return A.rows * block; }
  index_type coarse_unknowns() const { return coarse_rows * coarse_block; }
  node_matrix<double> nodes_of_A() const { return {A, in_double.A, block, block}; }
  node_matrix<double> nodes_of_T() const { return {T, in_double.T, block, coarse_block}; }
  node_matrix<double> nodes_of_P() const { return {P, in_double.P, block, coarse_block}; }
  node_matrix<double> nodes_of_AP() const { return {AP, in_double.AP, block, coarse_block}; }
  node_matrix<C> nodes_of_W() const { return {W.view, W_values, coarse_block, block}; }
  matrix_view<C> weights() const {
    if (stages.product_values) return {stages.product, stages.product_values};
    return {interpolation.W, interpolation.W_values};
  }
  columns_of_product columns_of_AT() const { return {A, T, /*skips_long_rows=*/true}; }

  matrix_view<C> matrix() const { return {A, A_values}; }
  matrix_view<C> transposed() const { return {A, AT_values}; }
  strong_graph<C> graph(const matrix_view<C>& of) const { return {of, strong}; }
  entries_of_Q<C> up_entries() const { return {{P, P_values}, {AP, AP_values}, M}; }
  entries_of_Q<C> down_entries() const { return {{P, RT_values}, {AP, ATRT_values}, M}; }
};

/// The levels of a matrix and how their values are made.
///
/// A cycle takes two steps a level. With a diagonal smoother M, one sweep before and one after the coarse correction
/// are, written out, z = S r + Q B W r with S = 2 M - M A M, Q = (I - M A) P, W = R (I - A M), and B for what the
/// coarser levels do. So on the way down r becomes W r, on the way up r and the coarser level's e become S r + Q e, and
/// there is no product with A, P and R of its own. (A multiplicative cycle written as an additive one, as in P. S.
/// Vassilevski, U. M. Yang, Numer. Linear Algebra Appl. 21 (2014), section 2.) The coarsest level has the inverse of
/// its matrix, if that is small enough, or else S alone.
///
/// More smoothing and other cycles need A besides: see deeper_cycle.hpp.
///
/// P is that of smoothed aggregation, or, by classical coarsening, of extended_interpolation.
///
/// Of a symmetric A, R = P' and W = Q'. Else R' is to A' what P is to A, but smoothed half as much: a Petrov-Galerkin
/// method as that of M. Sala, R. S. Tuminaro, SIAM J. Sci. Comput. 31 (2008), 143-166, who choose how much each basis
/// function is smoothed. On convection of all strengths R = P' takes up to twice as many iterations, and an R that is
/// smoothed as P is, half as many again where convection is strong. By classical coarsening, R = P' in any case: an R'
/// made of A' takes more iterations there, or breaks down.
template <class C>
class hierarchy {
 public:
  /// A: the matrix's pattern; borrowed. symmetric: whether the cycle shall be, for an A that is; of a system it always
  /// is. record_finest(run, values) records how A's values are made, exact to that epsilon. Makes patterns and values
  /// of all levels, and waits; but, if it may go on, not for the inverse on the coarsest level: see finish().
  template <class RecordFinest>
  hierarchy(place where, const pattern_view& A, bool symmetric, double epsilon, const amg_options& options,
            const RecordFinest& record_finest, bool may_go_on = false)
      : where_(where),
        is_system_(is_system(options)),
        is_classical_(options.coarsening == "classical"),
        for_symmetric_(symmetric),
        symmetric_(symmetric || is_system_),
        epsilon_(is_system_ ? epsilon : static_cast<double>(std::numeric_limits<C>::epsilon())),
        options_(options),
        plan_(make_cycle_plan("making preconditioner amg", options)),
        kept_(where, likely_bytes(A)),
        told_(where, sizeof(std::int32_t) * (tell_sizes::most + 2)),
        stages_(std::in_place, where) {
    if (options_.coarsest_rows == 0) options_.coarsest_rows = where.on_host() ? 256 : 1024;
    begin(A, *stages_);
    with_given_values([&](auto* values) { record_finest(stages_->steps(), values); });
    record_finest_level(stages_->steps());
    build(*stages_, scratch_.emplace(kept_));
    scratch_.reset();  // not sooner, whatever fails: stages may still be at work there until they are gone
    if (!may_go_on) finish();
  }
  /// Waits for what is still at work, before anything else reads the levels.
  void finish() {
    if (stages_) stages_->wait();
    stages_.reset();
  }

  const std::vector<level<C>>& levels() const { return levels_; }
  const cycle_plan& plan() const { return plan_; }
  /// Whether it is for a method for symmetric matrices.
  bool is_for_symmetric() const { return for_symmetric_; }
  bool has_inverse() const { return inverse_.size() > 0; }
  const C* inverse() const { return inverse_.data(); }
  /// Calls use(where the given matrix's values are to be), in C or in double.
  template <class Use>
  void with_given_values(const Use& use) const {
    if (is_system_) {
      use(given_nodes_.values);
    } else {
      use(given_values_);
    }
  }

  /// Records how all values follow from the given ones.
  void record_values(recorder& run) const;
  index_type bytes() const { return kept_.bytes() + near_null_.bytes(); }
  /// See preconditioner. What levels are made in besides is free once they are there.
  void* room_for(std::size_t bytes) { return kept_.lend(bytes); }
  /// "4 levels of 1000000, 147666, 9345, 121 rows; operator complexity 1.92"
  std::string description() const;

 private:
  /// For patterns in CSR that steps of a cycle read on the host alone.
  level_memory& memory_of_csr(level_memory& scratch) { return where_.on_host() ? kept_ : scratch; }
  /// What all levels take, where stencils and coarsening are of the usual kind. Those of a grid in the plane take less.
  std::size_t likely_bytes(const pattern_view& A) const {
    const double an_entry = is_system_ ? 64 : 24, a_row = is_system_ ? 256 : A.average() > 6 ? 1000 : 400;
    const double share = options_.most_levels == 1         ? 0.1
                         : options_.aggressive_levels == 0 ? 1
                         : is_classical_                   ? 0.7
                                                           : 0.35;
    return static_cast<std::size_t>(an_entry * static_cast<double>(A.nonzeros) +
                                    share * a_row * static_cast<double>(A.rows)) +
           4096;
  }
  void begin(const pattern_view& A, recorded_stages& stages);
  void record_finest_level(recorder& run) const;
  /// Records that the host is told of sizes, by told() after the run.
  void record_told(recorder& run, const tell_sizes::places& sizes) const;
  std::array<std::int32_t, 3> told() const;
  /// The same of a pattern's longest row.
  std::int32_t* longest_told() const { return static_cast<std::int32_t*>(told_.data()) + tell_sizes::most; }
  std::int32_t* roughness_told() const { return longest_told() + 1; }
  /// Whether coarsening is chosen by the finest level's values.
  bool chooses_coarsening(const level<C>& fine) const {
    return options_.coarsening == "auto" && is_finest(fine) && symmetric_ && options_.aggressive_levels == 0 &&
           options_.strength <= most_strength_for_choice;
  }
  void build(recorded_stages& stages, level_memory& scratch);
  bool coarsen(recorded_stages& stages, level_memory& scratch);
  bool is_finest(const level<C>& one) const { return &one == levels_.data(); }
  bool is_aggressive(const level<C>& fine) const { return &fine - levels_.data() < options_.aggressive_levels; }
  /// A coarse level that is hardly smaller is not worth its work.
  static bool is_worth_it(const level<C>& fine) {
    return fine.coarse_rows > 0 && fine.coarse_unknowns() * 10 <= fine.unknowns() * 9;
  }
  /// Records how a level is divided into aggregates by the sizes of its entries; returns where their number will be.
  const std::int32_t* record_aggregates(recorder& run, level<C>& fine, const C* sizes, double strength,
                                        std::uint8_t* strong, level_memory& scratch);
  std::array<std::int32_t, 3> divide(recorded_stages& stages, level<C>& fine, merged_rows<C>& of_AP,
                                     level_memory& scratch);
  /// Divides the aggregates into aggregates of these, where coarsening is aggressive; see
  /// hierarchy_of_larger_aggregates.hpp. Returns where the new number will be. count: where that of aggregates will be.
  const std::int32_t* join_aggregates(recorded_stages& stages, level<C>& fine, const strong_graph<C>& graph,
                                      const std::int32_t* count, level_memory& scratch);
  void record_columns_of_P(recorder& run, level<C>& fine, std::int32_t nonzeros);
  void take_values(recorder& run, level<C>& fine);
  void record_transposed_products(recorder& run, const level<C>& here) const;
  void take_cycle_matrices(recorder& run, level<C>& fine, level_memory& scratch);
  void record_products(recorder& run, const level<C>& here) const;
  /// has_weights: that those of classical coarsening are there.
  void record_prolongation(recorder& run, const level<C>& here, bool has_weights = false) const;
  /// indices: where its columns are to be put, if they are not there.
  void record_AP(recorder& run, const level<C>& here, std::int32_t* indices = nullptr) const;
  void record_cycle_matrices(recorder& run, const level<C>& here) const;
  /// indices: where its columns are to be put, if they are not there.
  void record_coarse_matrix(recorder& run, const level<C>& fine, const level<C>& coarse,
                            std::int32_t* indices = nullptr) const;
  void record_inverse(recorder& run) const;
  interleaved_rows<C> interleaved(recorder& run, const pattern_view& pattern, const C* values, bool rounded = true);
  void record_in_order(recorder& run, const interleaved_rows<C>& matrix) const;

  // Of classical coarsening: hierarchy_of_coarse_unknowns.hpp.
  std::array<std::int32_t, 3> split(recorded_stages& stages, level<C>& fine, level_memory& scratch);
  /// Makes an interpolation to the unknowns that made.coarse numbers, of rows `among` these, or of all for null: its
  /// patterns, and its values by steps that remain to be run. count: where the number of coarse unknowns will be.
  /// False, and no weights, if the coarser level is not worth its work.
  bool make_weights(recorded_stages& stages, level<C>& fine, const pattern_view& depended,
                    extended_interpolation<C>& made, const std::int32_t* among, const std::int32_t* count,
                    level_memory& scratch);
  largest_weights<C> columns_of_kept(const extended_interpolation<C>& of) const {
    return {{of.W, of.W_values}, options_.interpolation_entries};
  }
  largest_weights<C> columns_of_P(const level<C>& fine) const {
    return {fine.weights(), options_.interpolation_entries};
  }
  void record_weights(recorder& run, const level<C>& here) const;
  void record_weights_of(recorder& run, const level<C>& here, const extended_interpolation<C>& of) const;
  // Of two stages: hierarchy_of_two_stages.hpp.
  std::array<std::int32_t, 3> split_twice(recorded_stages& stages, level<C>& fine, const pattern_view& depended,
                                          std::int32_t* numbers, level_memory& scratch);
  void record_product_of_stages(recorder& run, const level<C>& here, std::int32_t* indices = nullptr) const;

  // Of systems: hierarchy_of_nodes.hpp.
  void begin_system(const pattern_view& A, recorded_stages& stages);
  std::array<std::int32_t, 3> divide_nodes(recorded_stages& stages, level<C>& fine, level_memory& scratch);
  void take_node_values(level<C>& fine);
  void take_node_cycle_matrices(recorder& run, level<C>& fine);
  void record_finest_nodes(recorder& run) const;
  void record_node_products(recorder& run, const level<C>& here) const;
  void record_node_cycle_matrices(recorder& run, const level<C>& here) const;
  void record_coarse_node_matrix(recorder& run, const level<C>& fine, const level<C>& coarse) const;

  // Of cycles and smoothers other than the default ones: hierarchy_of_smoothers.hpp.
  void record_smoother(recorder& run, const level<C>& here) const;
  void record_node_smoother(recorder& run, const level<C>& here) const;
  template <int size, class V>
  void record_weight(recorder& run, const node_matrix<V>& A, V* M, double most, const level<C>& here) const;
  void take_whole_matrix(recorder& run, level<C>& fine, level_memory& scratch);
  void record_whole_matrix(recorder& run, const level<C>& here) const;

  template <class V>
  pattern_view unfolded(recorder& run, const node_matrix<V>& A, const pattern_view& B, int across_of_B);
  void record_unfolded(recorder& run, level<C>& coarsest);

  place where_;
  bool is_system_, is_classical_, for_symmetric_;
  bool symmetric_;  ///< how levels are made
  double epsilon_;
  amg_options options_;
  cycle_plan plan_;
  level_memory kept_;
  pattern_view given_;
  C* given_values_ = nullptr;  ///< those of the finest level, if that has the given pattern
  std::vector<level<C>> levels_;
  node_matrix<double> given_nodes_;     ///< a system's matrix without blocks
  buffer<double> near_null_;            ///< of the finest level
  double* coarse_near_null_ = nullptr;  ///< of the level that is being made
  pattern_view coarsest_;               ///< without blocks
  piece<C> inverse_;
  piece<double> work_;                     ///< for the inverse
  shared_memory_block told_;               ///< sizes that the host waits for
  std::optional<level_memory> scratch_;    ///< while patterns are made
  std::optional<recorded_stages> stages_;  ///< until all is made
};

extern template class hierarchy<float>;
extern template class hierarchy<double>;

}  // namespace whilst::multigrid
