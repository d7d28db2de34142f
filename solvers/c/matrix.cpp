#include "solvers/c/given_arrays.hpp"
#include "solvers/c/objects.hpp"
#include "whilst/files/matrix_market.hpp"
#include "whilst/problems/gallery.hpp"

namespace whilst::c {
namespace {

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
    check_base(index_base);
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
