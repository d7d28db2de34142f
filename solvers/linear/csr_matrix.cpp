#include "whilst/linear/csr_matrix.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "solvers/linear/host_array.hpp"
#include "whilst/linear/operators.hpp"

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

std::size_t size_of(const integer_array& array) {
  return std::visit([](const auto& entries) { return entries.size(); }, array);
}

/// "column_indices has 3 entries", and how many it should have.
void check_size(index_type rows, index_type columns, const char* what, std::size_t given, index_type nonzeros) {
  if (std::cmp_equal(given, nonzeros)) return;
  refuse(rows, columns, std::string(what) + " has " + std::to_string(given) + " entries",
         "Give as many as row_offsets[rows] says: " + std::to_string(nonzeros));
}

/// Checks each in its own type, before any conversion loses bits. Returns the last one, the number of nonzeros.
template <class Offset>
Offset check_offsets(index_type rows, index_type columns, std::span<const Offset> row_offsets) {
  // rows + 1 may overflow; size - 1 does not, once the array is known to be nonempty.
  if (row_offsets.empty() || std::cmp_not_equal(row_offsets.size() - 1, rows)) {
    refuse(rows, columns, "row_offsets has " + std::to_string(row_offsets.size()) + " entries", "Give rows + 1");
  }
  if (row_offsets[0] != 0) {
    refuse(rows, columns, "row_offsets[0] is " + std::to_string(row_offsets[0]), "Start the offsets with 0");
  }
  const std::size_t after =
      detail::first_index(row_offsets.size() - 1, [&](std::size_t i) { return row_offsets[i + 1] < row_offsets[i]; });
  if (const std::size_t i = after + 1; i < row_offsets.size()) {
    refuse(rows, columns,
           "row_offsets[" + std::to_string(i) + "] is " + std::to_string(row_offsets[i]) + ", less than " +
               std::to_string(row_offsets[i - 1]) + " before it",
           "Give offsets that never fall");
  }
  if (!std::in_range<index_type>(row_offsets.back())) {
    refuse(rows, columns, "row_offsets[rows] is " + std::to_string(row_offsets.back()),
           "Give at most 9223372036854775807 nonzeros");
  }
  return row_offsets.back();
}

template <class Column>
void check_columns(index_type rows, index_type columns, std::span<const Column> column_indices) {
  // In the column's own type, where comparing takes least.
  constexpr Column largest = std::numeric_limits<Column>::max();
  const Column last = std::cmp_less(largest, columns - 1) ? largest : static_cast<Column>(columns - 1);
  const std::size_t k =
      columns == 0 ? 0 : detail::first_index(column_indices.size(), [last, given = column_indices.data()](auto at) {
        return std::cmp_less(given[at], 0) | (given[at] > last);
      });
  if (k < column_indices.size()) {
    refuse(rows, columns, "column_indices[" + std::to_string(k) + "] is " + std::to_string(column_indices[k]),
           columns > 0 ? "Count columns from 0 to " + std::to_string(columns - 1)
                       : "Give no entries to a matrix without columns");
  }
}

void check_arrays(index_type rows, index_type columns, const integer_array& row_offsets,
                  const integer_array& column_indices, std::size_t values) {
  check_shape(rows, columns);
  const auto nonzeros = std::visit(
      [&](const auto& entries) { return static_cast<index_type>(check_offsets(rows, columns, entries)); }, row_offsets);
  check_size(rows, columns, "column_indices", size_of(column_indices), nonzeros);
  check_size(rows, columns, "values", values, nonzeros);
  std::visit([&](const auto& entries) { check_columns(rows, columns, entries); }, column_indices);
}

