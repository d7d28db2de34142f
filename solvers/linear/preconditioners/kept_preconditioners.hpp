#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "solvers/linear/preconditioners/preconditioner_choice.hpp"

namespace whilst {

/// The preconditioners that a linear_solver makes from its matrix: one for any method, or, of a kind that differs for
/// them, one for methods that want a symmetric matrix and one for the others. Each is made when a method first needs
/// it: method "auto" may need both, and preconditioner "auto" several kinds. Other threads may ask for bytes()
/// meanwhile, and for explain().
template <class T>
class kept_preconditioners {
 public:
  /// The one for a method. `chosen` has a description.
  matrix_preconditioner<T>& made(const matrix_to_precondition<T>& matrix, const method_needs& method,
                                 const preconditioner_choice& chosen) {
    const preconditioner_description& kind = *chosen.description;
    const bool differs = kind.differs_for_symmetric && !method.symmetric;
    for (const kept& one : all_)
      if (one.text == chosen.text && one.differs == differs && one.is_linear == method.linear_preconditioner &&
          one.is_fixed == method.fixed_preconditioner)
        return *one.made;
    all_.push_back({chosen.text, differs, method.linear_preconditioner, method.fixed_preconditioner,
                    !kind.hears_of_values, true, kind.maker<T>()(matrix, method, chosen.options)});
    tell();
    return *all_.back().made;
  }
  /// The values have changed: those that have to be told of it have what is made of others.
  void note_new_values() {
    for (kept& one : all_) one.is_current = one.finds_out;
  }
  /// Tells those that are named so, between solves: see matrix_preconditioner::values_changed. Returns what the first
  /// is now, in words; nothing if none had to be told.
  std::string refresh(const std::string& text, const csr_matrix<T>& pattern, const T* values) {
    std::string words;
    for (kept& one : all_) {
      if (one.text != text || one.is_current) continue;
      one.made->values_changed(pattern, values);
      one.is_current = true;
      if (words.empty()) words = one.made->description();
    }
    tell();
    return words;
  }
  /// Between solves: see matrix_preconditioner::begin_sequence_now.
  void begin_sequence() {
    for (kept& one : all_) one.made->begin_sequence_now();
  }
  /// A program has been recorded, which may have taken room that one had left.
  void note_program() { tell(); }
  index_type bytes() const { return bytes_; }
  /// A paragraph for each.
  std::string explain() const {
    const std::lock_guard mine(telling_);
    return explained_;
  }

 private:
  struct kept {
    std::string text;  ///< name and settings
    bool differs;      ///< for methods that take any matrix
    bool is_linear;    ///< for methods that need it to be; see method_needs
    bool is_fixed;     ///< the same
    bool finds_out;    ///< about values, by itself
    bool is_current;
    std::unique_ptr<matrix_preconditioner<T>> made;
  };
  void tell() {
    index_type all = 0;
    std::string words;
    for (const kept& one : all_) {
      all += one.made->bytes();
      words += "preconditioner " + one.text + ": " + one.made->explain();
    }
    bytes_ = all;
    const std::lock_guard mine(telling_);
    explained_ = std::move(words);
  }

  std::vector<kept> all_;
  std::atomic<index_type> bytes_ = 0;
  mutable std::mutex telling_;
  std::string explained_;
};

}  // namespace whilst
