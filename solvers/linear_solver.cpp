#include "whilst/linear_solver.hpp"

#include <optional>
#include <string_view>

#include "solvers/matrix_on_place.hpp"
#include "solvers/prepared_solve.hpp"
#include "solvers/solve_options.hpp"

namespace whilst {

template <class T>
struct linear_solver<T>::implementation {
  preconditioner_callback callback;
  matrix_on_place<T> matrix;
  std::optional<csr_matrix<T>> values_of;    ///< whose values lie on the place; none where that is not known
  std::unique_ptr<prepared_solve<T>> solve;  ///< after what it refers to

  implementation(const csr_matrix<T>& A, preconditioner_callback preconditioner, linear_solver_options options)
      : callback(std::move(preconditioner)) {
    constexpr std::string_view making = "making a linear solver";
    const auto began = std::chrono::steady_clock::now();
    const linear_method<T>& method = method_from_name<T>(making, options.method);
    check_options(making, options);
    if (A.rows() != A.columns())
      throw error(
          making,
          "the matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.columns()) + " columns",
          "Give a square one");
    const executor_choice choice =
        choose_executor(options, A.rows(), A.is_on_device(), callback == nullptr, A.nonzeros());
    matrix = matrix_on_place<T>(A, choice.where);
    values_of = A;

    solve_request<T> request = matrix.request();
    request.preconditioner =
        callback ? preconditioner_kind::called : preconditioner_from_name(making, options.preconditioner);
    if (callback) options.preconditioner = "user";
    request.called = &callback;
    request.in_kernel = choice.how == executor::resident;
    solve = std::make_unique<prepared_solve<T>>(request, method.record(request), choice.how, std::move(options), began);
  }
};

template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, linear_solver_options options)
    : implementation_(std::make_unique<implementation>(A, nullptr, std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, preconditioner_callback preconditioner,
                                linear_solver_options options)
    : implementation_(std::make_unique<implementation>(A, std::move(preconditioner), std::move(options))) {}
template <class T>
linear_solver<T>::~linear_solver() = default;
template <class T>
linear_solver<T>::linear_solver(linear_solver&&) noexcept = default;
template <class T>
linear_solver<T>& linear_solver<T>::operator=(linear_solver&&) noexcept = default;
template <class T>
prepared_program& linear_solver<T>::prepared() const {
  return *implementation_->solve;
}

template <class T>
report linear_solver<T>::solve(std::span<const T> b, std::span<T> x) {
  return ticket(implementation_->solve->solve(b, x)).wait();
}
template <class T>
ticket linear_solver<T>::enqueue(stream_handle stream, const T* b, T* x) {
  return ticket(implementation_->solve->enqueue(stream, b, x));
}

template <class T>
void linear_solver<T>::update_values(std::span<const T> values) {
  const turns::turn mine = implementation_->solve->enter("updating a matrix's values");
  implementation_->solve->recorded().wait();
  implementation_->values_of.reset();
  implementation_->matrix.update_values(values);
  implementation_->solve->bind_values(implementation_->matrix.request().values);  // where another array was meanwhile
}
template <class T>
void linear_solver<T>::update_values(const csr_matrix<T>& A) {
  const solve_request<T>& made_for = implementation_->matrix.request();
  if (A.rows() != made_for.rows || A.nonzeros() != made_for.nonzeros)
    throw error("updating a matrix's values",
                "the new matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.nonzeros()) +
                    " nonzeros, the solver's " + std::to_string(made_for.rows) + " and " +
                    std::to_string(made_for.nonzeros),
                "Give one with the same pattern");
  if (A.is_on_device()) return bind_values(A.values_data());
  const turns::turn mine = implementation_->solve->enter("updating a matrix's values");
  // Nobody can have written to them since: they are shared, and kept alive here.
  if (implementation_->values_of && implementation_->values_of->values_data() == A.values_data()) return;
  update_values(A.values());
  implementation_->values_of = A;
}
template <class T>
void linear_solver<T>::bind_values(const T* values) {
  const turns::turn mine = implementation_->solve->recorded().take_turn();
  implementation_->values_of.reset();
  implementation_->solve->bind_values(values);
}
template <class T>
void linear_solver<T>::set_tolerances(double rtol, double atol) {
  implementation_->solve->set_tolerances(rtol, atol);
}
template <class T>
void linear_solver<T>::set_divergence(double dtol) {
  implementation_->solve->set_divergence(dtol);
}
template <class T>
memory_table linear_solver<T>::memory() const {
  memory_table table = implementation_->solve->recorded().memory();
  table.items.insert(table.items.begin(), implementation_->matrix.memory());
  return table;
}
template <class T>
index_type linear_solver<T>::bytes() const {
  return implementation_->matrix.bytes() + implementation_->solve->bytes();
}
template <class T>
bool linear_solver<T>::is_lost() const {
  return implementation_->solve->desk().life().ended();
}

template class linear_solver<float>;
template class linear_solver<double>;

}  // namespace whilst
