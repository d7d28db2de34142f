#include "whilst/linear/linear_solver.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "solvers/linear/solver_core.hpp"
#include "solvers/linear/solver_refusals.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

template <class Part>
Part checked(Part part, const char* what, const char* cure) {
  if (part) return part;
  throw error(making_linear_solver, std::string(what) + " is empty", cure);
}

}  // namespace

template <class T>
struct linear_solver<T>::implementation : solver_core<T> {
  using clock = std::chrono::steady_clock;
  using core = solver_core<T>;
  using core::matrix, core::parts, core::M, core::chosen_M, core::chooses_M, core::null_space, core::deflation,
      core::options, core::how, core::only_in_kernel, core::solve, core::record, core::note_choice,
      core::tell_of_values, core::choose_again, core::bound_values;
  std::optional<csr_matrix<T>> values_of;  ///< the matrix whose values are on the place; none if unknown
  std::optional<csr_matrix<T>> bound;      ///< keeps alive the values that the program reads, if they are a matrix's

  /// M: callbacks and parts both become parts once the number of rows is known.
  implementation(const csr_matrix<T>& A, preconditioner_callback called, std::shared_ptr<preconditioner<T>> given,
                 linear_solver_options asked)
      : core(called ? make_called_preconditioner<T>(A.columns(), std::move(called)) : std::move(given),
             std::move(asked)) {
    const auto began = clock::now();
    const linear_method<T>* named = checked_method();
    const bool is_square = A.rows() == A.columns(), is_automatic = !named;
    if (!is_square && is_automatic) named = &method_from_name<T>(making_linear_solver, method_of_rectangular.method);
    if (named) require_shape<T>(making_linear_solver, options, *named, A.rows(), A.columns(), nullptr);
    resolve_preconditioner(is_square && !(named && named->needs.transpose), /*has_diagonal=*/true);
    executor_wish wish = wish_of(options);
    if (!M) wish.callback_memory = "any";
    require_steps<T>(making_linear_solver, options);
    require_change_of_matrix<T>(making_linear_solver, options, true, M != nullptr);
    chosen_M = chosen_preconditioner(making_linear_solver, options);
    require_matrix_for_parts(named);
    kernel_abilities in_kernel = named ? named->in_kernel : in_kernel_of_automatic;
    if (M || chooses_M || chosen_M.description || !is_format_for_kernels(options.format) || has_null_space(options) ||
        has_deflation(options) || changes_matrix<T>(options))
      in_kernel = {};
    const executor_choice choice = choose_executor(wish, A.rows(), A.is_on_device(), in_kernel, A.nonzeros());
    how = choice.how;
    if (!named && how == whilst::executor::resident) {
      constexpr index_type beyond_a_block = std::numeric_limits<index_type>::max();
      only_in_kernel = choose_executor(wish, beyond_a_block, A.is_on_device(), {.runs = true}).how == how;
    }
    matrix = stored_matrix<T>(making_linear_solver, A, choice.where, options, how, named && named->needs.transpose);
    values_of = A;
    require_null_space(making_linear_solver, A);
    record(named, A.values_data(), began);
    if (!is_square && is_automatic) note_choice(method_of_rectangular);
  }

  implementation(index_type n, operator_callback A, preconditioner_callback called, linear_solver_options asked)
      : core(called ? make_called_preconditioner<T>(n, std::move(called)) : nullptr, std::move(asked)) {
    const auto began = clock::now();
    const linear_method<T>* const named = checked_method();
    if (n < 0) throw error(making_linear_solver, "the number of rows is " + std::to_string(n), "Give 0 or more");
    A = checked(std::move(A), "the operator's callback", "Give a function that makes y = A x");
    const executor_choice choice = choose_executor(wish_of(options), n, false, {});
    parts = make_called_operator<T>(choice.where, n, std::move(A));
    record_parts(named, choice, began);
  }

  implementation(index_type rows, index_type columns, operator_callback A, operator_callback A_transposed,
                 linear_solver_options asked)
      : core(nullptr, std::move(asked)) {
    const auto began = clock::now();
    const linear_method<T>* const named = checked_method();
    if (rows < 0 || columns < 0)
      throw error(making_linear_solver,
                  "there are " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
                  "Give 0 or more of each");
    A = checked(std::move(A), "the operator's callback", "Give a function that makes y = A x");
    A_transposed = checked(std::move(A_transposed), "the transpose's callback", "Give a function that makes y = A'x");
    const executor_choice choice = choose_executor(wish_of(options), rows, false, {});
    parts = make_called_operator<T>(choice.where, rows, columns, std::move(A), std::move(A_transposed));
    record_parts(named, choice, began);
  }

