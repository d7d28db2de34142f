#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/schwarz/subdomains.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst::schwarz {

/// The edges of a row. All have weight 1 in a row of zeros, as of a matrix whose values come later, and weight 0 where
/// a value is not finite: a solve tells of that, not its preconditioner.
template <class T, class Offset>
struct put_edges {
  const Offset* of_matrix;
  const std::int32_t* columns_of_matrix;
  const T* values;
  std::int64_t* offsets;
  std::int32_t* columns;
  float* weights;

  WHILST_HD void operator()(index_type i) const {
    const index_type begin = of_matrix[i], end = of_matrix[i + 1];
    double largest = 0;
    for (index_type e = begin; e < end; ++e)
      if (columns_of_matrix[e] != i) largest = fmax(largest, fabs(static_cast<double>(values[e])));
    for (index_type e = begin; e < end; ++e) {
      const double weight = largest > 0 ? fabs(static_cast<double>(values[e])) / largest : 1;
      columns[e] = columns_of_matrix[e];
      weights[e] = columns[e] != i && weight <= 1 ? static_cast<float>(weight) : 0;
    }
    offsets[i + 1] = static_cast<std::int64_t>(end);
  }
};

/// Waits.
template <class Offset, class T>
matrix_graph graph_of_matrix(const solve_request<T>& matrix) {
  const buffer<std::int64_t> offsets(matrix.where, matrix.rows + 1);
  const buffer<std::int32_t> columns(matrix.where, matrix.nonzeros);
  const buffer<float> weights(matrix.where, matrix.nonzeros);
  program_recorder record(matrix.where);
  record.step("the edges of a graph", matrix.rows,
              put_edges<T, Offset>{static_cast<const Offset*>(matrix.row_offsets), matrix.column_indices, matrix.values,
                                   offsets.data(), columns.data(), weights.data()});
  run_now(std::move(record).finish(), matrix.where);
  matrix_graph graph{std::vector<std::int64_t>(static_cast<std::size_t>(matrix.rows) + 1),
                     std::vector<std::int32_t>(static_cast<std::size_t>(matrix.nonzeros)),
                     std::vector<float>(static_cast<std::size_t>(matrix.nonzeros))};
  offsets.download(graph.offsets.data());
  columns.download(graph.columns.data());
  weights.download(graph.weights.data());
  return graph;
}

}  // namespace whilst::schwarz
