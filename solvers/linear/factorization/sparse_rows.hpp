#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

/// What preconditioners "ilu" and "ic" do on the host: always in double, with 32-bit indices.
namespace whilst::factorization {

using indices = std::vector<std::int32_t>;

/// A square sparse matrix. Columns ascend within a row, and none is there twice.
struct sparse_rows {
  std::vector<std::int64_t> offsets{0};
  indices columns;
  std::vector<double> values;

  index_type rows() const { return static_cast<index_type>(offsets.size()) - 1; }
  index_type nonzeros() const { return static_cast<index_type>(columns.size()); }
  std::size_t begin(index_type i) const { return static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]); }
  std::size_t end(index_type i) const { return begin(i + 1); }

  void append(std::int32_t column, double value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row() { offsets.push_back(static_cast<std::int64_t>(columns.size())); }
};

/// The matrix with this pattern and these values in host memory. Entries at one position are added up. Zeros are left
/// out, and so is what is not finite: a solve tells of that, not its preconditioner.
template <class T>
sparse_rows sparse_rows_of(const csr_matrix<T>& pattern, const T* values);

sparse_rows transposed(const sparse_rows& A);
/// (A + A') / 2, with the pattern of A + A' even where a sum is 0.
sparse_rows symmetric_part(const sparse_rows& A);

/// Logarithms of the factors of rows and columns: entry (i, j) is multiplied by e^(row[i] + column[j]).
struct log_scales {
  std::vector<double> row, column;
};
/// Scales each row, then each column, to have 1 as its largest entry.
log_scales equilibrating(const sparse_rows& A);

/// The matrix whose entry (k, l) is A(rows[k], columns[l]), scaled. Both are permutations.
sparse_rows permuted(const sparse_rows& A, const log_scales& scales, const indices& rows, const indices& columns);
/// 0, 1, 2, ...
indices in_turn(index_type n);
indices inverse_of(const indices& permutation);
/// The permutation whose entry k is first[then[k]].
indices composed(const indices& first, const indices& then);

}  // namespace whilst::factorization
