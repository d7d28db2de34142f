#pragma once

#include <string>
#include <vector>

namespace whilst_test {

/// F(x) of a bundled system, in plain loops on the host: by the formulas of J. J. More, B. S. Garbow, K. E. Hillstrom,
/// ACM Trans. Math. Software 7 (1981), and by differences for Bratu's equation.
std::vector<double> published_residual(const std::string& name, const std::vector<double>& x);

}  // namespace whilst_test
