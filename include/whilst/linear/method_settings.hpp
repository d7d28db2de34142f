#pragma once

namespace whilst {

/// What a linear solve is recorded with besides its operands. linear_solver_options says what each means.
struct method_settings {
  bool keep_best = true;
  int restart = 30;
  int shadow_dimension = 4;
  int polynomial_degree = 2;
  double least_eigenvalue = 0, greatest_eigenvalue = 0;
  int lanczos_steps = 20;
};

}  // namespace whilst
