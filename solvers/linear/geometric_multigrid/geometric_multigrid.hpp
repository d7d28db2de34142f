#pragma once

#include <memory>
#include <string>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/preconditioners/multigrid_options.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Preconditioner "multigrid" for the matrix of a request, which must be that of a stencil on a grid: see
/// geometric_multigrid::problem_of_matrix, which looks at it now and whenever values_changed is called. Settings have
/// been checked.
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_multigrid_of_matrix(const solve_request<T>& matrix,
                                                                   const multigrid_options& options);
/// Calls refuse(what, cure) on settings that make no sense.
template <class Refuse>
void check_multigrid_options(const multigrid_options& options, const Refuse& refuse) {
  if (options.precision != "auto" && options.precision != "float" && options.precision != "double")
    refuse("precision is '" + options.precision + "'", "Use one of auto, float, double");
  if (options.cycle != "V" && options.cycle != "W") refuse("cycle is '" + options.cycle + "'", "Use V or W");
  if (options.sweeps < 1 || options.sweeps > 8) refuse("sweeps is " + std::to_string(options.sweeps), "Use 1 to 8");
  if (options.coarsest_rows < 0 || options.coarsest_rows > 2048)
    refuse("coarsest_rows is " + std::to_string(options.coarsest_rows),
           "Use 1 to 2048, or 0 for what suits the machine");
}

}  // namespace whilst
