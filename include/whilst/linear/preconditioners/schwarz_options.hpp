#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Settings of preconditioner "schwarz", the inverses of overlapping subdomains. As text: "schwarz,rows=64,overlap=2".
struct schwarz_options {
  /// Most rows that a subdomain has before it overlaps others: 1 to 64. Subdomains are grown along the largest entries
  /// of the matrix, so the order of its rows does not matter.
  index_type rows = 16;
  /// How many layers of neighbours each subdomain is then grown by: 0 to 4. A row's neighbours are those where it has
  /// entries of at least a tenth of the largest beside its diagonal. A subdomain has at most 128 rows, nearer ones and
  /// those joined most first; fewer where the shared memory of a GPU holds fewer.
  int overlap = 1;
  /// The numbers of the inverses: "float", "double", or "auto" for "float". They are made in double in any case, and
  /// products with them are in the numbers of the solver. A subdomain that is singular to this precision counts as its
  /// diagonal alone.
  std::string precision = "auto";

  bool operator==(const schwarz_options&) const = default;
};

}  // namespace whilst
