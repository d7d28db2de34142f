#pragma once

#include <cmath>

#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/method_settings.hpp"

namespace whilst {

/// What a cycle of gmres or fgmres keeps.
///
/// The basis V holds v_0 .. v_{k-1}; q is about v_k, made orthogonal to them once and scaled. With a = V'q, b = V'w and
/// w = A M q from one reduction, the second orthogonalization is
///
///   v_k = (q - V a) / rho,  rho^2 = (q, q) - (a, a),  b_k = (v_k, w) = ((q, w) - (a, b)) / rho
///
/// and the next q is w - V b - b_k v_k, divided by its length eta, which follows from Pythagoras until the next
/// reduction measures it. So with q_0, q_1, ... as the columns of Q, and k + 1 vectors in V,
///
///   A M Q = V B,  column j of B: b, b_j, and below those 0; plus eta a, eta rho of column j + 1
///
/// where B has one more row than columns: what is left of w_j is eta q_{j+1}, and q_{j+1} = V a + rho v_{j+1}. The
/// cycle seeks the y with the least ||beta e_0 - B y||; then x grows by M Q y. Since a and rho of the next reduction
/// complete a column, the last one is provisional: as if q were the next v.
///
/// Rotations make B triangular. An iteration needs no more of them than the last row of their product, which makes the
/// last entry of a new column, and so its own rotation and the residual norm. The others wait for the cycle's end.
template <class T>
struct gmres_memory {
  static constexpr double precision = 0x1p-52;

  /// Of the last reduction, for the update of v and q.
  struct alignas(16) scalars {
    double weight;       ///< w in memory is to be multiplied by it
    double inverse_rho;  ///< 1 / rho
    double b_of_v;
    double scale;   ///< 1 / eta
    double last;    ///< last entry of the last column, under the rotations before its own
    double last_g;  ///< of the rotated beta e_0: beneath the last column's, under the rotations before its own
    int columns;    ///< since the cycle began
    int written;    ///< of them, those whose v is in the basis
    int complete;   ///< of them, those that are no longer provisional
  };
  /// What the column says of the loop.
  struct alignas(16) verdict {
    double norm;
    reason why;  ///< running if the column counts
    int columns;
  };

  /// All on the place. The basis holds `most` vectors of n entries each, of a rank's rows where a group solves.
  index_type n;
  int most;  ///< columns of a cycle
  T *basis, *w;
  index_type rows_a_piece;
  int pieces;
  /// a, b, (q, q), (q, w), (w, w): each sum of all pieces of the rows, one after another; for a block without fast
  /// memory.
  double *partial, *work;
  double *a, *b;                              ///< of each column, from a_of and b_of on
  double *rho, *eta, *cosine, *sine, *g, *y;  ///< of each column
  double* last_row;                           ///< of the product of the rotations
  scalars* s;
  verdict* told;

  /// rows: of all ranks of a group; n where there is none.
  WHILST_HD gmres_memory(index_type n, index_type rows, int restart, workspace& memory)
      : n(n),
        most(rows < 1         ? 1
             : rows < restart ? static_cast<int>(rows)
                              : restart) {
    // Few pieces, which each block adds up; many where only those keep a GPU busy.
    constexpr index_type least_rows = 512, most_pieces = 256;
    const index_type even = (n + most_pieces - 1) / most_pieces;
    rows_a_piece = even < least_rows ? least_rows : (even + 31) / 32 * 32;
    pieces = static_cast<int>((n + rows_a_piece - 1) / rows_a_piece);
    if (n < rows && pieces == 0) pieces = 1;  // of a rank without rows, which has room for the sums of the others
    basis = memory.take<T>(most * n);
    w = memory.take<T>(n);
    partial = memory.take<double>(index_type{pieces} * sums_of_piece());
    work = memory.take<double>(sums_of_piece());
    a = memory.take<double>(a_of(most));
    b = memory.take<double>(b_of(most));
    for (double** each : {&rho, &eta, &cosine, &sine, &g, &y, &last_row}) *each = memory.take<double>(most);
    s = memory.take<scalars>(1);
    told = memory.take<verdict>(1);
  }

  /// a, b, (q, q), (q, w), (w, w).
  WHILST_HD int sums_of_piece() const { return 2 * most + 3; }
  /// Column j has j entries of a, and j + 1 of b.
  WHILST_HD static index_type a_of(int column) { return index_type{column} * (column - 1) / 2; }
  WHILST_HD static index_type b_of(int column) { return index_type{column} * (column + 1) / 2; }
  /// Pieces that one block adds up as fast as they arrive.
  WHILST_HD bool has_few_pieces() const { return pieces <= 32; }
  /// Whether the blocks that update v and q each do the arithmetic of a column for themselves, which saves a step.
  WHILST_HD bool is_small() const { return has_few_pieces() && most <= 64; }
};

}  // namespace whilst
