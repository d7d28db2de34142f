#pragma once

#include <string>

namespace whilst {

/// Settings of preconditioners "ilu" and "ic", which solve with the triangular factors of an incomplete elimination.
/// As text: "ilu,drop=1e-3,fill=20,order=none" or "ic,levels=0". Drop and fill are those of Y. Saad, "ILUT: a dual
/// threshold incomplete LU factorization", Numer. Linear Algebra Appl. 1 (1994) 387-402.
struct ilu_options {
  /// Entries of a row smaller than this much of its norm are left out; 0 to 1.
  double drop = 1e-4;
  /// The factors together keep about as many entries as the matrix has, times this: so many that a row has its share,
  /// and of those the largest. 0 for no bound.
  double fill = 10;
  /// 0 or more: no entry is left out for its size; kept are those of a level of fill up to this. 0 keeps the pattern of
  /// the matrix: ILU(0), IC(0). Y. Saad, Iterative Methods for Sparse Linear Systems (2003), section 10.3.3.
  int levels = -1;
  /// ilu: first a permutation and a scaling that make the diagonal as large as can be, see maximum_product_matching.
  bool matching = true;
  /// ilu: above 0, columns are exchanged where the pivot is below this much of another entry of its row, up to 1:
  /// ILUTP. Goes with drop and fill alone.
  double pivoting = 0;
  /// The order of rows and columns: "none" for the matrix's own; "rcm", reverse Cuthill-McKee, which keeps entries near
  /// the diagonal; "degree", minimum degree, by which fewer entries are filled in and rows wait for fewer others; it
  /// takes the longest to find. ilu: "blocks", diagonal blocks with nothing below them, each in minimum degree; columns
  /// are then exchanged within a block alone.
  std::string order = "rcm";

  bool operator==(const ilu_options&) const = default;
};

}  // namespace whilst
