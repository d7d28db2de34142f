#include "whilst/host/report.hpp"

#include <cmath>
#include <cstdio>

namespace whilst {

double report::relative_residual() const {
  if (fields_.residual_norm == 0) return 0;
  return std::abs(fields_.residual_norm / fields_.rhs_norm);  // infinity / infinity may be a NaN with a sign
}

double report::seconds_per_iteration() const {
  return fields_.iterations > 0 ? fields_.loop_seconds / static_cast<double>(fields_.iterations) : 0;
}

std::string report::message() const {
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, relative residual %.3g",
                static_cast<long long>(fields_.iterations), relative_residual());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(sentence(fields_.reason)) + numbers;
}

}  // namespace whilst
