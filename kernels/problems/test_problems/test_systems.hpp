#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problems/test_functions/systems.hpp"
#include "whilst/nonlinear/functions/equations.hpp"

/// @file
/// The problems of kernels/problems/test_functions/systems.hpp as equations, compiled once: link the target
/// whilst_test_problems.

namespace whilst {

/// One of the systems at one size.
struct test_system {
  /// In lower case with dashes: "broyden-tridiagonal".
  std::string name;
  /// As its paper has it.
  std::string title;
  /// Of the problem in More, Garbow and Hillstrom's paper; 0: it is not from there.
  int number = 0;
  /// Unknowns, and equations.
  index_type n = 0;
  /// Those that it can have: "any multiple of 4"; empty: this one only.
  std::string sizes;
  /// n entries, or none where there is no formula.
  std::vector<double> root;
  /// Where it starts: n entries.
  std::vector<double> start;
};

/// All of them, those of any size at the usual one.
const std::vector<test_system>& test_systems();

/// The system of that name with n unknowns; 0: as many as is usual. Throws whilst::error where there is none.
test_system find_test_system(std::string_view name, index_type n = 0);

/// Such a system, with its Jacobian; a block for each equation. Throws as find_test_system.
template <class T>
std::unique_ptr<equations<T>> make_test_system(place where, std::string_view name, index_type n = 0);

}  // namespace whilst
