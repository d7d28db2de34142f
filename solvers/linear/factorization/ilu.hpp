#pragma once

#include <memory>

#include "solvers/linear/factorization/factors.hpp"
#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// Preconditioners "ilu" and "ic" for a square matrix, to be applied on a place. The host makes the factors, now and
/// whenever values_changed is called, from a copy of the values: the values lie in host memory or in memory of the
/// place. What writes them must have ended. Each time the factors lie in memory of their own size, which recorded steps
/// find by one pointer: ILUT's sizes change with the values. Throws whilst::error where the factors have more nonzeros
/// than 32 bits count, or ilu takes more than the bounds.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_ilu(place where, const csr_matrix<T>& pattern, const T* values,
                                                   factorization::factors_kind kind, const ilu_options& options,
                                                   const factorization::factorization_bounds& bounds = {});

}  // namespace whilst
