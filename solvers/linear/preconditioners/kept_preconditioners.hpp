#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "solvers/linear/preconditioners/preconditioner_choice.hpp"

namespace whilst {

/// The preconditioner that a linear_solver makes from its matrix: one for any method, or, of a kind that differs for
/// them, one for methods that want a symmetric matrix and one for the others. Each is made when a method first needs
/// it: method "auto" may need both. Other threads may ask for bytes() meanwhile.
template <class T>
class kept_preconditioners {
 public:
  /// The one for a method. `chosen` has a description, and is the same in all calls.
  matrix_preconditioner<T>& made(const matrix_to_precondition<T>& matrix, const method_needs& method,
                                 const preconditioner_choice& chosen) {
    const preconditioner_description& kind = *chosen.description;
    auto& kept = all_[kind.differs_for_symmetric && !method.symmetric];
    if (!kept) {
      kept = kind.maker<T>()(matrix, method, chosen.options);
      hears_of_values_ = kind.hears_of_values;
      count_bytes();
    }
    return *kept;
  }
  /// Whether there is one that has to be told of new values.
  bool hear_of_values() const { return hears_of_values_; }
  /// Tells them, between solves: see matrix_preconditioner::values_changed. Returns what the first is now, in words.
  std::string values_changed(const csr_matrix<T>& pattern, const T* values) {
    std::string words;
    for (const auto& one : all_) {
      if (!one) continue;
      one->values_changed(pattern, values);
      if (words.empty()) words = one->description();
    }
    count_bytes();
    return words;
  }
  index_type bytes() const { return bytes_; }

 private:
  void count_bytes() {
    index_type all = 0;
    for (const auto& one : all_) all += one ? one->bytes() : 0;
    bytes_ = all;
  }

  std::array<std::unique_ptr<matrix_preconditioner<T>>, 2> all_;
  bool hears_of_values_ = false;
  std::atomic<index_type> bytes_ = 0;
};

}  // namespace whilst
