#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst::multigrid {

/// What a cycle does on the levels below the finest. V: visits each once. W: twice, the second time with what the first
/// has left of the residual. F: once as an F-cycle and once as a V-cycle. K: as two steps of a Krylov method do, with a
/// K-cycle as their preconditioner.
enum class cycle_kind { V, W, F, K };
/// A smoother is a diagonal M, or of systems one of blocks of nodes, and a polynomial in M A. spai0, l1_jacobi: x += M
/// (b - A x), as often as there are sweeps. Chebyshev: a polynomial of that degree, with the M of spai0. Gauss-Seidel:
/// that many sweeps by colours, of systems by nodes, forward before the coarse correction and backward after it, and
/// next to it spai0.
enum class smoother_kind { spai0, l1_jacobi, chebyshev, chebyshev_first, gauss_seidel };
inline constexpr std::array smoother_names{"spai0", "l1_jacobi", "chebyshev", "chebyshev_first", "gauss_seidel"};

/// Cycle and smoother as options name them.
///
/// A smoother of k sweeps is written x += w_j M (b - A x) for j = 1 ... k, with weights 1 / w_j that are the zeros of
/// its polynomial, in any order. The sweep next to the coarse correction, whose weight is the smallest, is part of the
/// cycle's matrices: those are made with M, multiplied by that weight. The others are steps of their own.
struct cycle_plan {
  cycle_kind cycle = cycle_kind::V;
  smoother_kind smoother = smoother_kind::spai0;
  /// Of the sweep within the cycle's matrices, for an M whose M A has 1 as its largest eigenvalue; else 1.
  double inner_weight = 1;
  /// Those of the other sweeps as shares of that one, in the order in which they are before the coarse correction.
  std::vector<double> outer_weights = {};
  /// "W-cycle, 2 sweeps by chebyshev"; empty for the default.
  std::string words = {};
  /// The level that a V-cycle is to visit twice, as amg_options::revisited_level has it: 0 for none, -1 by size.
  int to_revisit = 0;
  /// That of a hierarchy, once choose_revisited has been told of it; else 0. With B for what the level does in one
  /// visit, the second, for what the first has left of the residual, makes 2 B - B A B of it: symmetric if B is, and
  /// definite if B A's eigenvalues are below 2.
  std::size_t revisited = 0;

  /// Of a visit: "2 x chebyshev".
  std::string smoother_words() const {
    return std::to_string(outer_weights.size() + (goes_by_colours() ? 0 : 1)) + " x " +
           smoother_names[static_cast<std::size_t>(smoother)];
  }
  bool goes_by_colours() const { return smoother == smoother_kind::gauss_seidel; }
  bool uses_polynomial() const {
    return smoother == smoother_kind::chebyshev || smoother == smoother_kind::chebyshev_first;
  }
  /// Whether a cycle is what record_cycle records.
  bool is_plain() const { return cycle == cycle_kind::V && outer_weights.empty(); }
  /// Whether a level needs its matrix A beside the cycle's matrices.
  bool uses_A_on(std::size_t level) const { return !outer_weights.empty() || visits_twice(level); }

  /// Levels below the finest that are visited twice, at most: each doubles the steps of a W-cycle.
  static constexpr std::size_t most_doubled = 4;
  bool visits_twice(std::size_t level) const {
    if (cycle == cycle_kind::V) return level > 0 && level == revisited;
    return level > 0 && level <= most_doubled;
  }

  /// By size, a level is revisited where that costs next to nothing: it has at most this share of the unknowns, so that
  /// all of it reads some hundredths of what the cycle does, and there are so many of these that a launch for each of
  /// its half dozen steps takes less than one more hundredth.
  static constexpr index_type revisited_of_rows = 10'000'000, revisited_share = 50;
  /// Told of each level that is not inverted, from the finest to the coarsest.
  void choose_revisited(std::size_t level, index_type rows, index_type rows_of_finest) {
    if (revisited > 0 || level == 0) return;
    const bool is_small = level > 1 && rows <= rows_of_finest / revisited_share;
    const bool is_due = to_revisit < 0 ? is_small && rows_of_finest >= revisited_of_rows
                                       : static_cast<std::size_t>(to_revisit) == level;
    if (is_due) revisited = level;
  }
};

/// Throws whilst::error, beginning with `doing`, on a cycle or a smoother that there is none of, on sweeps that are not
/// 1 to 8, and on a level to revisit in other cycles than V.
cycle_plan make_cycle_plan(std::string_view doing, const amg_options& options);

/// The zeros of a smoother's polynomial, which is 1 at 0, for eigenvalues up to 1; from the largest to the smallest.
///
/// Fourth kind with optimal weights: J. Lottes, "Optimal polynomial smoothers for multigrid V-cycles", Numer. Linear
/// Algebra Appl. 30 (2023). The bound for a V-cycle is smallest where x p(x)^2 / (1 - p(x)^2) <= c for the least c on
/// (0, 1]. That is (x + c) p(x)^2 <= c, and so sqrt(x + c) p(x) is a multiple of Chebyshev's polynomial T of degree
/// 2 k + 1 in sqrt((x + c) / (1 + c)), an odd one, for the c whose sqrt(c / (1 + c)) is the least positive extremum of
/// T.
std::vector<double> zeros_of_fourth_kind(int degree);
/// First kind: the polynomial that is smallest on [least, 1].
std::vector<double> zeros_of_first_kind(int degree, double least);
/// What of the spectrum chebyshev_first smooths; coarse levels are for the rest.
inline constexpr double least_share_smoothed = 0.1;

}  // namespace whilst::multigrid
