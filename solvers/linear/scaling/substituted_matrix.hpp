#pragma once

#include <memory>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// An operator for the matrix of `csr`, whose substitute is scaled, has other values, or both. formatted: the matrix in
/// a format, which then holds the substitute's values; null for csr. rounds: the format does, to float. equilibrate
/// needs the transpose's pattern in `csr`. Both must outlive what is made.
template <class T>
std::unique_ptr<linear_operator<T>> make_substituted_matrix(scaling_kind scaling, const solve_request<T>& csr,
                                                            formatted_matrix<T>* formatted, bool rounds = false);

}  // namespace whilst
