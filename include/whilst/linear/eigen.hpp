#pragma once

/// @file
/// Conversions from Eigen; the only header of the library door that needs Eigen's headers.

#include <cstddef>
#include <span>
#include <type_traits>

#include <Eigen/SparseCore>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

/// A copy of an Eigen sparse matrix of float or double, of either storage order, compressed or not. The entries keep
/// their order within a row; those of a column-major matrix are sorted by column. Row offsets have 64 bits if Eigen's
/// indices are std::int64_t, else 32. Throws whilst::error if a 64-bit matrix has too many columns for 32-bit indices.
template <class T, int Options, class Index>
csr_matrix<T> from_eigen(const Eigen::SparseMatrix<T, Options, Index>& A) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "matrices are of float or of double");
  if constexpr ((Options & Eigen::RowMajorBit) == 0) {
    return from_eigen(Eigen::SparseMatrix<T, Options | Eigen::RowMajorBit, Index>(A));
  } else {
    if (!A.isCompressed()) {
      Eigen::SparseMatrix<T, Options, Index> compressed = A;
      compressed.makeCompressed();
      return from_eigen(compressed);
    }
    const auto rows = static_cast<std::size_t>(A.rows()), nonzeros = static_cast<std::size_t>(A.nonZeros());
    return csr_matrix<T>(A.rows(), A.cols(), std::span<const Index>(A.outerIndexPtr(), rows + 1),
                         std::span<const Index>(A.innerIndexPtr(), nonzeros),
                         std::span<const T>(A.valuePtr(), nonzeros));
  }
}

/// The entries of an Eigen vector, borrowed: valid until the vector is resized or destroyed.
template <class Vector>
auto span_of(Eigen::PlainObjectBase<Vector>& v) {
  static_assert(Vector::IsVectorAtCompileTime, "a matrix is not a vector: pass a column");
  return std::span<typename Vector::Scalar>(v.data(), static_cast<std::size_t>(v.size()));
}
template <class Vector>
auto span_of(const Eigen::PlainObjectBase<Vector>& v) {
  static_assert(Vector::IsVectorAtCompileTime, "a matrix is not a vector: pass a column");
  return std::span<const typename Vector::Scalar>(v.data(), static_cast<std::size_t>(v.size()));
}

}  // namespace whilst