/// Of an array that has been checked.
template <class Integer>
detail::host_array<Integer> converted(const integer_array& array) {
  return std::visit([](const auto& entries) { return detail::host_array<Integer>(entries); }, array);
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

/// Arrays in host memory, and what keeps them unless they are borrowed.
template <class T>
struct csr_matrix<T>::host_arrays {
  std::variant<std::span<const std::int32_t>, std::span<const std::int64_t>> row_offsets;
  std::span<const std::int32_t> column_indices;
  std::span<const T> values;
  std::shared_ptr<const void> kept;  ///< null if borrowed

  template <class Offset>
  host_arrays(std::span<const Offset> offsets, std::span<const std::int32_t> columns, std::span<const T> given,
              std::shared_ptr<const void> keep = nullptr)
      : row_offsets(offsets), column_indices(columns), values(given), kept(std::move(keep)) {}

  template <class Offset>
  static std::shared_ptr<const host_arrays> adopted(std::vector<Offset> row_offsets,
                                                    std::vector<std::int32_t> column_indices, std::vector<T> values) {
    struct storage {
      std::vector<Offset> row_offsets;
      std::vector<std::int32_t> column_indices;
      std::vector<T> values;
    };
    const auto made =
        std::make_shared<const storage>(storage{std::move(row_offsets), std::move(column_indices), std::move(values)});
    return std::make_shared<const host_arrays>(std::span(made->row_offsets), std::span(made->column_indices),
                                               std::span(made->values), made);
  }

  /// Of arrays that have been checked.
  template <class Offset>
  static std::shared_ptr<const host_arrays> copied_as(const integer_array& row_offsets,
                                                      const integer_array& column_indices, std::span<const T> values) {
    struct storage {
      detail::host_array<Offset> row_offsets;
      detail::host_array<std::int32_t> column_indices;
      detail::host_array<T> values;
    };
    const auto made = std::make_shared<const storage>(storage{
        converted<Offset>(row_offsets), converted<std::int32_t>(column_indices), detail::host_array<T>(values)});
    return std::make_shared<const host_arrays>(made->row_offsets.entries(), made->column_indices.entries(),
                                               made->values.entries(), made);
  }
  static std::shared_ptr<const host_arrays> copied(index_type rows, index_type columns,
                                                   const integer_array& row_offsets,
                                                   const integer_array& column_indices, std::span<const T> values) {
    check_arrays(rows, columns, row_offsets, column_indices, values.size());
    const bool is_32 = std::holds_alternative<std::span<const std::int32_t>>(row_offsets),
               is_64 = std::holds_alternative<std::span<const std::int64_t>>(row_offsets);
    return is_32 || (!is_64 && offsets_suffice_32(static_cast<index_type>(values.size())))
               ? copied_as<std::int32_t>(row_offsets, column_indices, values)
               : copied_as<std::int64_t>(row_offsets, column_indices, values);
  }
  host_arrays(const host_arrays&) = delete;
  host_arrays& operator=(const host_arrays&) = delete;

  integer_array offsets_of_any_type() const {
    return std::visit([](const auto& offsets) { return integer_array(offsets); }, row_offsets);
  }
};

/// Of arrays that have been checked.
template <class T>
csr_matrix<T>::csr_matrix(index_type rows, index_type columns, std::shared_ptr<const host_arrays> arrays)
    : rows_(rows),
      columns_(columns),
      nonzeros_(static_cast<index_type>(arrays->values.size())),
      offsets_64_(std::holds_alternative<std::span<const std::int64_t>>(arrays->row_offsets)),
      column_indices_(arrays->column_indices.data()),
      values_(arrays->values.data()),
      host_(std::move(arrays)) {
  std::visit([&](const auto& offsets) { row_offsets_ = offsets.data(); }, host_->row_offsets);
}

template <class T>
csr_matrix<T>::csr_matrix(index_type rows, index_type columns, const integer_array& row_offsets,
                          const integer_array& column_indices, std::span<const T> values)
    : csr_matrix(rows, columns, host_arrays::copied(rows, columns, row_offsets, column_indices, values)) {}

template <class T>
csr_matrix<T> csr_matrix<T>::adopt(index_type rows, index_type columns, std::vector<std::int32_t> row_offsets,
                                   std::vector<std::int32_t> column_indices, std::vector<T> values) {
  check_arrays(rows, columns, row_offsets, column_indices, values.size());
  return csr_matrix(rows, columns,
                    host_arrays::adopted(std::move(row_offsets), std::move(column_indices), std::move(values)));
}

template <class T>
csr_matrix<T> csr_matrix<T>::adopt(index_type rows, index_type columns, std::vector<std::int64_t> row_offsets,
                                   std::vector<std::int32_t> column_indices, std::vector<T> values) {
  check_arrays(rows, columns, row_offsets, column_indices, values.size());
  return csr_matrix(rows, columns,
                    host_arrays::adopted(std::move(row_offsets), std::move(column_indices), std::move(values)));
}

template <class T>
template <class Offset>
csr_matrix<T> csr_matrix<T>::borrow_host(index_type rows, index_type columns, std::span<const Offset> row_offsets,
                                         std::span<const std::int32_t> column_indices, std::span<const T> values) {
  check_arrays(rows, columns, row_offsets, column_indices, values.size());
  return csr_matrix(rows, columns, std::make_shared<const host_arrays>(row_offsets, column_indices, values));
}

template <class T>
csr_matrix<T> csr_matrix<T>::borrow(index_type rows, index_type columns, std::span<const std::int32_t> row_offsets,
                                    std::span<const std::int32_t> column_indices, std::span<const T> values) {
  return borrow_host(rows, columns, row_offsets, column_indices, values);
}

template <class T>
csr_matrix<T> csr_matrix<T>::borrow(index_type rows, index_type columns, std::span<const std::int64_t> row_offsets,
                                    std::span<const std::int32_t> column_indices, std::span<const T> values) {
  return borrow_host(rows, columns, row_offsets, column_indices, values);
}

template <class T>
template <class Offset>
csr_matrix<T> csr_matrix<T>::borrow_device(index_type rows, index_type columns, index_type nonzeros,
                                           const Offset* row_offsets, const std::int32_t* column_indices,
                                           const T* values) {
  check_pointers(rows, columns, nonzeros, row_offsets, column_indices, values);
  csr_matrix matrix;
  matrix.rows_ = rows;
  matrix.columns_ = columns;
  matrix.nonzeros_ = nonzeros;
  matrix.offsets_64_ = sizeof(Offset) == sizeof(std::int64_t);
  matrix.row_offsets_ = row_offsets;
  matrix.column_indices_ = column_indices;
  matrix.values_ = values;
  return matrix;
}

template <class T>
csr_matrix<T> csr_matrix<T>::on_device(index_type rows, index_type columns, index_type nonzeros,
                                       const std::int32_t* row_offsets, const std::int32_t* column_indices,
                                       const T* values) {
  return borrow_device(rows, columns, nonzeros, row_offsets, column_indices, values);
}

template <class T>
csr_matrix<T> csr_matrix<T>::on_device(index_type rows, index_type columns, index_type nonzeros,
                                       const std::int64_t* row_offsets, const std::int32_t* column_indices,
                                       const T* values) {
  return borrow_device(rows, columns, nonzeros, row_offsets, column_indices, values);
}

template <class T>
bool csr_matrix<T>::is_borrowed() const {
  return !host_ || !host_->kept;
}

template <class T>
csr_matrix<T> csr_matrix<T>::owned() const {
  if (is_on_device() || !is_borrowed()) return *this;
  return {rows_, columns_, host_->offsets_of_any_type(), host_->column_indices, host_->values};
}

template <class T>
std::span<const std::int32_t> csr_matrix<T>::row_offsets_32() const {
  require_host(is_on_device(), "row offsets");
  if (offsets_64_) {
    throw error("reading the 32-bit row offsets of a CSR matrix", "they have 64 bits", "Ask for row_offsets_64()");
  }
  return std::get<std::span<const std::int32_t>>(host_->row_offsets);
}

template <class T>
std::span<const std::int64_t> csr_matrix<T>::row_offsets_64() const {
  require_host(is_on_device(), "row offsets");
  if (!offsets_64_) {
    throw error("reading the 64-bit row offsets of a CSR matrix", "they have 32 bits", "Ask for row_offsets_32()");
  }
  return std::get<std::span<const std::int64_t>>(host_->row_offsets);
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
  if (is_on_device()) return false;
  const auto same = [](const auto& one, const auto& another) { return std::ranges::equal(one, another); };
  return (offsets_64_ ? same(row_offsets_64(), other.row_offsets_64())
                      : same(row_offsets_32(), other.row_offsets_32())) &&
         same(column_indices(), other.column_indices());
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
