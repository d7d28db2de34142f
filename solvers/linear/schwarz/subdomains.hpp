#pragma once

#include <cstdint>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst::schwarz {

/// Which rows of a square matrix are joined, and how much, in host memory: an edge for each entry.
struct matrix_graph {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<float> weights;  ///< |a_ij| over the largest beside the diagonal of row i, from 0 to 1

  index_type rows() const { return static_cast<index_type>(offsets.size()) - 1; }
};

struct growth {
  int rows = 1;             ///< most own rows of a subdomain
  int overlap = 0;          ///< layers of neighbours that it gets besides
  int most = 1;             ///< of all its rows
  int unknowns_a_node = 1;  ///< so many consecutive rows stay together
};

/// Sets of rows. Each row of the matrix is an own row of one of them.
struct subdomains {
  std::vector<std::int64_t> offsets{0};  ///< where the rows of each begin
  std::vector<int> own;                  ///< how many own rows each has: its first ones
  std::vector<std::int32_t> rows;        ///< the own rows of a set ascend, and so do its others

  std::size_t count() const { return own.size(); }
};

/// Grows one set after another. Each begins with a row beside those before it, and the row joined most to a set is its
/// next one: so it runs along strong entries, and where all are alike it becomes round. Layers follow strong edges, of
/// weights from 0.1 on. C. Farhat, "A simple and efficient automatic FEM domain decomposer", Comput. Struct. 28 (1988)
/// 579-602, with weights. Rows of more than 1024 entries join nothing.
subdomains grow_subdomains(const matrix_graph& graph, const growth& settings);

}  // namespace whilst::schwarz
