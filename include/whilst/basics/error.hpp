#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace whilst {

/// The one exception type of the library: misuse, bad input and failed CUDA calls.
///
/// Its message says what was being done, what went wrong and what to do about it. How a solve ended is never an
/// exception: that is a whilst::reason in the whilst::report.
class error : public std::runtime_error {
 public:
  explicit error(const std::string& message) : std::runtime_error(message) {}

  /// Composes "DOING: PROBLEM. CURE." from its three parts; an empty cure is left out.
  error(std::string_view doing, std::string_view problem, std::string_view cure = {})
      : std::runtime_error(compose(doing, problem, cure)) {}

 private:
  static std::string compose(std::string_view doing, std::string_view problem, std::string_view cure) {
    std::string message(doing);
    message.append(": ").append(problem);
    if (!cure.empty()) message.append(". ").append(cure);
    return message;
  }
};

/// There was not enough memory, of the host or of a GPU.
class out_of_memory : public error {
 public:
  using error::error;
};

}  // namespace whilst