  implementation(std::shared_ptr<linear_operator<T>> A, std::shared_ptr<preconditioner<T>> given,
                 linear_solver_options asked)
      : core(std::move(given), std::move(asked)) {
    parts = checked(std::move(A), "the operator", "Give one");
    const auto began = clock::now();
    const linear_method<T>* const named = checked_method();
    record_parts(named, choice_at(parts->where(), options), began);
  }

  /// Preconditioner "auto" chooses where it can be made from the matrix, and is the diagonal where it cannot.
  void resolve_preconditioner(bool may_choose, bool has_diagonal) {
    if (options.preconditioner != automatic_preconditioner) return;
    chooses_M = may_choose && !M && options.executor != "resident" && !changes_matrix<T>(options);
    if (!chooses_M) options.preconditioner = has_diagonal && !M ? "jacobi" : "none";
    // What it names has settings of its own.
    options.ilu = {};
  }

  /// Throws where the preconditioner that was chosen is made from a matrix, and cannot be.
  void require_matrix_for_parts(const linear_method<T>* named) const {
    if (M || !chosen_M.description) return;
    if (named && named->needs.transpose)
      throw error(making_linear_solver,
                  "preconditioner " + chosen_M.name + " is for A, and method " + options.method + " wants one for A'A",
                  "Use none or jacobi, or another method");
    if (changes_values<T>(options))
      throw error(
          making_linear_solver,
          name_of_change_of_values(options) + " changes the matrix that preconditioner " + chosen_M.name + " is for",
          "Leave out one of the two");
  }

  /// Null for "auto".
  const linear_method<T>* checked_method() const {
    const linear_method<T>* named = nullptr;
    if (options.method != automatic_method) named = &method_from_name<T>(making_linear_solver, options.method);
    check_options(making_linear_solver, options);
    return named;
  }

  static executor_choice choice_at(place where, const linear_solver_options& options) {
    executor_wish wish{options.executor, where.on_host() ? -1 : where.device(), "any"};
    if (options.executor == "auto") wish.callback_memory = where.on_host() ? "host" : "device";
    const executor_choice choice = choose_executor(wish, 0, false, {});
    if (choice.where == where) return choice;
    throw error(making_linear_solver,
                "the operator is on " + name_of(where) + ", and executor " + options.executor + " runs on " +
                    name_of(choice.where),
                "Make the operator on the place that the executor uses");
  }

  /// Throws if A does not have the null space that it is said to have.
  void require_null_space(std::string_view doing, const csr_matrix<T>& A) const {
    if (!has_null_space(options)) return;
    const csr_matrix<T> on_host = A.is_on_device() ? copied_to_host(A, A.values_data(), matrix.where()) : A;
    whilst::require_null_space(doing, options, on_host, on_host.values());
  }

  void record_parts(const linear_method<T>* named, const executor_choice& choice, clock::time_point began) {
    const bool is_square = parts->rows() == parts->columns(), is_automatic = !named;
    if (!is_square && is_automatic) named = &method_from_name<T>(making_linear_solver, method_of_rectangular.method);
    if (named) require_shape(making_linear_solver, options, *named, parts->rows(), parts->columns(), parts.get());
    const bool of_normal = named && named->needs.transpose;
    resolve_preconditioner(false, of_normal ? parts->has_normal_diagonal() : parts->has_diagonal());
    if (!M && options.preconditioner == "jacobi" && !(of_normal ? parts->has_normal_diagonal() : parts->has_diagonal()))
      throw error(making_linear_solver,
                  "preconditioner jacobi wants the diagonal, and the operator tells of products alone",
                  "Use none, or give a preconditioner of your own");
    if (!is_format_for_kernels(options.format))
      throw error(making_linear_solver, "format " + options.format + " is of a matrix, and there is none",
                  "Leave the format out");
    require_change_of_matrix<T>(making_linear_solver, options, false, M != nullptr);
    chosen_M = chosen_preconditioner(making_linear_solver, options);
    require_matrix_for_parts(named);
    if (!M && chosen_M.description && !chosen_M.description->takes_operators)
      throw error(
          making_linear_solver,
          "preconditioner " + chosen_M.name + " is made from a matrix, and the operator tells of products alone",
          "Give the matrix, or use none or a preconditioner of your own");
    how = choice.how;
    record(named, nullptr, began);
    if (!is_square && is_automatic) note_choice(method_of_rectangular);
  }
  void require_matrix() const {
    if (parts)
      throw error("updating a matrix's values", "the solver was made for an operator without a matrix",
                  "Have the operator use other values");
  }
};

