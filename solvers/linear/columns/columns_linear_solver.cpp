#include "whilst/linear/columns_linear_solver.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/columns/columns_one_by_one.hpp"
#include "solvers/linear/columns/preconditioner_of_columns.hpp"
#include "solvers/linear/columns/record_columns.hpp"
#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

constexpr std::string_view making_columns = "making a solver for several columns",
                           solving = "solving for several columns";

executor_choice choice_for(const linear_solver_options& options, index_type rows, bool on_device) {
  executor_wish wish = wish_of(options);
  wish.callback_memory = "any";  // there are no callbacks
  return choose_executor(wish, rows, on_device, {});
}

/// What keeps the columns from being solved at once; empty if nothing does.
template <class T>
std::string why_one_by_one(const csr_matrix<T>& A, const linear_solver_options& options) {
  const bool is_automatic = options.method == automatic_method;
  if (!is_automatic && options.method != "cg") return "method " + options.method + " takes one right-hand side";
  if (!is_format_for_kernels(options.format)) return "format " + options.format + " multiplies one vector";
  if (has_null_space(options)) return "a null space is projected out of one vector";
  if (has_deflation(options)) return "vectors are deflated for one right-hand side at a time";
  if (changes_matrix<T>(options)) return name_of_change(options) + " is for one right-hand side at a time";
  if (options.executor == "resident") return "executor resident solves for one right-hand side";
  if (std::string why = obstacle_for_columns(chosen_preconditioner(making_columns, options)).why; !why.empty())
    return why;
  if (!is_automatic) return "";
  if (A.rows() != A.columns()) return method_of_rectangular.why;
  const auto on_host = [&] { return copied_to_host(A, A.values_data(), choice_for(options, A.rows(), true).where); };
  const method_choice choice = choose_method(A.is_on_device() ? on_host() : A);
  const std::string method = choice.method;
  return method == "cg" ? "" : "method " + method + " was chosen, " + choice.why;
}

}  // namespace

template <class T>
struct columns_linear_solver<T>::implementation {
  index_type columns, b_entries, x_entries;  ///< entries of a column
  matrix_on_place<T> matrix;
  preconditioner_of_columns<T> M;
  std::unique_ptr<prepared_solve<T>> at_once;         ///< after all it refers to,
  std::unique_ptr<columns_one_by_one<T>> one_by_one;  ///< or this

  implementation(const csr_matrix<T>& A, index_type number, linear_solver_options options)
      : columns(number), b_entries(A.rows()), x_entries(A.columns()) {
    const auto began = std::chrono::steady_clock::now();
    if (columns < 1 || columns > most_columns)
      throw error(making_columns, "the number of columns is " + std::to_string(columns),
                  "Give 1 to " + std::to_string(most_columns) + ", and solve for more in parts");
    check_options(making_columns, options);
    if (options.method != automatic_method) method_from_name<T>(making_columns, options.method);
    std::string why = why_one_by_one(A, options);
    if (!why.empty()) {
      one_by_one = std::make_unique<columns_one_by_one<T>>(A, columns, std::move(options), std::move(why));
      return;
    }
    if (A.rows() != A.columns())
      throw error(
          making_columns,
          "the matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.columns()) + " columns",
          "Give a square one, or use method lsqr, lsmr or cgls");
    options.method = "cg";
    const executor_choice choice = choice_for(options, A.rows(), A.is_on_device());
    matrix = matrix_on_place<T>(A, choice.where, options.check_pointers, making_columns);
    solve_request<T> request = matrix.request();
    M.choose(making_columns, options, matrix, request);
    options.preconditioner = M.name();
    request.settings = method_settings_of(options);
    request.systems = columns;
    for (std::vector<double>* const vectors : {&options.amg.near_null_space, &options.amg.coordinates})
      vectors->clear();
    options.block_jacobi.offsets.clear();
    at_once = std::make_unique<prepared_solve<T>>(request, record_columns(request), choice.how, options, began);
    M.note_program();
    at_once->desk().common.format = csr_format;
    at_once->desk().common.preconditioner_choice = M.words();
  }

  void check_size(const char* what, std::size_t given, index_type of_column) const {
    if (static_cast<index_type>(given) == columns * of_column) return;
    throw error(solving,
                std::string(what) + " has " + std::to_string(given) + " entries, and " + std::to_string(columns) +
                    " columns of " + std::to_string(of_column) + " have " + std::to_string(columns * of_column),
                "Put the columns one after another, or give the stride between them");
  }
  columns_report solve(std::span<const T> B, std::span<T> X) {
    check_size("B", B.size(), b_entries);
    check_size("X", X.size(), x_entries);
    return one_by_one ? one_by_one->solve(B, X) : columns_ticket(at_once->solve(B, X)).wait();
  }
};

