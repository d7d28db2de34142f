#include <cstdio>

#include "whilst/host/prepared_program.hpp"
#include "whilst/least_squares/least_squares_options.hpp"

namespace whilst {

std::string least_squares_report::message() const {
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, residual norm %.3g",
                static_cast<long long>(iterations()), residual_norm());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(sentence(reason())) + numbers;
}

void detail::check_options(std::string_view doing, const least_squares_options& options) {
  loop_options(options).check(doing);
  check_tolerances(doing, options.tolerances);
}

}  // namespace whilst
