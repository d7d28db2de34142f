#pragma once

#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Settings of preconditioner "amg". As text: "amg,precision=double,strength=0.1".
struct amg_options {
  /// The numbers of the levels and of the cycle: "float", "double", or "auto" for "float", but for "double" with method
  /// cr, whose recurrence for M r wants the last digits. "bfloat16" is "float" with matrices of the cycle that a GPU
  /// reads rounded to 8 binary digits. Sums of a set-up are formed in double in any case.
  std::string precision = "auto";
  /// What the unknowns of a coarser level are: "aggregation", groups of unknowns; "classical", some of the unknowns,
  /// from which the others are interpolated. The latter is for scalar problems whose entries beside the diagonal
  /// mostly have the other sign. "auto", by the first values of the matrix: "classical" where coefficients jump almost
  /// everywhere and rows are short, under a method for symmetric matrices, with one unknown a node, no vectors or
  /// coordinates, no aggressive level and a strength of at most 0.5; else "aggregation".
  std::string coarsening = "auto";
  /// An entry counts for aggregation where its size is at least this much of the largest neighbours in its row and in
  /// its column, by their geometric mean, and for rows of the prolongation also where it is that much of the largest in
  /// its row; for "classical" where -a_ij is at least that much of the largest -a_ik in its row, for a positive
  /// diagonal. 0 to 1.
  double strength = 0.25;
  /// Of "classical": an unknown is interpolated from so many coarse ones at most, those that weigh most; 0 for all.
  int interpolation_entries = 4;
  /// On so many levels, from the finest on, coarsening is aggressive: unknowns of the next level are aggregates of
  /// aggregates, or, of "classical", those that a second choice leaves of the coarse ones. Fewer of them, so less
  /// memory and fewer bytes a cycle, but more iterations; 0 to 100.
  int aggressive_levels = 0;
  /// The coarsest level has at most so many rows, and its matrix is inverted, which takes 3 n^3 operations
  /// each time that values have changed; 1 to 2048, or 0 for 1024 on a GPU and 256 on the host.
  index_type coarsest_rows = 0;
  int most_levels = 30;
  /// How often a cycle visits coarser levels: "V" once; "W" twice; "F" by an F-cycle, then by a V-cycle; "K" as two
  /// steps of conjugate gradients, or of a method for any matrix, whose preconditioner is the next K-cycle. With "F", M
  /// is not symmetric; with "K" it is not linear. Methods that cannot take that are refused.
  std::string cycle = "V";
  /// Of cycle "V": a level that is visited twice, the second time for what the first visit has left of its residual; 1,
  /// the one below the finest, to 100. 0, a level that is inverted, or one that there is not: each is visited once. -1:
  /// under a method for symmetric matrices of ten million rows and more, the first level from 2 on with at most a
  /// fiftieth of the unknowns; else none.
  int revisited_level = -1;
  /// What smooths: "spai0", the sparse approximate inverse on the diagonal; "l1_jacobi", the inverse of the sums of
  /// sizes of rows, which never overshoots; "chebyshev", the polynomial of the fourth kind with optimal weights in M A,
  /// for the M of spai0; "chebyshev_first", that of the first kind; "gauss_seidel", sweeps by colours, forward before
  /// the coarse correction and backward after it, around those of "spai0". Of systems: their versions by blocks of
  /// nodes.
  std::string smoother = "spai0";
  /// Products with A that smooth before the coarse correction and as many after it, the degree of a polynomial; 1 to 8.
  int sweeps = 1;
  /// For systems of equations: how many unknowns a node has, which lie next to each other; 1 to 8. Nodes are
  /// aggregated as wholes, and smoothed by the inverses of their blocks. 2 or 3 for displacements in elasticity.
  int unknowns_a_node = 1;
  /// When the values of the levels are made anew: "changed", before a solve whose matrix has other values than the
  /// levels; "lagged", only once a solve has taken more than refresh_growth times the iterations, and two, of the first
  /// one after the last refresh, for as many digits, or has failed; "auto": "lagged" within a minimizer, else
  /// "changed".
  std::string refresh = "auto";
  /// More than 0.
  double refresh_growth = 1.5;
  /// What the matrix hardly changes, beside the boundary: vectors that coarse levels represent exactly on each
  /// aggregate, one after another, as many entries each as the matrix has rows; at most 8 of them. Empty: the rigid
  /// body modes of `coordinates`, or without these the constant of each unknown of a node.
  std::vector<double> near_null_space = {};
  /// Where nodes lie: as many numbers a node as it has unknowns, 2 or 3, which are displacements along these axes.
  /// Gives the 3 or 6 rigid body modes of elasticity.
  std::vector<double> coordinates = {};

  bool operator==(const amg_options&) const = default;
};

}  // namespace whilst
