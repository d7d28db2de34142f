#pragma once

#include <type_traits>

#include "whilst/basics/views.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// Where the entries of a matrix lie in its transpose, both by rows. All arrays are on the place of the solve.
template <class Offset>
struct pattern_of_transpose {
  index_type rows = 0;  ///< of the transpose
  const Offset* row_offsets = nullptr;
  const std::int32_t* column_indices = nullptr;  ///< rising within a row
  const Offset* sources = nullptr;               ///< of each entry: its index in the matrix
};

/// A matrix of any shape with its transpose, whose values are copied from the matrix's at the start of each solve.
template <class T, class Offset>
struct csr_with_transpose : csr_operator<T, Offset, constant_slot<const T>> {
  using matrix = csr_operator<T, Offset, constant_slot<const T>>;
  using transpose = csr_operator<T, Offset, fixed_slot<const T>>;
  pattern_of_transpose<Offset> pattern;
  int lanes_a_column = 1;
  T* transposed_values = nullptr;

  csr_with_transpose() = default;
  WHILST_HD csr_with_transpose(const matrix& A, const pattern_of_transpose<Offset>& pattern, int lanes_a_column)
      : matrix(A), pattern(pattern), lanes_a_column(lanes_a_column) {}

  csr_with_transpose with_memory(workspace& memory) const {
    csr_with_transpose placed = *this;
    placed.transposed_values = memory.take<T>(this->nonzeros);
    return placed;
  }

  struct copy_values {
    constant_slot<const T> values;
    const Offset* sources;
    T* transposed_values;
    WHILST_HD void operator()(index_type k) const { transposed_values[k] = values.get()[sources[k]]; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(2 * sizeof(T) + sizeof(Offset)); }
  };
  template <class Run>
  void prepare(Run& run) const {
    run.step("the values of A'", this->nonzeros, copy_values{this->values, pattern.sources, transposed_values});
  }

  WHILST_HD transpose transposed() const {
    return {pattern.rows,        pattern.row_offsets, pattern.column_indices,
            {transposed_values}, lanes_a_column,      this->nonzeros};
  }
};

/// Entry j of the diagonal of A'A for `factor` times A, where A' is stored by rows; duplicates are added first, as in
/// A.
template <class Transpose>
WHILST_HD double squares_of_column(const Transpose& At, index_type j, double factor) {
  const auto* const v = At.values.get();
  double sum = 0;
  for (auto k = At.row_offsets[j]; k < At.row_offsets[j + 1];) {
    double entry = 0;
    const std::int32_t row = At.column_indices[k];
    for (; k < At.row_offsets[j + 1] && At.column_indices[k] == row; ++k) entry += static_cast<double>(v[k]);
    sum += factor * entry * (factor * entry);
  }
  return sum;
}

/// The rows of A' that are here: on a rank of a group its own.
template <class Transpose>
WHILST_HD auto rows_here(const Transpose& At) {
  if constexpr (requires { At.local; }) {
    return At.local;
  } else {
    return At;
  }
}

/// The inverse of the diagonal of A'A: it makes the columns of A equally long. A column without entries stays.
template <class T>
struct column_preconditioner {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = false;
  WHILST_HD static constexpr bool made_from_operator() { return true; }
  T* inverse_squares = nullptr;

  WHILST_HD T operator()(index_type j, T p) const { return inverse_squares[j] * p; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  column_preconditioner with_memory(index_type n, workspace& memory) const { return {memory.take<T>(n)}; }

  template <class Transpose>
  struct invert {
    Transpose At;
    const double* factor;
    T* inverse_squares;
    WHILST_HD void operator()(index_type j) const {
      const T inverse = static_cast<T>(1 / squares_of_column(At, j, *factor));
      inverse_squares[j] = inverse > 0 && inverse - inverse == 0 ? inverse : T(1);
    }
  };
  template <class Run, class Operator>
  void prepare(Run& run, const Operator& A) const {
    const auto At = rows_here(A.unscaled.transposed());
    run.step("invert the diagonal of A'A", At.rows(),
             invert<std::remove_const_t<decltype(At)>>{At, A.factor, inverse_squares});
  }
};

}  // namespace whilst
