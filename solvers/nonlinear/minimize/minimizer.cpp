#include "whilst/nonlinear/minimize/minimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "solvers/nonlinear/descent/prepared_descent.hpp"
#include "solvers/nonlinear/minimize/recorded_minimization.hpp"
#include "whilst/exchange/transports.hpp"
#include "whilst/nonlinear/minimize/hessian_preconditioner.hpp"

namespace whilst {
namespace {

constexpr std::string_view making_minimizer = "making a minimizer";

struct named_damping {
  std::string_view name;
  damping_kind kind;
};
constexpr std::array<named_damping, 2> dampings{
    {{"nielsen", damping_kind::nielsen}, {"classic", damping_kind::classic}}};

enum class hessian_choice { automatic, assembled, matrix_free };
struct named_hessian {
  std::string_view name;
  hessian_choice choice;
};
constexpr std::array<named_hessian, 3> hessians{{{"auto", hessian_choice::automatic},
                                                 {"assembled", hessian_choice::assembled},
                                                 {"matrix-free", hessian_choice::matrix_free}}};

/// Whether a method is to use products of the Hessian; throws if it cannot have the Hessian as requested.
template <class T>
bool wants_products(const objective<T>& f, const descent_method<T>& method, hessian_choice choice) {
  if (!method.wants_hessian) return false;
  const std::string by = "method '" + std::string(method.name) + "'";
  if (choice == hessian_choice::matrix_free && !method.takes_products)
    throw error(making_minimizer, by + " factors the Hessian, and the options say matrix-free",
                "Use newton-cg, trust-region, levenberg-marquardt or dogleg");
  const bool has_matrix = f.has_hessian() && choice != hessian_choice::matrix_free;
  const bool has_products = f.has_products() && method.takes_products && choice != hessian_choice::assembled;
  if (!has_matrix && !has_products)
    throw error(making_minimizer,
                by + " wants the Hessian, and the function has none" +
                    (f.has_products()  ? " but as products"
                     : f.has_hessian() ? " but as a matrix"
                                       : ""),
                f.has_products()  ? "Use newton-cg with hessian auto, or a method of gradients, as lbfgs"
                : f.has_hessian() ? "Leave hessian at auto, or use a method of gradients, as lbfgs"
                                  : "Use a method of gradients, as lbfgs");
  return !has_matrix;
}

/// amg is made from a matrix, and methods other than newton-cg precondition by the diagonal within their steps.
void require_method_for_preconditioner(const minimizer_options& options, bool matrix_free) {
  if (options.preconditioner == "jacobi") return;
  const std::string what = "preconditioner '" + options.preconditioner + "' ";
  if (options.method != "newton-cg")
    throw error(making_minimizer, what + "is for method newton-cg alone, not '" + options.method + "'",
                "Use newton-cg, or leave preconditioner at jacobi");
  if (matrix_free)
    throw error(making_minimizer, what + "wants the Hessian as a matrix, and gets it as products",
                "Leave hessian at auto with a function that has a matrix, or leave preconditioner at jacobi");
}

void check(const minimizer_options& options) {
  check_descent(making_minimizer, options.tolerances, options.lower_bound);
  if (!(options.first_damping > 0 && options.first_damping < HUGE_VAL))
    throw error(making_minimizer, "first_damping is not a positive number",
                "Give one, as 1e-3, or 100 for a start far off");
  check_transport(making_minimizer, options.transport);
  descent_options(options).check(making_minimizer);
}

}  // namespace

std::string minimize_report::message() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, f = %.10g, ||g|| = %.3g",
                static_cast<long long>(iterations()), value, residual_norm());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(sentence(reason())) + numbers;
}

template <class T>
struct minimizer<T>::implementation {
  double lower_bound;
  hessian_preconditioner<T> M;
  std::unique_ptr<prepared_descent<T>> prepared;  ///< after what its steps refer to

