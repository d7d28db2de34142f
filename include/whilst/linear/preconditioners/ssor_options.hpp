#pragma once

namespace whilst {

/// Settings of preconditioner "ssor", symmetric Gauss-Seidel sweeps with relaxation. As text:
/// "ssor,omega=1.5,sweeps=2".
struct ssor_options {
  double omega = 1;  ///< the relaxation factor, more than 0 and less than 2; 1 is Gauss-Seidel
  int sweeps = 1;    ///< in an application, each forward and backward; 1 to 8

  bool operator==(const ssor_options&) const = default;
};

}  // namespace whilst
