#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A setting of a preconditioner, where options hold it. A vector can only be set in options, not behind a
/// preconditioner's name.
struct preconditioner_setting {
  std::string_view name;
  std::variant<bool*, int*, index_type*, double*, std::string*, std::vector<double>*, std::vector<index_type>*> value;
};

/// Throws whilst::error about a setting: "making a linear solver: setting strength is 2 of preconditioner amg".
struct refuse_setting {
  std::string_view doing, preconditioner;
  [[noreturn]] void operator()(const std::string& what, std::string_view cure) const {
    throw error(doing, "setting " + what + " of preconditioner " + std::string(preconditioner), cure);
  }
};

/// A matrix to make a preconditioner from, or, where that can be made so, an operator in parts.
template <class T>
struct matrix_to_precondition {
  const solve_request<T>& on_place;              ///< as methods read it, in memory of the solver's place
  const csr_matrix<T>* const pattern = nullptr;  ///< the same as it was given; null for an operator in parts
  /// In the order of the pattern's, in host memory or memory of the solver's place.
  const T* values = nullptr;
  bool is_bounded = false;  ///< what takes too much to make is refused: preconditioner "auto" has others
  /// Where the time is found after which nothing is made any more; null for none. It outlives what is made.
  const std::chrono::steady_clock::time_point* until = nullptr;
  bool is_bounded_once = false;  ///< new values are not refused: nothing else would take its place
  /// What is made may be finished by matrix_preconditioner::finish, which whoever passes this on has to pass on, too.
  bool may_go_on = false;
};

template <class T>
using preconditioner_maker = std::unique_ptr<matrix_preconditioner<T>> (*)(const matrix_to_precondition<T>& matrix,
                                                                           const method_needs& method,
                                                                           const linear_solver_options& options);

/// A preconditioner that a linear_solver makes from its matrix. Each kind has a source of its own in this folder.
struct preconditioner_description {
  const char* name;
  const char* prefix;    ///< of its settings in options as text: "amg" for "amg_strength"
  const char* contents;  ///< what its memory holds: "the levels of"
  /// Whether methods for symmetric matrices get one of their own.
  bool differs_for_symmetric;
  /// Whether the solver tells it of new values, by matrix_preconditioner::values_changed; else solves find out.
  bool hears_of_values;
  /// Whether products are enough to make it: it may be of an operator in parts.
  bool takes_operators = false;
  /// Of one whose M is not symmetric, whatever A is: the one to name instead where it has to be; else null.
  const char* symmetric_instead = nullptr;
  std::vector<preconditioner_setting> (*settings)(linear_solver_options& options);
  /// Throws on settings that make no sense.
  void (*check)(const refuse_setting& refuse, const linear_solver_options& options);
  preconditioner_maker<float> make_of_float;
  preconditioner_maker<double> make_of_double;

  template <class T>
  preconditioner_maker<T> maker() const {
    if constexpr (std::is_same_v<T, float>) return make_of_float;
    if constexpr (std::is_same_v<T, double>) return make_of_double;
  }
};

const preconditioner_description& amg_description();
const preconditioner_description& multigrid_description();
const preconditioner_description& ilu_description();
const preconditioner_description& ic_description();
const preconditioner_description& fsai_description();
const preconditioner_description& spai_description();
const preconditioner_description& block_jacobi_description();
const preconditioner_description& ssor_description();
const preconditioner_description& schwarz_description();
const preconditioner_description& chebyshev_description();
const preconditioner_description& neumann_description();
const preconditioner_description& inner_solve_description();

/// All of them.
const std::vector<const preconditioner_description*>& preconditioner_table();
/// Null if there is none of that name, as for "none" and "jacobi".
const preconditioner_description* described_preconditioner(std::string_view name);

}  // namespace whilst
