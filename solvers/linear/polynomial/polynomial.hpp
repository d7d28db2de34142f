#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/polynomial_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

inline constexpr int most_degree_of_polynomial = 32;

inline std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
/// Of the ends of the interval of a polynomial: what options say, or what suits the degree.
inline double ratio_of(const chebyshev_options& options) {
  return options.ratio > 0 ? options.ratio : (options.degree + 1) * (options.degree + 1);
}
inline std::string words_of(const chebyshev_options& options) {
  return "degree " + std::to_string(options.degree) + ", eigenvalues down to the greatest / " +
         short_number(ratio_of(options));
}

/// Preconditioner "chebyshev" for the symmetric definite operator of a request: its matrix, or its parts, with or
/// without a diagonal; without one, D is the identity. Each solve begins by estimating the greatest eigenvalue of
/// D^-1 A. Settings have been checked.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_chebyshev_polynomial(const solve_request<T>& of,
                                                                    const chebyshev_options& options);
/// The same for preconditioner "neumann".
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_neumann_polynomial(const solve_request<T>& of,
                                                                  const neumann_options& options);

}  // namespace whilst
