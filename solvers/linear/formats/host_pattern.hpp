#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// The pattern of a CSR matrix in host memory, with offsets of either width. A view.
class host_pattern {
 public:
  template <class T>
  explicit host_pattern(const csr_matrix<T>& A)
      : rows_(A.rows()),
        columns_(A.columns()),
        offsets_32_(A.has_64bit_offsets() ? nullptr : static_cast<const std::int32_t*>(A.row_offsets_data())),
        offsets_64_(A.has_64bit_offsets() ? static_cast<const std::int64_t*>(A.row_offsets_data()) : nullptr),
        column_indices_(A.column_indices()) {}

  index_type rows() const { return rows_; }
  index_type columns() const { return columns_; }
  index_type nonzeros() const { return static_cast<index_type>(column_indices_.size()); }
  /// Where row i begins; of rows(), where the last one ends.
  index_type begin(index_type i) const { return offsets_32_ ? offsets_32_[i] : offsets_64_[i]; }
  index_type length(index_type i) const { return begin(i + 1) - begin(i); }
  std::int32_t column(index_type k) const { return column_indices_[static_cast<std::size_t>(k)]; }

 private:
  index_type rows_, columns_;
  const std::int32_t* offsets_32_;
  const std::int64_t* offsets_64_;
  std::span<const std::int32_t> column_indices_;
};

/// The column of an entry that the matrix does not have.
inline constexpr std::int32_t padding = -1;

/// Formats count their entries in 32 bits, and kernels look a few thousand beyond the last one.
inline void check_stored_entries(std::string_view format, index_type stored) {
  constexpr index_type most = 2147483647 - 65536;
  if (stored <= most) return;
  throw error("storing a matrix as " + std::string(format),
              "it would have " + std::to_string(stored) + " entries, padding included",
              "Use format csr, or balanced, which hardly pads");
}

}  // namespace whilst
