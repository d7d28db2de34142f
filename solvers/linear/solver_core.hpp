#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "solvers/linear/automatic/prepared_methods.hpp"
#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/preconditioners/kept_preconditioners.hpp"
#include "solvers/linear/stored_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

inline constexpr std::string_view making_linear_solver = "making a linear solver";

/// What a linear_solver has, once its arguments are checked, and how it records solves by a method and a
/// preconditioner: those that are named, or under "auto" those that are chosen.
template <class T>
struct solver_core {
  using clock = std::chrono::steady_clock;

  stored_matrix<T> matrix;
  std::shared_ptr<linear_operator<T>> parts;           ///< instead of the matrix
  std::shared_ptr<preconditioner<T>> M;                ///< instead of a named one
  preconditioner_choice chosen_M;                      ///< the named one
  bool chooses_M = false;                              ///< the options name "auto", and that has a choice
  clock::time_point until = clock::time_point::max();  ///< see matrix_to_precondition
  kept_preconditioners<T> made_Ms;                     ///< those that are made from the matrix
  std::optional<whilst::null_space<T>> null_space;     ///< if the options name one
  std::unique_ptr<whilst::deflation<T>> deflation;     ///< if the options have vectors
  const T* bound_values = nullptr;                     ///< where they are, if not in the matrix
  double size_of_A = HUGE_VAL;                         ///< at least its norm, if known; with preconditioner "auto"
  linear_solver_options options;                       ///< what to record
  whilst::executor how = whilst::executor::host;       ///< as chosen; of a method that runs in a kernel, if "auto"
  bool only_in_kernel = false;                         ///< the executor is resident, and "auto" had no part in that
  std::optional<prepared_methods<T>> solve;            ///< after all it refers to

  solver_core(std::shared_ptr<preconditioner<T>> given, linear_solver_options asked)
      : M(std::move(given)), options(std::move(asked)) {}
  solver_core(const solver_core&) = delete;
  solver_core& operator=(const solver_core&) = delete;

  /// Makes `solve`. named: the method; null for "auto". values: of the matrix, where it was given; null for none.
  void record(const linear_method<T>* named, const T* values, clock::time_point began);
  /// What reports say of the choice.
  void note_choice(const method_choice& choice);

  /// Has a preconditioner that the host makes made anew: between solves. "auto" does so when it chooses again.
  void tell_of_values(const csr_matrix<T>& pattern, const T* values);
  /// Under "auto", for other values of the matrix, where the matrix lies.
  void choose_again(const T* values);
  /// The same for a matrix with this pattern, which may lie elsewhere than the one given first.
  void choose_again(const csr_matrix<T>& A);
  /// The same for values that nobody looks at: only what is made from them is made anew.
  void keep_choice();

 private:
  bool is_named() const;
  std::unique_ptr<prepared_solve<T>> recorded(const linear_method<T>& method, const preconditioner_choice& of_M,
                                              clock::time_point began);
  /// The preconditioner of a pair that "auto" tries.
  preconditioner_choice choice_of(const solver_pair& pair) const;
  /// Those that the next solve reads, in memory of the place.
  const T* current_values() const { return bound_values ? bound_values : matrix.values(); }
  /// What a preconditioner is told of a matrix: of the permuted one, if there is one.
  std::string refreshed(const std::string& text, const csr_matrix<T>& pattern, const T* values);
  /// See prepared_methods::matrix_hooks.
  bool may_be_hidden(std::span<const T> x, double tolerance) const;
  checked_residual check(std::span<const T> b, std::span<const T> x, std::vector<T>& r) const;
  /// What preconditioner "auto" tries, and the method that "auto" takes otherwise.
  std::vector<solver_attempt> attempts_of(const csr_matrix<T>& pattern, std::span<const T> values);
  method_choice choice_for(const csr_matrix<T>& pattern, std::span<const T> values) const;
  /// Calls f with the pattern and these values of the matrix in host memory.
  template <class F>
  auto with_values(const T* values, F f) const;
};

extern template struct solver_core<float>;
extern template struct solver_core<double>;

}  // namespace whilst