namespace {
constexpr const char* preconditioner_is_missing = "Give one that makes z = M r, or leave it out";
constexpr const char* called_preconditioner_name = "the preconditioner's callback";
}  // namespace

template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, linear_solver_options options)
    : implementation_("linear_solver", std::make_unique<implementation>(A, nullptr, nullptr, std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(called M, const csr_matrix<T>& A, linear_solver_options options)
    : implementation_("linear_solver",
                      std::make_unique<implementation>(
                          A, checked(std::move(M.M), called_preconditioner_name, preconditioner_is_missing), nullptr,
                          std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(const csr_matrix<T>& A, std::shared_ptr<preconditioner<T>> M,
                                linear_solver_options options)
    : implementation_(
          "linear_solver",
          std::make_unique<implementation>(
              A, nullptr, checked(std::move(M), "the preconditioner", preconditioner_is_missing), std::move(options))) {
}
template <class T>
linear_solver<T>::linear_solver(index_type n, operator_callback A, linear_solver_options options)
    : implementation_("linear_solver", std::make_unique<implementation>(n, std::move(A), nullptr, std::move(options))) {
}
template <class T>
linear_solver<T>::linear_solver(called M, index_type n, operator_callback A, linear_solver_options options)
    : implementation_(
          "linear_solver",
          std::make_unique<implementation>(
              n, std::move(A), checked(std::move(M.M), called_preconditioner_name, preconditioner_is_missing),
              std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(index_type rows, index_type columns, operator_callback A,
                                operator_callback A_transposed, linear_solver_options options)
    : implementation_("linear_solver", std::make_unique<implementation>(rows, columns, std::move(A),
                                                                        std::move(A_transposed), std::move(options))) {}
template <class T>
linear_solver<T>::linear_solver(std::shared_ptr<linear_operator<T>> A, std::shared_ptr<preconditioner<T>> M,
                                linear_solver_options options)
    : implementation_("linear_solver",
                      std::make_unique<implementation>(std::move(A), std::move(M), std::move(options))) {}
template <class T>
linear_solver<T>::~linear_solver() = default;
template <class T>
linear_solver<T>::linear_solver(linear_solver&&) noexcept = default;
template <class T>
linear_solver<T>& linear_solver<T>::operator=(linear_solver&&) noexcept = default;
template <class T>
prepared_program& linear_solver<T>::prepared() const {
  return implementation_->solve->chosen();
}
template <class T>
prepared_program& linear_solver<T>::running() const {
  return implementation_->solve->running();
}

template <class T>
report linear_solver<T>::solve(std::span<const T> b, std::span<T> x) {
  return implementation_->solve->solve(b, x);
}
template <class T>
report linear_solver<T>::solve(stream_handle stream, const T* b, T* x) {
  return implementation_->solve->solve(stream, b, x);
}
template <class T>
ticket linear_solver<T>::enqueue(stream_handle stream, const T* b, T* x) {
  const auto mine = implementation_->solve->enter("enqueueing a solve");
  return ticket(implementation_->solve->chosen().enqueue(stream, b, x));
}

template <class T>
void linear_solver<T>::update_values(std::span<const T> values) {
  implementation_->require_matrix();
  const auto mine = implementation_->solve->enter("updating a matrix's values");
  if (!implementation_->matrix.given().is_on_device())
    require_null_space("updating a matrix's values", implementation_->options, implementation_->matrix.given(), values);
  implementation_->solve->wait();
  implementation_->values_of.reset();
  implementation_->matrix.update_values(values);
  implementation_->solve->bind_values(implementation_->matrix.values());  // in case another array was bound
  implementation_->bound.reset();
  implementation_->bound_values = nullptr;
  implementation_->tell_of_values(implementation_->matrix.given(), values.data());
  implementation_->choose_again(values.data());
}
template <class T>
void linear_solver<T>::update_values(const csr_matrix<T>& A) {
  implementation_->require_matrix();
  const stored_matrix<T>& made_for = implementation_->matrix;
  if (A.rows() != made_for.rows() || A.columns() != made_for.columns() || A.nonzeros() != made_for.nonzeros())
    throw error("updating a matrix's values",
                "the new matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.nonzeros()) +
                    " nonzeros, the solver's " + std::to_string(made_for.rows()) + " and " +
                    std::to_string(made_for.nonzeros()),
                "Give one with the same pattern");
  if (A.is_on_device() && made_for.where().on_host())
    throw error("updating a matrix's values", "the new ones are in device memory, and the solver is on the host",
                "Copy them to the host");
  const auto mine = implementation_->solve->enter("updating a matrix's values");
  std::optional<csr_matrix<T>>& values_of = implementation_->values_of;
  // Unless borrowed, they are shared, and kept alive here.
  const bool unchanged = values_of && !A.is_borrowed() && values_of->values_data() == A.values_data();
  if (implementation_->matrix.is_read_in_place(A)) {
    if (!unchanged) implementation_->require_null_space("updating a matrix's values", A);
    implementation_->solve->bind_values(A.values_data());
    implementation_->bound = A;
    implementation_->bound_values = A.values_data();
    if (!unchanged) {
      implementation_->tell_of_values(A, A.values_data());
      implementation_->choose_again(A);
    }
  } else {
    if (unchanged) return;
    update_values(A.values());
  }
  values_of = A;
}
template <class T>
void linear_solver<T>::bind_values(const T* values) {
  implementation_->require_matrix();
  const auto mine = implementation_->solve->enter("binding a matrix's values");
  implementation_->values_of.reset();
  implementation_->solve->bind_values(values);
  implementation_->bound.reset();
  implementation_->bound_values = values;
  implementation_->tell_of_values(implementation_->matrix.given(), values);
  implementation_->keep_choice();
}
template <class T>
void linear_solver<T>::refresh_preconditioner() {
  const auto mine = implementation_->solve->enter("refreshing a preconditioner");
  implementation_->solve->wait();
  implementation_->made_Ms.begin_sequence();
}
template <class T>
void linear_solver<T>::set_tolerances(double rtol, double atol) {
  implementation_->solve->chosen().set_tolerances(rtol, atol);
}
template <class T>
void linear_solver<T>::set_divergence(double dtol) {
  implementation_->solve->chosen().set_divergence(dtol);
}
template <class T>
std::string linear_solver<T>::explain() const {
  return replayed_solver::explain() + implementation_->made_Ms.explain();
}
template <class T>
memory_table linear_solver<T>::memory() const {
  memory_table table = implementation_->solve->memory();
  std::vector<memory_item> own;
  if (const auto& null_space = implementation_->null_space; null_space && null_space->bytes() > 0)
    own.push_back({.name = "the vectors of the null space",
                   .where = name_of(implementation_->solve->chosen().recorded().where()),
                   .bytes = static_cast<std::size_t>(null_space->bytes())});
  if (const auto& deflation = implementation_->deflation)
    own.push_back({.name = "the vectors of deflation",
                   .where = name_of(implementation_->solve->chosen().recorded().where()),
                   .bytes = static_cast<std::size_t>(deflation->bytes())});
  if (const index_type of_made_Ms = implementation_->made_Ms.bytes(); of_made_Ms > 0)
    own.push_back(
        {.name = (implementation_->chooses_M ? "what was made for" : implementation_->chosen_M.description->contents) +
                 (" " + implementation_->chosen_M.name),
         .where = name_of(implementation_->solve->chosen().recorded().where()),
         .bytes = static_cast<std::size_t>(of_made_Ms)});
  if (!implementation_->parts) {
    const std::vector<memory_item> of_matrix = implementation_->matrix.memory();
    own.insert(own.end(), of_matrix.begin(), of_matrix.end());
  }
  table.items.insert(table.items.begin(), own.begin(), own.end());
  return table;
}
template <class T>
index_type linear_solver<T>::bytes() const {
  const index_type of_null_space = implementation_->null_space ? implementation_->null_space->bytes() : 0;
  const index_type of_deflation = implementation_->deflation ? implementation_->deflation->bytes() : 0;
  return implementation_->matrix.bytes() + of_null_space + of_deflation + implementation_->made_Ms.bytes() +
         implementation_->solve->bytes();
}
template <class T>
bool linear_solver<T>::is_lost() const {
  return implementation_->solve->chosen().desk().life().ended();
}

template class linear_solver<float>;
template class linear_solver<double>;

}  // namespace whilst
