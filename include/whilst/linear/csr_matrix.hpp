#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// A borrowed array of row offsets or column indices, of any integer type from short to unsigned long long. A
/// std::vector, std::array or std::span of them converts implicitly.
using integer_array =
    std::variant<std::span<const int>, std::span<const unsigned>, std::span<const long>, std::span<const unsigned long>,
                 std::span<const long long>, std::span<const unsigned long long>, std::span<const short>,
                 std::span<const unsigned short>>;

/// A square or rectangular sparse matrix in compressed sparse row form: row i holds the entries
/// of column_indices and values from row_offsets[i] up to, but not including, row_offsets[i + 1]. Row offsets have 32
/// or 64 bits, column indices 32.
///
/// A matrix given on the host is copied once and then shared, so copies of a csr_matrix are cheap. A borrowed one
/// (borrow, on_device) is not copied, and its arrays must outlive every solver made from it. Column indices within a
/// row need not be sorted. Values may be anything, including NaN: the outcome is the solve's reason, not an exception.
///
/// Arrays of half a million entries and more are checked and copied on several threads, as many as OpenMP's settings
/// say (OMP_NUM_THREADS). Errors name the same entry with any number of them.
template <class T>
class csr_matrix {
 public:
  // A copy shares the arrays, so a move is a copy, and no matrix is ever in a moved-from state.
  csr_matrix(const csr_matrix&) = default;
  csr_matrix& operator=(const csr_matrix&) = default;
  ~csr_matrix() = default;

  /// Copies a matrix from host memory. row_offsets: rows + 1 entries, starting at 0, never decreasing; column_indices
  /// and values: row_offsets[rows] entries each. Throws whilst::error naming the first entry that violates this.
  ///
  /// Row offsets of std::int32_t and std::int64_t keep their width; other types become 32 bits, which solves read
  /// fastest, if these can count the entries, else 64.
  csr_matrix(index_type rows, index_type columns, const integer_array& row_offsets, const integer_array& column_indices,
             std::span<const T> values);

  /// Takes ownership of existing arrays without a copy. Same checks.
  static csr_matrix adopt(index_type rows, index_type columns, std::vector<std::int32_t> row_offsets,
                          std::vector<std::int32_t> column_indices, std::vector<T> values);
  static csr_matrix adopt(index_type rows, index_type columns, std::vector<std::int64_t> row_offsets,
                          std::vector<std::int32_t> column_indices, std::vector<T> values);

  /// Borrows a matrix in host memory, without a copy. Same checks, now; the arrays must outlive this matrix, its copies
  /// and every solver made from them, and offsets and column indices must not change meanwhile. Under executor "host" a
  /// solver reads the arrays in place, so the next solve sees values that you write in between. On a GPU it has a copy:
  /// pass new values with linear_solver::update_values. whilst::solve and program_cache copy the matrix at each call,
  /// since what they keep outlives it. Offsets and indices of other types cannot be borrowed: the constructor converts
  /// them.
  static csr_matrix borrow(index_type rows, index_type columns, std::span<const std::int32_t> row_offsets,
                           std::span<const std::int32_t> column_indices, std::span<const T> values);
  static csr_matrix borrow(index_type rows, index_type columns, std::span<const std::int64_t> row_offsets,
                           std::span<const std::int32_t> column_indices, std::span<const T> values);

  /// Borrows a matrix in device memory. The entries are not checked (that would cost a transfer) and must outlive every
  /// solver made from this matrix. Making one throws whilst::error if its GPU cannot use the arrays' memory. The
  /// pattern must be there when a solver is made with format "auto", which may look at it; with a format by name, when
  /// a solve runs.
  static csr_matrix on_device(index_type rows, index_type columns, index_type nonzeros, const std::int32_t* row_offsets,
                              const std::int32_t* column_indices, const T* values);
  static csr_matrix on_device(index_type rows, index_type columns, index_type nonzeros, const std::int64_t* row_offsets,
                              const std::int32_t* column_indices, const T* values);

  /// True if both have their entries at the same positions in the same order: compared entry by entry, unless both
  /// share their arrays. A matrix in device memory has the pattern of another only if both borrow the same arrays.
  bool has_pattern_of(const csr_matrix& other) const;

  index_type rows() const { return rows_; }
  index_type columns() const { return columns_; }
  index_type nonzeros() const { return nonzeros_; }
  bool is_on_device() const { return host_ == nullptr; }
  bool has_64bit_offsets() const { return offsets_64_; }
  /// True if the arrays are the caller's, in host memory or on a device.
  bool is_borrowed() const;
  /// This matrix or, if it borrows host memory, a copy with its own arrays.
  csr_matrix owned() const;

  /// Host matrices only; throw for a matrix on a device, and if the offsets have the other width.
  std::span<const std::int32_t> row_offsets_32() const;
  std::span<const std::int64_t> row_offsets_64() const;
  std::span<const std::int32_t> column_indices() const;
  std::span<const T> values() const;
  /// Row offset i, at either width. Host matrices only.
  index_type row_offset(index_type i) const;

  /// The pointers as given, to host or device memory.
  const void* row_offsets_data() const { return row_offsets_; }
  const std::int32_t* column_indices_data() const { return column_indices_; }
  const T* values_data() const { return values_; }

 private:
  struct host_arrays;
  csr_matrix() = default;
  csr_matrix(index_type rows, index_type columns, std::shared_ptr<const host_arrays> arrays);
  template <class Offset>
  static csr_matrix borrow_host(index_type rows, index_type columns, std::span<const Offset> row_offsets,
                                std::span<const std::int32_t> column_indices, std::span<const T> values);
  template <class Offset>
  static csr_matrix borrow_device(index_type rows, index_type columns, index_type nonzeros, const Offset* row_offsets,
                                  const std::int32_t* column_indices, const T* values);

  index_type rows_ = 0, columns_ = 0, nonzeros_ = 0;
  bool offsets_64_ = false;
  const void* row_offsets_ = nullptr;
  const std::int32_t* column_indices_ = nullptr;
  const T* values_ = nullptr;
  std::shared_ptr<const host_arrays> host_;
};

template <class T>
csr_matrix(index_type, index_type, const integer_array&, const integer_array&, const std::vector<T>&) -> csr_matrix<T>;

extern template class csr_matrix<float>;
extern template class csr_matrix<double>;

}  // namespace whilst
