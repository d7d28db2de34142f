#pragma once

#include <memory>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/permutation/permuted_matrix.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// An operator for the matrix of `csr`, whose substitute is scaled, permuted, has other values, or several of these.
/// permuted: that matrix in its new order; null for the one that it has. formatted: what methods iterate with in a
/// format, which then holds the substitute's values; null for csr. rounds: the format does, to float. equilibrate needs
/// the transpose's pattern in `csr`. All must outlive what is made.
template <class T>
std::unique_ptr<linear_operator<T>> make_substituted_matrix(scaling_kind scaling, const solve_request<T>& csr,
                                                            formatted_matrix<T>* formatted, bool rounds = false,
                                                            const permuted_matrix<T>* permuted = nullptr);

}  // namespace whilst
