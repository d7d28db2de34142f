#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {

/// Which a linear_solver chooses from the matrix: see solver_pairs.hpp.
inline constexpr std::string_view automatic_preconditioner = "auto";

/// A preconditioner as options name it: "auto", "none", "jacobi", or one of preconditioner_table(), perhaps with
/// settings after the name: "amg,strength=0.1".
struct preconditioner_choice {
  preconditioner_kind kind = preconditioner_kind::none;  ///< parts for auto and those of the table
  std::string name;
  std::string text;  ///< name and settings, as asked for
  /// The options, with the name alone as preconditioner; settings after it are where options have them.
  linear_solver_options options;
  const preconditioner_description* description = nullptr;  ///< of the table; null for auto, none and jacobi
};

/// The names of all that a linear_solver makes.
std::vector<std::string> preconditioner_names();
/// Throws whilst::error, beginning with `doing`, on what there is none of.
preconditioner_choice chosen_preconditioner(std::string_view doing, const linear_solver_options& options);
/// Whether these options name a preconditioner that records steps of its own.
bool is_preconditioner_in_parts(const linear_solver_options& options);
/// Its name, without settings.
std::string_view name_of_preconditioner(const linear_solver_options& options);

}  // namespace whilst
