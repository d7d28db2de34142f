#pragma once

// For tests of the C interface: handles that give themselves back, and -u'' = 1 on a line, whose solution is known.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/whilst.h"

namespace whilst_test {

/// A handle of the C interface, destroyed with this.
template <class Handle, whilst_status (*destroy)(Handle**)>
class owned_handle {
 public:
  owned_handle() = default;
  owned_handle(owned_handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~owned_handle() { destroy(&handle_); }
  operator Handle*() const { return handle_; }
  /// For functions that make one.
  Handle** operator&() { return &handle_; }

 private:
  Handle* handle_ = nullptr;
};
using c_matrix = owned_handle<whilst_matrix, whilst_matrix_destroy>;
using c_solver = owned_handle<whilst_solver, whilst_solver_destroy>;
using c_ticket = owned_handle<whilst_ticket, whilst_ticket_destroy>;
using c_report = owned_handle<whilst_report, whilst_report_destroy>;

/// Requires that a call went well, else tells what the library said.
inline void require_ok(whilst_status status) {
  INFO(whilst_last_error());
  REQUIRE(status == WHILST_OK);
}

/// Checks that a call was refused, in words that hold these.
inline void check_refused(whilst_status status, const std::string& words, whilst_status expected = WHILST_ERROR) {
  CHECK(status == expected);
  CHECK_THAT(std::string(whilst_last_error()), contains(words));
}

template <class T>
constexpr whilst_number number_of() {
  return sizeof(T) == sizeof(float) ? WHILST_FLOAT : WHILST_DOUBLE;
}

/// The matrix of rows -1, 2, -1.
template <class T, class Integer = std::int32_t>
struct c_line {
  explicit c_line(int n, int base = 0) : n(n) {
    offsets.push_back(static_cast<Integer>(base));
    for (int i = 0; i < n; ++i) {
      for (const int j : {i - 1, i, i + 1}) {
        if (j < 0 || j == n) continue;
        indices.push_back(static_cast<Integer>(j + base));
        values.push_back(i == j ? T(2) : T(-1));
      }
      offsets.push_back(static_cast<Integer>(base + static_cast<int>(values.size())));
    }
  }
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values.size()); }
  c_matrix copied(int base = 0) const {
    c_matrix made;
    require_ok(whilst_matrix_copy(number_of<T>(), n, n, nonzeros(), offsets.data(), 8 * sizeof(Integer), indices.data(),
                                  8 * sizeof(Integer), base, values.data(), &made));
    return made;
  }
  int n;
  std::vector<Integer> offsets, indices;
  std::vector<T> values;
};

inline c_solver c_linear(const c_matrix& matrix, const char* options = nullptr) {
  c_solver made;
  require_ok(whilst_linear_create(matrix, options, &made));
  return made;
}

/// Checks x, which solves rows of -1, 2, -1 with right-hand sides of ones: by hand i (n + 1 - i) / 2. The error is at
/// most the condition, below (n + 1)^2 / 2, times the relative residual that the solve was to reach.
template <class T>
void check_parabola(const std::vector<T>& x, double rtol, double times = 1) {
  const double n = static_cast<double>(x.size()), middle = (n + 1) * (n + 1) / 8;
  double worst = 0;
  for (double i = 1; i <= n; ++i) {
    const double error = static_cast<double>(x[static_cast<std::size_t>(i) - 1]) - times * i * (n + 1 - i) / 2;
    worst = std::max(worst, error < 0 ? -error : error);
  }
  CHECK(worst <= rtol * (n + 1) * (n + 1) / 2 * times * middle);
}

}  // namespace whilst_test
