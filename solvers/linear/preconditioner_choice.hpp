#pragma once

#include <string>
#include <string_view>

#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A preconditioner as options name it: "none", "jacobi" or "amg", and settings behind it: "amg,strength=0.1".
struct preconditioner_choice {
  preconditioner_kind kind = preconditioner_kind::none;  ///< parts for amg
  amg_options amg;
};

/// Throws whilst::error, beginning with `doing`, on what there is none of.
preconditioner_choice chosen_preconditioner(std::string_view doing, const linear_solver_options& options);
/// Whether these options name a preconditioner that records steps of its own.
bool is_preconditioner_in_parts(const linear_solver_options& options);

}  // namespace whilst
