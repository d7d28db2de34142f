#include "whilst/csr_matrix.hpp"

#include <limits>
#include <string>
#include <utility>

namespace whilst {

namespace {

std::string shape(index_type rows, index_type columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

[[noreturn]] void refuse(index_type rows, index_type columns, const std::string& problem, const std::string& cure) {
  throw error("making a CSR matrix of " + shape(rows, columns), problem, cure);
}

void check_shape(index_type rows, index_type columns) {
  if (rows < 0 || columns < 0) refuse(rows, columns, "a size is negative", "Give sizes of at least 0");
  if (columns > index_type{std::numeric_limits<std::int32_t>::max()} + 1) {
    refuse(rows, columns, "column indices have 32 bits", "Give at most 2147483648 columns");
  }
}

template <class Offset>
void check_arrays(index_type rows, index_type columns, std::span<const Offset> row_offsets,
                  std::span<const std::int32_t> column_indices, std::size_t values) {
  // rows + 1 may overflow, the size less one does not once the array is known to hold something.
  if (row_offsets.empty() || std::cmp_not_equal(row_offsets.size() - 1, rows)) {
    refuse(rows, columns, "row_offsets has " + std::to_string(row_offsets.size()) + " entries", "Give rows + 1");
  }
  if (row_offsets[0] != 0) {
    refuse(rows, columns, "row_offsets[0] is " + std::to_string(row_offsets[0]), "Start the offsets with 0");
  }
  for (std::size_t i = 1; i < row_offsets.size(); ++i) {
    if (row_offsets[i] < row_offsets[i - 1]) {
      refuse(rows, columns,
             "row_offsets[" + std::to_string(i) + "] is " + std::to_string(row_offsets[i]) + ", less than " +
                 std::to_string(row_offsets[i - 1]) + " before it",
             "Give offsets that never fall");
    }
  }
  const std::string nonzeros = std::to_string(row_offsets.back());
  if (std::cmp_not_equal(column_indices.size(), row_offsets.back())) {
    refuse(rows, columns, "column_indices has " + std::to_string(column_indices.size()) + " entries",
           "Give as many as row_offsets[rows] says: " + nonzeros);
  }
  if (std::cmp_not_equal(values, row_offsets.back())) {
    refuse(rows, columns, "values has " + std::to_string(values) + " entries",
           "Give as many as row_offsets[rows] says: " + nonzeros);
  }
  for (std::size_t k = 0; k < column_indices.size(); ++k) {
    if (column_indices[k] < 0 || column_indices[k] >= columns) {
      refuse(rows, columns, "column_indices[" + std::to_string(k) + "] is " + std::to_string(column_indices[k]),
             "Count columns from 0 to " + std::to_string(columns - 1));
    }
  }
}

void check_pointers(index_type rows, index_type columns, index_type nonzeros, const void* row_offsets,
                    const void* column_indices, const void* values) {
  check_shape(rows, columns);
  if (nonzeros < 0) refuse(rows, columns, "the number of nonzeros is negative", "Give at least 0");
  if (row_offsets == nullptr) refuse(rows, columns, "row_offsets is null", "Give a device pointer to rows + 1 offsets");
  if (nonzeros > 0 && (column_indices == nullptr || values == nullptr)) {
    refuse(rows, columns, column_indices == nullptr ? "column_indices is null" : "values is null",
           "Give a device pointer to " + std::to_string(nonzeros) + " entries");
  }
}

void require_host(bool is_on_device, const char* what) {
  if (is_on_device) {
    throw error(std::string("reading the ") + what + " of a CSR matrix", "the matrix is in device memory",
                "Copy the array to the host first");
  }
}

}  // namespace

template <class T>
struct csr_matrix<T>::host_arrays {
  std::variant<std::vector<std::int32_t>, std::vector<std::int64_t>> row_offsets;
  std::vector<std::int32_t> column_indices;
  std::vector<T> values;
};

template <class T>
csr_matrix<T> csr_matrix<T>::from_host(index_type rows, index_type columns, std::shared_ptr<const host_arrays> arrays) {
  check_shape(rows, columns);
  csr_matrix matrix;
  std::visit(
      [&](const auto& row_offsets) {
        check_arrays(rows, columns, std::span(row_offsets), std::span(arrays->column_indices), arrays->values.size());
        matrix.row_offsets_ = row_offsets.data();
        matrix.offsets_64_ = sizeof(row_offsets[0]) == sizeof(std::int64_t);
      },
      arrays->row_offsets);
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.nonzeros_ = static_cast<index_type>(arrays->values.size());
  matrix.column_indices_ = arrays->column_indices.data();
  matrix.values_ = arrays->values.data();
  matrix.host_ = std::move(arrays);
  return matrix;
}

template <class T>
csr_matrix<T>::csr_matrix(index_type rows, index_type columns, std::span<const std::int32_t> row_offsets,
                          std::span<const std::int32_t> column_indices, std::span<const T> values)
    : csr_matrix(adopt(rows, columns, std::vector(row_offsets.begin(), row_offsets.end()),
                       std::vector(column_indices.begin(), column_indices.end()),
                       std::vector<T>(values.begin(), values.end()))) {}

template <class T>
csr_matrix<T>::csr_matrix(index_type rows, index_type columns, std::span<const std::int64_t> row_offsets,
                          std::span<const std::int32_t> column_indices, std::span<const T> values)
    : csr_matrix(adopt(rows, columns, std::vector(row_offsets.begin(), row_offsets.end()),
                       std::vector(column_indices.begin(), column_indices.end()),
                       std::vector<T>(values.begin(), values.end()))) {}

template <class T>
csr_matrix<T> csr_matrix<T>::adopt(index_type rows, index_type columns, std::vector<std::int32_t> row_offsets,
                                   std::vector<std::int32_t> column_indices, std::vector<T> values) {
  return from_host(rows, columns,
                   std::make_shared<const host_arrays>(
                       host_arrays{std::move(row_offsets), std::move(column_indices), std::move(values)}));
}

template <class T>
csr_matrix<T> csr_matrix<T>::adopt(index_type rows, index_type columns, std::vector<std::int64_t> row_offsets,
                                   std::vector<std::int32_t> column_indices, std::vector<T> values) {
  return from_host(rows, columns,
                   std::make_shared<const host_arrays>(
                       host_arrays{std::move(row_offsets), std::move(column_indices), std::move(values)}));
}

template <class T>
csr_matrix<T> csr_matrix<T>::on_device(index_type rows, index_type columns, index_type nonzeros,
                                       const std::int32_t* row_offsets, const std::int32_t* column_indices,
                                       const T* values) {
  check_pointers(rows, columns, nonzeros, row_offsets, column_indices, values);
  csr_matrix matrix;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.nonzeros_ = nonzeros;
  matrix.row_offsets_ = row_offsets;
  matrix.column_indices_ = column_indices;
  matrix.values_ = values;
  return matrix;
}

template <class T>
csr_matrix<T> csr_matrix<T>::on_device(index_type rows, index_type columns, index_type nonzeros,
                                       const std::int64_t* row_offsets, const std::int32_t* column_indices,
                                       const T* values) {
  check_pointers(rows, columns, nonzeros, row_offsets, column_indices, values);
  csr_matrix matrix;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.nonzeros_ = nonzeros;
  matrix.offsets_64_ = true;
  matrix.row_offsets_ = row_offsets;
  matrix.column_indices_ = column_indices;
  matrix.values_ = values;
  return matrix;
}

template <class T>
std::span<const std::int32_t> csr_matrix<T>::row_offsets_32() const {
  require_host(is_on_device(), "row offsets");
  if (offsets_64_) {
    throw error("reading the 32-bit row offsets of a CSR matrix", "they have 64 bits", "Ask for row_offsets_64()");
  }
  return std::get<std::vector<std::int32_t>>(host_->row_offsets);
}

template <class T>
std::span<const std::int64_t> csr_matrix<T>::row_offsets_64() const {
  require_host(is_on_device(), "row offsets");
  if (!offsets_64_) {
    throw error("reading the 64-bit row offsets of a CSR matrix", "they have 32 bits", "Ask for row_offsets_32()");
  }
  return std::get<std::vector<std::int64_t>>(host_->row_offsets);
}

template <class T>
std::span<const std::int32_t> csr_matrix<T>::column_indices() const {
  require_host(is_on_device(), "column indices");
  return host_->column_indices;
}

template <class T>
std::span<const T> csr_matrix<T>::values() const {
  require_host(is_on_device(), "values");
  return host_->values;
}

template <class T>
bool csr_matrix<T>::has_pattern_of(const csr_matrix& other) const {
  if (rows_ != other.rows_ || columns_ != other.columns_ || nonzeros_ != other.nonzeros_ ||
      offsets_64_ != other.offsets_64_ || is_on_device() != other.is_on_device())
    return false;
  if (row_offsets_ == other.row_offsets_ && column_indices_ == other.column_indices_) return true;
  return host_ && host_->row_offsets == other.host_->row_offsets &&
         host_->column_indices == other.host_->column_indices;
}

template <class T>
index_type csr_matrix<T>::row_offset(index_type i) const {
  require_host(is_on_device(), "row offsets");
  if (i < 0 || i > rows_) {
    throw error("reading a row offset of a CSR matrix of " + shape(rows_, columns_),
                "there is no row offset " + std::to_string(i), "Count from 0 to rows");
  }
  return offsets_64_ ? static_cast<const std::int64_t*>(row_offsets_)[i]
                     : static_cast<const std::int32_t*>(row_offsets_)[i];
}

template class csr_matrix<float>;
template class csr_matrix<double>;

}  // namespace whilst