template <class T>
columns_linear_solver<T>::columns_linear_solver(const csr_matrix<T>& A, index_type columns,
                                                linear_solver_options options)
    : implementation_("columns_linear_solver", std::make_unique<implementation>(A, columns, std::move(options))) {}
template <class T>
columns_linear_solver<T>::~columns_linear_solver() = default;
template <class T>
columns_linear_solver<T>::columns_linear_solver(columns_linear_solver&&) noexcept = default;
template <class T>
columns_linear_solver<T>& columns_linear_solver<T>::operator=(columns_linear_solver&&) noexcept = default;

template <class T>
prepared_program& columns_linear_solver<T>::prepared() const {
  return is_at_once() ? *implementation_->at_once : implementation_->one_by_one->prepared();
}
template <class T>
prepared_program& columns_linear_solver<T>::running() const {
  return is_at_once() ? *implementation_->at_once : implementation_->one_by_one->running();
}

template <class T>
columns_report columns_linear_solver<T>::solve(std::span<const T> B, std::span<T> X) {
  return implementation_->solve(B, X);
}
template <class T>
columns_report columns_linear_solver<T>::solve(stream_handle stream, const T* B, T* X) {
  implementation& self = *implementation_;
  if (is_at_once()) return columns_ticket(self.at_once->solve(solving, stream, B, X)).wait();
  self.one_by_one->prepared().require_vectors(solving, stream, B, X);  // columns begin within them
  return self.one_by_one->solve(stream, B, X);
}
template <class T>
columns_report columns_linear_solver<T>::solve(const T* B, index_type b_stride, T* X, index_type x_stride) {
  const implementation& self = *implementation_;
  const auto check = [](const char* what, index_type stride, index_type entries) {
    if (stride < entries)
      throw error(solving,
                  "the columns of " + std::string(what) + " have " + std::to_string(entries) + " entries, and begin " +
                      std::to_string(stride) + " apart",
                  "Give a stride that is no less");
  };
  if ((!B && self.b_entries > 0) || (!X && self.x_entries > 0))
    throw error(solving, !B ? "the pointer to B is null" : "the pointer to X is null", "Give both, in host memory");
  check("B", b_stride, self.b_entries);
  check("X", x_stride, self.x_entries);
  const auto copied = [&](const T* from, index_type stride, index_type entries) {
    std::vector<T> tight(static_cast<std::size_t>(self.columns * entries));
    for (index_type k = 0; k < self.columns; ++k) std::copy_n(from + k * stride, entries, tight.begin() + k * entries);
    return tight;
  };
  const std::vector<T> b = copied(B, b_stride, self.b_entries);
  std::vector<T> x = copied(X, x_stride, self.x_entries);
  columns_report ended = implementation_->solve(b, x);
  for (index_type k = 0; k < self.columns; ++k)
    std::copy_n(x.begin() + k * self.x_entries, self.x_entries, X + k * x_stride);
  return ended;
}

template <class T>
columns_ticket columns_linear_solver<T>::enqueue(stream_handle stream, const T* B, T* X) {
  if (!is_at_once())
    throw error("enqueueing a solve for several columns",
                "they are solved one after another, since " + implementation_->one_by_one->why(),
                "Use solve(), which takes a stream, too, or enqueue each column with a linear_solver");
  return columns_ticket(implementation_->at_once->enqueue(stream, B, X));
}

template <class T>
void columns_linear_solver<T>::update_values(std::span<const T> values) {
  implementation& self = *implementation_;
  if (!is_at_once()) return self.one_by_one->update_values(values);
  const auto mine = self.at_once->enter("updating a matrix's values");
  self.at_once->recorded().wait();
  self.matrix.update_values(values);
  self.at_once->bind_values(self.matrix.request().values);
  if (self.M.values_changed(self.matrix.given(), values.data()))
    self.at_once->desk().note_preconditioner(self.M.words());
}
template <class T>
void columns_linear_solver<T>::set_tolerances(double rtol, double atol) {
  is_at_once() ? implementation_->at_once->set_tolerances(rtol, atol)
               : implementation_->one_by_one->set_tolerances(rtol, atol);
}
template <class T>
std::string columns_linear_solver<T>::explain() const {
  return is_at_once() ? recorded_solver::explain() + implementation_->M.explain()
                      : implementation_->one_by_one->explain();
}
template <class T>
memory_table columns_linear_solver<T>::memory() const {
  if (!is_at_once()) return implementation_->one_by_one->memory();
  memory_table table = recorded_solver::memory();
  implementation_->M.add_to(table, implementation_->matrix.request().where);
  return table;
}
template <class T>
index_type columns_linear_solver<T>::columns() const {
  return implementation_->columns;
}
template <class T>
bool columns_linear_solver<T>::is_at_once() const {
  return implementation_->at_once != nullptr;
}
template <class T>
const std::string& columns_linear_solver<T>::device() const {
  return prepared().common().device;
}

template class columns_linear_solver<float>;
template class columns_linear_solver<double>;

}  // namespace whilst
