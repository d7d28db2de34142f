#include "solvers/linear/rectangular/transpose_on_place.hpp"

#include <limits>

#include "solvers/linear/automatic/choose_method.hpp"

namespace whilst {
namespace {

template <class Offset>
struct columns_of_transpose {
  std::vector<Offset> row_offsets, sources;
  std::vector<std::int32_t> column_indices;
};

/// Rows of the matrix are visited in order, so those of each column come in order.
template <class Offset, class T>
columns_of_transpose<Offset> transposed_on_host(const csr_matrix<T>& A) {
  const auto nonzeros = static_cast<std::size_t>(A.nonzeros());
  const auto columns = A.column_indices();
  columns_of_transpose<Offset> made;
  made.row_offsets.resize(static_cast<std::size_t>(A.columns()) + 1);
  made.sources.resize(nonzeros);
  made.column_indices.resize(nonzeros);
  for (const std::int32_t j : columns) made.row_offsets[static_cast<std::size_t>(j) + 1] += 1;
  for (std::size_t j = 0; j + 1 < made.row_offsets.size(); ++j) made.row_offsets[j + 1] += made.row_offsets[j];
  std::vector<Offset> next(made.row_offsets.begin(), made.row_offsets.end() - 1);
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i), end = A.row_offset(i + 1); k < end; ++k) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(columns[static_cast<std::size_t>(k)])]++);
      made.column_indices[at] = static_cast<std::int32_t>(i);
      made.sources[at] = static_cast<Offset>(k);
    }
  return made;
}

}  // namespace

template <class T>
transpose_on_place<T>::transpose_on_place(const csr_matrix<T>& A, place where, bool offsets_64) : is_made_(true) {
  if (A.rows() > index_type{std::numeric_limits<std::int32_t>::max()} + 1)
    throw error("transposing a matrix", "it has " + std::to_string(A.rows()) + " rows, and column indices have 32 bits",
                "Give at most 2147483648 rows, or use a method that needs no transpose");
  const csr_matrix<T> on_host = A.is_on_device() ? copied_to_host(A, A.values_data(), where) : A;
  if (offsets_64) {
    make<std::int64_t>(on_host, where);
  } else {
    make<std::int32_t>(on_host, where);
  }
}

template <class T>
template <class Offset>
void transpose_on_place<T>::make(const csr_matrix<T>& A, place where) {
  const columns_of_transpose<Offset> pattern = transposed_on_host<Offset>(A);
  row_offsets_ = raw_buffer(where, pattern.row_offsets.size() * sizeof(Offset), pattern.row_offsets.data());
  sources_ = raw_buffer(where, pattern.sources.size() * sizeof(Offset), pattern.sources.data());
  column_indices_ = buffer<std::int32_t>(where, A.nonzeros(), pattern.column_indices.data());
}

template <class T>
void transpose_on_place<T>::put_into(solve_request<T>& request) const {
  request.transposed = {row_offsets_.data(), column_indices_.data(), sources_.data()};
}

template <class T>
index_type transpose_on_place<T>::bytes() const {
  return static_cast<index_type>(row_offsets_.bytes() + sources_.bytes()) + column_indices_.bytes();
}

template class transpose_on_place<float>;
template class transpose_on_place<double>;

}  // namespace whilst
