#pragma once

#include <string>

namespace whilst {

/// Settings of preconditioners "fsai" and "spai", sparse approximate inverses. As text: "fsai,power=2,drop=0.1".
struct fsai_options {
  /// A row's pattern holds the columns that so many steps from entry to entry of A reach; 1 to 32.
  int power = 1;
  /// Steps follow entries of at least this size alone, measured by the largest neighbours in their row and in their
  /// column, by their geometric mean; 0 to 1. 0: all entries, zeros too.
  double drop = 0;
  /// A row keeps at most so many entries, its diagonal among them: those of fewest steps, and of these the strongest;
  /// 1 to 32.
  int most = 32;
  /// fsai: in which order G has a triangle, which decides what a row's pattern may hold. "alternating": first every
  /// second row, as a chessboard has fields, where the graph allows that; "random"; or "none" for the matrix's own. By
  /// "random", rows hold few entries even for a large power.
  std::string order = "alternating";
  /// The numbers that the inverse is stored in: "float", "double", or "auto" for "float". "bfloat16" is "float", which
  /// a GPU reads rounded to 8 binary digits. Sums are in the solver's numbers, and set-up is in double.
  std::string precision = "auto";

  bool operator==(const fsai_options&) const = default;
};

}  // namespace whilst
