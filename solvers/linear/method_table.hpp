#pragma once

#include <string>
#include <vector>

#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// A number that may depend on an option: "2 l + 4".
struct method_cost {
  int fixed = 0;
  int each = 0;             ///< for each unit of the option
  const char* letter = "";  ///< of the option: m, s or l
  std::string text() const;
  /// With these options.
  int value(const linear_solver_options& options) const;
};

/// What there is to know of a method before it runs.
struct method_description {
  const char* name;
  method_needs needs;
  bool runs_in_kernel;
  method_cost products;  ///< with A, an iteration
  method_cost vectors;   ///< of the method alone, with a preconditioner
  const char* paper;

  /// "symmetric definite", "symmetric" or "any".
  const char* matrix() const;
};

/// All methods, in the order of linear_methods(). One that has no line in the table of this function has no paper.
std::vector<method_description> method_table();

/// "auto" and the names of all methods.
std::vector<std::string> method_names();

}  // namespace whilst
