#pragma once

#include <string>
#include <string_view>

#include "solvers/linear/preconditioners/kept_preconditioners.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst {

/// What keeps a preconditioner from being one of several columns, and the cure; both empty if nothing does.
struct columns_obstacle {
  std::string why, cure;
};
columns_obstacle obstacle_for_columns(const preconditioner_choice& chosen);

/// The preconditioner of a method for several columns, conjugate gradients or LOBPCG, as options name it. M has to be
/// symmetric, the same in each iteration, and to depend on no one column. Other threads may ask for explain() and
/// bytes() meanwhile.
template <class T>
class preconditioner_of_columns {
 public:
  /// Puts what the options name into a request that was made of the matrix, and makes it from that if need be. "auto"
  /// is the first that can be made of those that attempts_for has for cg. Throws whilst::error, beginning with `doing`.
  void choose(std::string_view doing, const linear_solver_options& options, const matrix_on_place<T>& matrix,
              solve_request<T>& request);
  /// The matrix has other values: between solves. Returns whether words() are others now.
  bool values_changed(const csr_matrix<T>& pattern, const T* values);

  /// With settings: what "auto" has chosen.
  const std::string& name() const { return chosen_.text; }
  /// What was made, and why "auto" has chosen that; empty where neither is.
  std::string words() const;
  /// A program has been recorded with it.
  void note_program() { made_.note_program(); }
  std::string explain() const { return made_.explain(); }
  index_type bytes() const { return made_.bytes(); }
  /// For memory(), in front of the others.
  void add_to(memory_table& table, place where) const;

 private:
  void make(std::string_view doing, const matrix_to_precondition<T>& matrix, solve_request<T>& request);
  void choose_automatically(std::string_view doing, const linear_solver_options& options,
                            const matrix_on_place<T>& matrix, solve_request<T>& request);

  preconditioner_choice chosen_;
  kept_preconditioners<T> made_;
  std::string description_, why_;
};

extern template class preconditioner_of_columns<float>;
extern template class preconditioner_of_columns<double>;

}  // namespace whilst
