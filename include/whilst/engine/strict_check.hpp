#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Memory of a program's place that a strict check compares; borrowed.
struct watched_memory {
  std::string name;
  void* address = nullptr;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
  /// Formats an element for the report; null prints its bytes.
  std::string (*show)(const std::byte* element) = nullptr;
};

namespace detail {
/// With enough digits to distinguish any two values.
std::string show_number(double value);
std::string show_number(float value);
}  // namespace detail

/// An array of `count` elements; the report shows values if T is a number.
template <class T>
watched_memory watched(std::string name, T* elements, index_type count) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
  watched_memory made{std::move(name), elements, static_cast<std::size_t>(count) * sizeof(T), sizeof(T)};
  if constexpr (std::is_arithmetic_v<T>) {
    made.show = [](const std::byte* element) {
      T value;
      std::memcpy(&value, element, sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        return detail::show_number(value);
      } else {
        return std::to_string(value);
      }
    };
  }
  return made;
}

/// What a strict check found: nothing, or the first difference.
struct strict_report {
  bool passed = true;
  index_type runs_compared = 0;  ///< counts steps and calls
  // Of the first difference; it lies in the first buffer of the list that differs.
  std::string step;    ///< the step or call after which it was seen; empty for the end of the program
  index_type run = 0;  ///< which run of that step, from 1
  std::string buffer;  ///< the watched memory's name; empty if the path through the program differs, not a value
  index_type element = 0;
  std::vector<std::byte> expected, found;  ///< the bytes of the element
  std::string message;                     ///< all of this as text

  explicit operator bool() const { return passed; }
};

}  // namespace whilst
