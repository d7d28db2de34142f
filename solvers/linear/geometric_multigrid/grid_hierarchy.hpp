#pragma once

#include <vector>

#include "solvers/linear/geometric_multigrid/stencil_of_matrix.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::geometric_multigrid {

/// The grids of a problem, each the next finer one's, and the operator on them; of the coarsest one its inverse.
/// Numbers C. The finest operator is that of the problem, divided by its diagonal.
template <class C>
class grid_hierarchy {
 public:
  grid_hierarchy(place where, const grid_problem& problem, index_type coarsest_rows);
  /// Other coefficients on the same grids; no program that uses them runs.
  void set_values(const stencil<double>& finest);

  place where() const { return where_; }
  /// From the finest to the coarsest.
  const std::vector<grid_level<C>>& levels() const { return levels_; }
  /// Of the coarsest operator, dense.
  const C* inverse() const { return inverse_.data(); }
  index_type bytes() const { return operators_.bytes() + inverse_.bytes(); }

 private:
  place where_;
  std::vector<grid_level<C>> levels_;
  buffer<level_operator<C>> operators_;  ///< a level each
  buffer<C> inverse_;
};

}  // namespace whilst::geometric_multigrid
