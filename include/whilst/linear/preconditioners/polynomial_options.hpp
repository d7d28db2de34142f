#pragma once

namespace whilst {

/// Settings of preconditioner "chebyshev", a polynomial of D^-1 A with the diagonal D. As text: "chebyshev,degree=6".
struct chebyshev_options {
  int degree = 4;  ///< of the polynomial: products with A in an application; 1 to 32
  /// The polynomial is small from the greatest eigenvalue of D^-1 A down to that divided by `ratio`; above 1, or 0 for
  /// what suits the degree, (degree + 1)^2.
  double ratio = 0;
  int lanczos_steps = 10;  ///< with which each solve begins, to estimate that eigenvalue; 1 to 64

  bool operator==(const chebyshev_options&) const = default;
};

/// Settings of preconditioner "neumann": the sum of (I - w D^-1 A)^j for j up to the degree, times w D^-1. As text:
/// "neumann,degree=2".
struct neumann_options {
  int degree = 2;  ///< of the polynomial: products with A in an application; 1 to 32
  /// w, below 2 divided by the greatest eigenvalue of D^-1 A; 0: each solve begins with Lanczos steps and takes 1
  /// divided by what they find.
  double damping = 0;
  int lanczos_steps = 10;  ///< 1 to 64

  bool operator==(const neumann_options&) const = default;
};

}  // namespace whilst
