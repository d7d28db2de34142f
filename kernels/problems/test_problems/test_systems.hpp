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
  /// Its paper's name.
  std::string title;
  /// Its number in More, Garbow and Hillstrom's paper; 0: it is not from there.
  int number = 0;
  /// Number of unknowns, and of equations.
  index_type n = 0;
  /// The sizes it supports: "any multiple of 4"; empty: only this one.
  std::string sizes;
  /// n entries, or none if there is no formula.
  std::vector<double> root;
  /// The starting point: n entries.
  std::vector<double> start;
};

/// All of them, scalable ones at their usual size.
const std::vector<test_system>& test_systems();

/// The system of that name with n unknowns; 0: its usual size. Throws whilst::error if there is none.
test_system find_test_system(std::string_view name, index_type n = 0);

/// Such a system, with its Jacobian; one block per equation. Throws as find_test_system does.
template <class T>
std::unique_ptr<equations<T>> make_test_system(place where, std::string_view name, index_type n = 0);

}  // namespace whilst
