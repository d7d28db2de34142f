#pragma once

#include <vector>

#include "whilst/basics/index_type.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst::multigrid {

/// Whether levels are made of nodes with several unknowns or several vectors, or of unknowns and the constant.
inline bool is_system(const amg_options& options) {
  return options.unknowns_a_node > 1 || !options.near_null_space.empty() || !options.coordinates.empty();
}

/// The near-null space that options ask for, of a matrix with so many rows: row by row, the entries of all vectors.
struct near_null_space {
  int vectors = 0;
  std::vector<double> entries;
};
/// Throws whilst::error on what does not fit the matrix, and on entries that are not finite.
near_null_space make_near_null_space(const amg_options& options, index_type rows);

}  // namespace whilst::multigrid
