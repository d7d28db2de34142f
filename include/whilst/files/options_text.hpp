#pragma once

#include <string>
#include <string_view>

#include "whilst/linear/eigenvalue_solver.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/nonlinear/equations/nonlinear_solver.hpp"
#include "whilst/nonlinear/minimize/minimizer.hpp"

namespace whilst {

/// Options from one line of text, for command lines and configuration files:
/// @code
///   const auto options =
///       whilst::options_from_string<whilst::linear_solver_options>("method=bicgstab, preconditioner=jacobi,
///       rtol=1e-10");
/// @endcode
/// Keys are member names, those of tolerances without the prefix `tolerances.`, settings of preconditioners as
/// amg_strength and, of ilu and ic, ilu_drop, of fsai and spai, fsai_power, in any order; options not named keep their
/// defaults, so an empty text means all defaults. Numbers as C++ writes them, including "inf"; true or false for flags;
/// several numbers with spaces between. Spaces around keys and values are ignored.
///
/// Throws whilst::error naming the key on an unknown key, with a list of all keys, on a key given twice, and on a value
/// of the wrong type. Whether the values are in range is for the solver's constructor to check. For
/// linear_solver_options, eigenvalue_options, minimizer_options and nonlinear_solver_options.
template <class Options>
Options options_from_string(std::string_view text);
/// The same, but options not named keep the values they have in `start`.
template <class Options>
Options options_from_string(std::string_view text, Options start);

/// The inverse: every option in the same form, with enough digits to read the same options back. Settings after the
/// name of a preconditioner are written as keys; throws whilst::error on wrong ones.
template <class Options>
std::string options_to_string(const Options& options);

extern template linear_solver_options options_from_string(std::string_view);
extern template linear_solver_options options_from_string(std::string_view, linear_solver_options);
extern template eigenvalue_options options_from_string(std::string_view);
extern template eigenvalue_options options_from_string(std::string_view, eigenvalue_options);
extern template minimizer_options options_from_string(std::string_view);
extern template minimizer_options options_from_string(std::string_view, minimizer_options);
extern template nonlinear_solver_options options_from_string(std::string_view);
extern template nonlinear_solver_options options_from_string(std::string_view, nonlinear_solver_options);
extern template std::string options_to_string(const linear_solver_options&);
extern template std::string options_to_string(const eigenvalue_options&);
extern template std::string options_to_string(const minimizer_options&);
extern template std::string options_to_string(const nonlinear_solver_options&);

}  // namespace whilst
