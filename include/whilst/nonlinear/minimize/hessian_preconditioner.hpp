#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// What preconditions the linear systems of Newton's method.
template <class T>
struct hessian_preconditioner {
  /// On the function's place; it prepares by itself. Null for the inverse of the diagonal, which methods have.
  std::unique_ptr<preconditioner<T>> parts;
  std::string description = "jacobi";  ///< "amg, 3 levels of ..."
  index_type bytes = 0;                ///< of what it keeps on the place
};

/// Makes the preconditioner that the text names, "jacobi" or "amg", for a function's Hessian, and waits. Settings stand
/// after the name, "amg,strength=0.1", or in `amg`.
///
/// amg divides the unknowns into aggregates by the sizes of the Hessian's entries at x, which has an entry for each
/// unknown, in host memory; no entries stand for x = 0. Values of all levels are made anew by steps of the program that
/// uses it, from the Hessian that the function's own steps leave in its memory: see amg_options::refresh. A program at
/// a time may use it, and the function must outlive it.
///
/// Throws whilst::error, beginning with `doing`, on another name, on settings out of range, and if the function has no
/// Hessian in memory, or one that is zero or not finite at x.
template <class T>
hessian_preconditioner<T> make_hessian_preconditioner(std::string_view doing, const objective<T>& f,
                                                      const std::string& text, const amg_options& amg,
                                                      std::span<const double> x);

extern template hessian_preconditioner<float> make_hessian_preconditioner(std::string_view, const objective<float>&,
                                                                          const std::string&, const amg_options&,
                                                                          std::span<const double>);
extern template hessian_preconditioner<double> make_hessian_preconditioner(std::string_view, const objective<double>&,
                                                                           const std::string&, const amg_options&,
                                                                           std::span<const double>);

}  // namespace whilst