  implementation(const objective<T>& f, const minimizer_options& options) : lower_bound(options.lower_bound) {
    const auto began = prepared_program::clock::now();
    check(options);
    const descent_method<T> method = find_by_name(making_minimizer, descent_methods<T>, options.method, "method");
    const line_search_kind search = line_search_from_name(making_minimizer, options.line_search);
    const damping_settings damping{options.first_damping,
                                   find_by_name(making_minimizer, dampings, options.damping, "damping").kind};
    const bool matrix_free =
        wants_products(f, method, find_by_name(making_minimizer, hessians, options.hessian, "Hessian").choice);
    const bool in_parallel = search == line_search_kind::parallel && method.searches_lines;
    if (in_parallel && !f.has_values_along())
      throw error(making_minimizer, "line search 'parallel' wants values of f along a line, and the function has none",
                  "Give a called_objective the callback for them, or use another line search, as strong-wolfe");
    const index_type n = f.unknowns();
    if (n < 1)
      throw error(making_minimizer, "the function has " + std::to_string(n) + " unknowns", "Give it 1 or more");
    check_unknowns(making_minimizer, options.method, n, method.most_unknowns, "lbfgs or newton-cg");
    const descent_options loop(options);
    const whilst::executor how = loop.executor_on(f.where(), making_minimizer, "the function");
    require_method_for_preconditioner(options, matrix_free);
    M = make_hessian_preconditioner<T>(making_minimizer, f, options.preconditioner, options.amg, options.typical_point);
    const index_type inner_limit = std::max<index_type>(2 * n, 20);  // n would suffice in exact arithmetic
    prepared = std::make_unique<prepared_descent<T>>(
        method.record({&f, options.history_capacity, inner_limit, matrix_free, damping, in_parallel, M.parts.get()}),
        how, loop, usual_descent_settings(options.method, search, options.tolerances, lower_bound, sizeof(T) == 4, n),
        options.method, n, began);
    if (M.parts) prepared->desk().common.preconditioner_choice = M.description;
  }
};

template <class T>
minimizer<T>::minimizer(const objective<T>& function, minimizer_options options)
    : implementation_("minimizer", std::make_unique<implementation>(function, options)) {}
template <class T>
minimizer<T>::~minimizer() = default;
template <class T>
minimizer<T>::minimizer(minimizer&&) noexcept = default;
template <class T>
minimizer<T>& minimizer<T>::operator=(minimizer&&) noexcept = default;
template <class T>
prepared_program& minimizer<T>::prepared() const {
  return *implementation_->prepared;
}

template <class T>
minimize_report minimizer<T>::solve(std::span<T> x) {
  auto [told, value, trial_values, refreshes] = implementation_->prepared->solve("minimizing a function", "it has", x);
  return {std::move(told), value, trial_values, refreshes};
}
template <class T>
minimize_report minimizer<T>::solve(stream_handle stream, T* x) {
  auto [told, value, trial_values, refreshes] = implementation_->prepared->solve("minimizing a function", stream, x);
  return {std::move(told), value, trial_values, refreshes};
}
template <class T>
ticket minimizer<T>::enqueue(stream_handle stream, T* x) {
  return ticket(implementation_->prepared->enqueue(stream, nullptr, x));
}
template <class T>
void minimizer<T>::set_tolerances(const descent_tolerances& tolerances) {
  check_descent(making_minimizer, tolerances, implementation_->lower_bound);
  implementation_->prepared->set_tolerances(tolerances);
}
template <class T>
memory_table minimizer<T>::memory() const {
  memory_table table = replayed_solver::memory();
  if (implementation_->M.bytes > 0)
    table.items.insert(table.items.begin(), {.name = "the levels of amg",
                                             .where = name_of(implementation_->prepared->recorded().where()),
                                             .bytes = static_cast<std::size_t>(implementation_->M.bytes)});
  return table;
}

template class minimizer<float>;
template class minimizer<double>;

}  // namespace whilst
