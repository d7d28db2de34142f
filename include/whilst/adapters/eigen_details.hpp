#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "whilst/engine/control/reason.hpp"
#include "whilst/linear/eigen.hpp"

namespace whilst::eigen::detail {

/// Whilst's name for one of Eigen's preconditioners; empty where Eigen's own is to be called.
template <class Preconditioner>
inline constexpr std::string_view name_of = "";
template <class T>
inline constexpr std::string_view name_of<Eigen::DiagonalPreconditioner<T>> = "jacobi";
template <class T>
inline constexpr std::string_view name_of<Eigen::LeastSquareDiagonalPreconditioner<T>> = "jacobi";
template <>
inline constexpr std::string_view name_of<Eigen::IdentityPreconditioner> = "none";

/// A copy by rows of all of A or, where UpLo names one triangle, of the symmetric matrix that has it.
template <int UpLo, class Matrix>
auto rows_of(const Matrix& A) {
  using by_rows = Eigen::SparseMatrix<typename Matrix::Scalar, Eigen::RowMajor, typename Matrix::StorageIndex>;
  if constexpr (UpLo == (Eigen::Lower | Eigen::Upper)) {
    return from_eigen(by_rows(A));
  } else {
    const by_rows whole = A.template selfadjointView<UpLo>();
    return from_eigen(whole);
  }
}

/// Eigen's word for how a solve ended. Where rounding kept the residual above Eigen's default tolerance, the machine
/// epsilon, the solve did what that asks for, if half the digits are right.
template <class T>
Eigen::ComputationInfo info_of(reason why, double relative_residual, T tolerance) {
  constexpr T epsilon = std::numeric_limits<T>::epsilon();
  if (converged(why)) return Eigen::Success;
  if (why == reason::attainable_accuracy && tolerance <= epsilon && relative_residual <= std::sqrt(epsilon))
    return Eigen::Success;
  const bool numerical = why == reason::breakdown || why == reason::nan_or_infinity ||
                         why == reason::indefinite_operator || why == reason::indefinite_preconditioner;
  return numerical ? Eigen::NumericalIssue : Eigen::NoConvergence;
}

}  // namespace whilst::eigen::detail
