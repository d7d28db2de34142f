#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "whilst/group/group.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/linear/distributed/row_partition.hpp"
#include "whilst/linear/distributed/row_split.hpp"

namespace whilst {

/// A sparse matrix whose rows lie on the ranks of a group, in host memory: rank 0 has the first ones, rank 1 those
/// after them, and so on; a rank may have none. Vectors are split as the rows are. It is square, or, for least squares,
/// of any shape: then vectors that it multiplies are split as said for its columns.
///
/// Each rank keeps its rows as a local matrix: own columns are numbered from 0, the columns of other ranks, *ghosts*,
/// after them in the order of their global numbers. The entries of a row stay in the order given, so that a product
/// adds up as in one matrix on one rank, to the same bits.
///
/// What says "collective" is called by all ranks; errors of one throw on all, see group. Each keeps a copy of its
/// group.
template <class T>
class distributed_csr_matrix {
 public:
  /// Copies this rank's rows, which begin with the global row `first_row` (any number on a rank without rows).
  /// row_offsets starts at 0 and has one entry more than this rank has rows; column_indices are global. Collective.
  /// Throws whilst::error where rows overlap or are left out, and naming the first entry that is not a column. The
  /// rows of a rank and their ghosts together number at most 2^31.
  distributed_csr_matrix(const group& ranks, index_type first_row, const integer_array& row_offsets,
                         const integer_array& column_indices, std::span<const T> values);

  /// The same of any shape. columns: who has which entries of vectors that it multiplies, all ranks' the same.
  distributed_csr_matrix(const group& ranks, index_type first_row, const row_partition& columns,
                         const integer_array& row_offsets, const integer_array& column_indices,
                         std::span<const T> values);

  /// Splits a square matrix that rank 0 has; other ranks give null. Rank q's rows begin where q / size of all nonzeros
  /// and rows have passed. Each piece travels to all ranks, one piece at a time. Collective.
  static distributed_csr_matrix from_rank_0(const group& ranks, const csr_matrix<T>* matrix);

  /// The same by given parts: rank_of_row says which rank is to have each row of the matrix, as parts_by_rcm or
  /// parts_by_metis returns it; a rank may get none. Other ranks give none. Rank q's rows keep their order, and so do
  /// the entries of a row, but rows and columns get new numbers alike: first those of rank 0, then those of rank 1, and
  /// so on. split() knows the old ones. Collective. Throws whilst::error unless there is a rank of the group for each
  /// row.
  static distributed_csr_matrix from_rank_0(const group& ranks, const csr_matrix<T>* matrix,
                                            std::span<const int> rank_of_row);

  /// Takes new values, of the same pattern in the same order, else throws and keeps the old ones on all ranks.
  /// Collective. Solvers that read the local matrix in place see them.
  void update_values(const integer_array& row_offsets, const integer_array& column_indices, std::span<const T> values);

  /// The same without the pattern: this rank's values, in the order in which they came to it. Collective.
  void update_values(std::span<const T> values);

  const group& ranks() const { return ranks_; }
  const row_partition& partition() const { return partition_; }
  /// Where its rows come from: the way of vectors from and to the order of rank 0's matrix. Without given parts they
  /// keep the order of their numbers.
  const row_split& split() const { return split_; }
  /// Of the vectors that it multiplies; that of the rows unless another one was given.
  const row_partition& columns() const { return columns_; }
  /// Whether rows and columns are as many and split alike.
  bool is_square() const { return partition_ == columns_; }
  const halo_plan& halo() const { return halo_; }
  /// This rank's rows by halo().with_ghosts() columns. Borrowed from this object: use it no longer than that lives, and
  /// not after it was moved or assigned to.
  csr_matrix<T> local() const;
  /// Local numbers of rows that read no ghost, and of those that read one; ascending.
  std::span<const std::int32_t> interior_rows() const { return interior_rows_; }
  std::span<const std::int32_t> boundary_rows() const { return boundary_rows_; }

  /// The own entries of A x from those of x, on the host. Collective. A reference, not for speed.
  std::vector<T> multiply(std::span<const T> x) const;

 private:
  distributed_csr_matrix(const group& ranks, index_type first_row, const row_partition* columns,
                         const integer_array& row_offsets, const integer_array& column_indices,
                         std::span<const T> values);
  index_type rows() const { return partition_.rows_of(ranks_.rank()); }
  index_type row_offset(index_type i) const;
  index_type global_column(index_type local) const;
  void take_columns(const integer_array& column_indices);

  group ranks_;
  row_partition partition_, columns_;
  row_split split_;
  halo_plan halo_;
  std::vector<std::int32_t> row_offsets_32_;  // if these can count the entries
  std::vector<std::int64_t> row_offsets_64_;  // else
  std::vector<std::int32_t> column_indices_, interior_rows_, boundary_rows_;
  std::vector<T> values_;
};

extern template class distributed_csr_matrix<float>;
extern template class distributed_csr_matrix<double>;

}  // namespace whilst
