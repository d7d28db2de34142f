#pragma once

#include <string>
#include <string_view>

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
/// Keys are the members' names, those of tolerances without `tolerances.` before them, in any order; what is not named
/// keeps its default, and an empty text is all defaults. Numbers as C++ writes them, "inf" among them; true or false
/// for flags. Spaces around keys and values count for nothing.
///
/// Throws whilst::error that names the key on an unknown key, with the list of all, on one given twice, and on a
/// value of another type. Whether a solver takes the values is its constructor's to say. For linear_solver_options,
/// minimizer_options and nonlinear_solver_options.
template <class Options>
Options options_from_string(std::string_view text);

/// The other way: every option in the same form, with as many digits as it takes to read the same options back.
template <class Options>
std::string options_to_string(const Options& options);

extern template linear_solver_options options_from_string(std::string_view);
extern template minimizer_options options_from_string(std::string_view);
extern template nonlinear_solver_options options_from_string(std::string_view);
extern template std::string options_to_string(const linear_solver_options&);
extern template std::string options_to_string(const minimizer_options&);
extern template std::string options_to_string(const nonlinear_solver_options&);

}  // namespace whilst
