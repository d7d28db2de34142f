#include "solvers/linear/factorization/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "whilst/basics/error.hpp"

namespace whilst::factorization {

void refuse_factors(const work_meter& work, index_type made, index_type rows, std::int64_t nonzeros) {
  throw error("making incomplete factors",
              std::to_string(made) + " of " + std::to_string(rows) + " rows took " + std::to_string(nonzeros) +
                  " nonzeros and " + std::to_string(work.operations()) + " operations" +
                  (work.is_late() ? ", when the deadline came" : ""),
              "Set a smaller fill or a larger drop");
}

double growth_of_solves(const incomplete_factors& made) {
  const index_type n = made.L.rows();
  std::vector<double> x(static_cast<std::size_t>(n), 1.0);
  const auto subtract = [&](const sparse_rows& triangle, index_type i) {
    for (std::size_t e = triangle.begin(i); e < triangle.end(i); ++e)
      x[static_cast<std::size_t>(i)] -= triangle.values[e] * x[static_cast<std::size_t>(triangle.columns[e])];
  };
  for (index_type i = 0; i < n; ++i) subtract(made.L, i);
  double largest = 0;
  for (index_type i = n; i-- > 0;) {
    subtract(made.U, i);
    double& one = x[static_cast<std::size_t>(i)];
    one /= made.pivots[static_cast<std::size_t>(i)];
    if (!std::isfinite(one)) return HUGE_VAL;
    largest = std::max(largest, std::fabs(one));
  }
  return largest;
}

}  // namespace whilst::factorization
