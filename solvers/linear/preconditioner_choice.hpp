#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A preconditioner as options name it: "none", "jacobi", "amg", "ilu" or "ic", and settings behind one of the last
/// three: "amg,strength=0.1".
struct preconditioner_choice {
  preconditioner_kind kind = preconditioner_kind::none;  ///< parts for amg, ilu and ic
  std::string name;
  amg_options amg;
  ilu_options ilu;  ///< of ilu and of ic
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
