#include <algorithm>
#include <limits>

#include "solvers/c/handles.hpp"
#include "solvers/c/objects.hpp"
#include "whilst/files/matrix_market.hpp"
#include "whilst/problems/gallery.hpp"

namespace whilst::c {
namespace {

std::size_t length_of(index_type count, const char* name) {
  if (count < 0 || count == std::numeric_limits<index_type>::max())
    refuse(std::string(name) + " is " + std::to_string(count), "Pass a number that memory can hold");
  return static_cast<std::size_t>(count);
}

template <class Integer>
std::span<const Integer> integers(const void* data, std::size_t length, const char* name) {
  if (length == 0) return {};
  return {static_cast<const Integer*>(given(data, name)), length};
}

template <class T>
std::span<const T> values_given(const void* values, index_type nonzeros) {
  return integers<T>(values, length_of(nonzeros, "nonzeros"), "values");
}

/// Calls `use` with the integers as they are, or, where they count from 1, with a copy of them that counts from 0.
template <class Integer, class Use>
void use_from_zero(std::span<const Integer> given, int base, const Use& use) {
  if (base == 0) return use(given);
  std::vector<Integer> from_zero(given.begin(), given.end());
  for (Integer& one : from_zero)  // the least integer stays what it is, and wrong
    if (one > std::numeric_limits<Integer>::min()) --one;
  use(std::span<const Integer>(from_zero));
}

template <class Use>
void use_integers(const void* data, std::size_t length, int bits, int base, const char* name, const Use& use) {
  if (bits == 32)
    use_from_zero(integers<std::int32_t>(data, length, name), base, use);
  else if (bits == 64)
    use_from_zero(integers<std::int64_t>(data, length, name), base, use);
  else
    refuse(std::string(name) + " have " + std::to_string(bits) + " bits", "Pass 32 or 64");
}

void check_nonzeros(index_type counted, index_type nonzeros) {
  if (counted != nonzeros)
    refuse("row_offsets end with " + std::to_string(counted) + ", not with the number of nonzeros, " +
               std::to_string(nonzeros),
           "Pass the length of values as nonzeros, and the number of entries up to each row as row_offsets");
}

void check_shape(index_type rows, index_type columns) {
  length_of(rows, "rows");
  length_of(columns, "columns");
}

void keep(whilst_matrix** handle, matrix_content matrix) {
  make_handle(std::make_shared<matrix_content>(std::move(matrix)), handle);
}

template <class T, class Offset>
csr_matrix<T> borrowed(whilst_memory memory, index_type rows, index_type columns, index_type nonzeros,
                       const void* row_offsets, const std::int32_t* column_indices, const void* values) {
  const auto offsets = static_cast<const Offset*>(given(row_offsets, "row_offsets"));
  if (memory == WHILST_DEVICE) {
    if (nonzeros > 0) given(column_indices, "column_indices");
    return csr_matrix<T>::on_device(rows, columns, nonzeros, offsets, column_indices,
                                    values_given<T>(values, nonzeros).data());
  }
  if (memory != WHILST_HOST)
    refuse("memory is " + std::to_string(static_cast<int>(memory)), "Pass WHILST_HOST or WHILST_DEVICE");
  check_nonzeros(static_cast<index_type>(offsets[rows]), nonzeros);
  return csr_matrix<T>::borrow(
      rows, columns, {offsets, length_of(rows, "rows") + 1},
      integers<std::int32_t>(column_indices, length_of(nonzeros, "nonzeros"), "column_indices"),
      values_given<T>(values, nonzeros));
}

}  // namespace
}  // namespace whilst::c

extern "C" {

whilst_status whilst_matrix_copy(whilst_number number, int64_t rows, int64_t columns, int64_t nonzeros,
                                 const void* row_offsets, int offset_bits, const void* column_indices, int index_bits,
                                 int index_base, const void* values, whilst_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    check_shape(rows, columns);
    if (index_base != 0 && index_base != 1)
      refuse("index_base is " + std::to_string(index_base), "Pass 0, or 1 as in Fortran");
    const std::size_t entries = length_of(nonzeros, "nonzeros");
    use_integers(row_offsets, length_of(rows, "rows") + 1, offset_bits, index_base, "row_offsets", [&](auto offsets) {
      check_nonzeros(static_cast<int64_t>(offsets.back()), nonzeros);
      use_integers(column_indices, entries, index_bits, index_base, "column_indices", [&](auto indices) {
        with_number(number, [&](auto zero) {
          using T = decltype(zero);
          keep(matrix, {whilst::csr_matrix<T>(rows, columns, offsets, indices, values_given<T>(values, nonzeros))});
        });
      });
    });
  });
}

whilst_status whilst_matrix_borrow(whilst_number number, whilst_memory memory, int64_t rows, int64_t columns,
                                   int64_t nonzeros, const void* row_offsets, int offset_bits,
                                   const int32_t* column_indices, const void* values, whilst_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    check_shape(rows, columns);
    if (offset_bits != 32 && offset_bits != 64)
      refuse("row_offsets have " + std::to_string(offset_bits) + " bits", "Pass 32 or 64");
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      const auto make = offset_bits == 32 ? borrowed<T, std::int32_t> : borrowed<T, std::int64_t>;
      keep(matrix, {make(memory, rows, columns, nonzeros, row_offsets, column_indices, values)});
    });
  });
}

whilst_status whilst_matrix_read(whilst_number number, const char* path, whilst_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    given(path, "path");
    with_number(number, [&](auto zero) { keep(matrix, {whilst::read_matrix<decltype(zero)>(path)}); });
  });
}

whilst_status whilst_matrix_gallery(whilst_number number, const char* name, whilst_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    given(name, "name");
    with_number(number, [&](auto zero) { keep(matrix, {whilst::make_gallery<decltype(zero)>(name).matrix}); });
  });
}

whilst_status whilst_matrix_size(const whilst_matrix* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    const auto found = content_of<matrix_content>(matrix, "matrix");
    std::visit(
        [&](const auto& A) {
          if (rows) *rows = A.rows();
          if (columns) *columns = A.columns();
          if (nonzeros) *nonzeros = A.nonzeros();
        },
        found->matrix);
  });
}

whilst_status whilst_matrix_destroy(whilst_matrix** matrix) {
  return whilst::c::destroy<whilst::c::matrix_content>(__func__, matrix, "matrix");
}
}
