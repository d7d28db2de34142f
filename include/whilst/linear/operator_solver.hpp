#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/methods/bicgstab.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/record_in_kernel.hpp"
#include "whilst/linear/recorded_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {

/// Turns a function u_i = f(i, r_i), a trivially copyable functor, into a complete preconditioner.
template <class Function>
struct pointwise_preconditioner : Function {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
  WHILST_HD static constexpr bool made_from_operator() { return false; }
  WHILST_HD pointwise_preconditioner with_memory(index_type, workspace&) const { return *this; }
  template <class Run, class Operator>
  WHILST_HD void prepare(Run&, const Operator&) const {}
};

namespace detail {

/// A user-defined operator in place of a matrix: it binds no values, and all problems of a batch share it unless it has
/// of_problem(k).
template <class T, class Operator>
struct own_operator : Operator {
  slot<const T> values;
  WHILST_HD own_operator of_problem([[maybe_unused]] index_type k) const {
    if constexpr (requires(const Operator& A) { A.of_problem(k); }) {
      return {Operator::of_problem(k), values};
    } else {
      return *this;
    }
  }
};

template <class Preconditioner>
constexpr auto whole_preconditioner(const Preconditioner& M) {
  if constexpr (requires { Preconditioner::pointwise; }) {
    return M;
  } else {
    return pointwise_preconditioner<Preconditioner>{M};
  }
}

}  // namespace detail

/// Records solves by Method (conjugate_gradient or bicgstab) with an operator and a preconditioner of your own. Uses
/// only where, rows (as many as A has), systems and in_kernel of the request.
template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_solve(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  const detail::own_operator<T, Operator> own{A, {}};
  const auto whole = detail::whole_preconditioner(M);
  using solve = linear_solve<T, detail::own_operator<T, Operator>, std::remove_const_t<decltype(whole)>, Method>;
  if constexpr (solve::runs_in_kernel)
    if (request.in_kernel) return record_in_kernel_as<solve>(request, own, whole);
  return record_as<solve>(request, own, whole);
}

/// Solves A x = b repeatedly for an operator of your own: recorded when constructed, replayed by each solve.
/// @code
///   struct scaled_identity {                                   // trivially copyable; pointers in it are borrowed and
///     whilst::index_type n;                                         // must be of the memory of the solver's place
///     WHILST_HD whilst::index_type rows() const { return n; }
///     WHILST_HD int lanes_wanted() const { return 1; }         // 1, 2, 4, 8, 16 or 32 threads work on a row
///     template <class Team>                                    // entry i of A x, which each of them returns
///     WHILST_HD double row(whilst::index_type i, const double* x, const Team&) const { return 2 * x[i]; }
///   };
///   struct halve {                                             // entry i of M r, M close to the inverse of A
///     WHILST_HD double operator()(whilst::index_type, double r) const { return r / 2; }
///   };
///   auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(scaled_identity{1000}, halve{});
///   whilst::report r = solver.solve(b, x);
/// @endcode
/// Executors, tickets, captures and one solve at a time: all as documented for linear_solver.
template <class T>
class operator_solver final : public replayed_solver {
 public:
  /// Made by make_operator_solver.
  explicit operator_solver(std::unique_ptr<prepared_solve<T>> solve) : solve_("operator_solver", std::move(solve)) {}

  /// Solves with b and x in host memory, n entries each; x holds the initial guess and receives the solution. Blocks.
  report solve(std::span<const T> b, std::span<T> x) { return ticket(solve_->solve(b, x)).wait(); }
  report solve(const std::vector<T>& b, std::vector<T>& x) { return solve(std::span<const T>(b), std::span<T>(x)); }

  /// Enqueues a solve on `stream` and returns without waiting; b and x are pointers of the solver's place.
  ticket enqueue(stream_handle stream, const T* b, T* x) { return ticket(solve_->enqueue(stream, b, x)); }

  void set_tolerances(double rtol, double atol) { solve_->set_tolerances(rtol, atol); }

 private:
  prepared_program& prepared() const override { return *solve_; }
  detail::held<prepared_solve<T>> solve_;
};

/// Makes an operator_solver for A with Method, preconditioned by M: a function as above, or one of the library's
/// preconditioners. Ignores the options `method` and `preconditioner`. Throws whilst::error on options out of range, on
/// a null space or deflation, which only a linear_solver has, and on an executor that this machine does not have.
template <template <class, class, class> class Method, class T, class Operator,
          class Preconditioner = identity_preconditioner>
operator_solver<T> make_operator_solver(const Operator& A, const Preconditioner& M = {},
                                        linear_solver_options options = {}) {
  using whole = decltype(detail::whole_preconditioner(M));
  const auto began = std::chrono::steady_clock::now();
  const std::string_view doing = "making a solver for an operator";
  check_options(doing, options);
  if (options.null_space != "none")
    throw error(doing, "nothing here projects a null space out",
                "Set null_space to none, or use a linear_solver with an operator in parts or a callback");
  if (!options.deflation.empty())
    throw error(doing, "nothing here deflates vectors",
                "Leave them out, or use a linear_solver with an operator in parts or a callback");
  if (options.scaling != "none" || options.matrix_values != "exact")
    throw error(doing, "there is no matrix to scale or to round", "Leave scaling and matrix_values out");
  if (options.permutation != "none") throw error(doing, "there is no matrix to permute", "Leave permutation out");
  using solve = linear_solve<T, detail::own_operator<T, Operator>, whole, Method>;
  const executor_choice choice = choose_executor(wish_of(options), A.rows(), false, {.runs = solve::runs_in_kernel});
  solve_request<T> request;
  request.where = choice.where;
  request.rows = request.columns = A.rows();
  request.settings = method_settings_of(options);
  request.in_kernel = choice.how == executor::resident;
  options.method = solve::method_type::name;
  options.preconditioner = whole::is_identity                                ? "none"
                           : std::is_same_v<whole, jacobi_preconditioner<T>> ? "jacobi"
                                                                             : "user";
  return operator_solver<T>(std::make_unique<prepared_solve<T>>(request, record_solve<Method>(request, A, M),
                                                                choice.how, std::move(options), began));
}

}  // namespace whilst
