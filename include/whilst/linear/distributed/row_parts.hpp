#pragma once

#include <cstdint>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

/// @file
/// Which rank is to have which rows, so that ranks read few entries of one another: for
/// distributed_csr_matrix::from_rank_0.

namespace whilst {

/// The graph of a square matrix's rows, as partitioners take it: i and j are neighbours where A has an entry (i, j) or
/// (j, i), a zero that is stored too. That is the pattern of A + A' without the diagonal.
struct row_graph {
  std::vector<std::int64_t> offsets{0};  ///< one more than rows
  std::vector<std::int32_t> neighbours;  ///< of row i from offsets[i] to below offsets[i + 1]: ascending, each once
  std::vector<std::int64_t> work;        ///< of each row in an iteration: its nonzeros, and one for entries of vectors
};

/// Of a matrix in host memory. Throws whilst::error if it is not square, or on a device.
template <class T>
row_graph graph_of_rows(const csr_matrix<T>& A);

/// The rank of each row, from 0 to ranks - 1, by cutting the reverse Cuthill-McKee order into pieces of equal work: the
/// ranks are layers one behind the other, so that each reads entries of two others where layers are thick enough. For
/// any square matrix in host memory, by the pattern of A + A'; needs no other library. Finds the band of a matrix whose
/// rows came in any order; but layers become thin with many ranks, where pieces by parts_by_metis have shorter borders.
/// Throws whilst::error where graph_of_rows does, and if `ranks` is below 1.
template <class T>
std::vector<int> parts_by_rcm(const csr_matrix<T>& A, int ranks);

extern template row_graph graph_of_rows(const csr_matrix<float>&);
extern template row_graph graph_of_rows(const csr_matrix<double>&);
extern template std::vector<int> parts_by_rcm(const csr_matrix<float>&, int);
extern template std::vector<int> parts_by_rcm(const csr_matrix<double>&, int);

}  // namespace whilst
