#include "whilst/linear/eigenvalue_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "solvers/linear/columns/preconditioner_of_columns.hpp"
#include "solvers/linear/eigenvalues/record_eigenvalues.hpp"
#include "solvers/linear/eigenvalues/symmetric_matrix.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/host/prepared_program.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

constexpr std::string_view making_eigenvalues = "making an eigenvalue solver";

/// Besides the true residuals at the end few restarts are needed.
constexpr index_type most_eigenvalue_restarts = 100;
constexpr int most_block_columns_asked = 24;

/// History: an even number, since it is halved when full.
loop_options loop_options_of(const eigenvalue_options& options) {
  loop_options made(options);
  made.history_capacity = made.history_capacity / 2 * 2;
  return made;
}

void refuse_rtol(std::string_view doing, double rtol) {
  if (!(rtol >= 0) || std::isinf(rtol)) throw error(doing, "rtol is negative or not finite", "Give 0 or more, as 1e-8");
}

void check_options(const eigenvalue_options& options) {
  const auto refuse = [](const std::string& what, const std::string& cure) {
    throw error(making_eigenvalues, what, cure);
  };
  if (options.count < 1 || options.count > most_eigenpairs)
    refuse("count is " + std::to_string(options.count), "Give 1 to " + std::to_string(most_eigenpairs));
  if (options.which != "smallest" && options.which != "largest")
    refuse("there are no '" + options.which + "' eigenvalues", "Use one of smallest, largest");
  if (options.method != "lobpcg") refuse("there is no method called '" + options.method + "'", "Use lobpcg");
  const int block = options.block_columns;
  if (block != 0 && (block < options.count || block > most_block_columns_asked))
    refuse("block_columns is " + std::to_string(block), "Give " + std::to_string(options.count) + ", the count, to " +
                                                            std::to_string(most_block_columns_asked) +
                                                            ", or 0 to have it chosen");
  refuse_rtol(making_eigenvalues, options.rtol);
  if (options.history_capacity < 2) refuse("history_capacity is below 2", "Use 4096, say");
  loop_options_of(options).check(making_eigenvalues);
}

/// Columns lie in pairs.
int block_columns_of(const eigenvalue_options& options) {
  const int chosen = options.count + std::max(1, options.count / 4);
  const int asked = options.block_columns ? options.block_columns : chosen;
  return asked + asked % 2;
}

}  // namespace

std::string_view eigenvalue_report::explanation() const {
  switch (reason()) {
    case reason::converged_rtol:
      return "the residuals of all pairs fell to rtol times the norm of the matrix";
    case reason::attainable_accuracy:
      return "rounding keeps a residual above the tolerance";
    case reason::breakdown:
      return "the block spans fewer directions than pairs are wanted";
    case reason::indefinite_operator:
      return "the matrix is not definite, as its preconditioner demands";
    case reason::indefinite_preconditioner:
      return "the preconditioner is not positive definite";
    default:
      return sentence(reason());
  }
}

std::string eigenvalue_report::message() const {
  char numbers[120];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, largest residual %.3g of the norm of the matrix",
                static_cast<long long>(iterations()), relative_residual());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(explanation()) + numbers;
}

eigenvalue_report eigenvalue_ticket::wait() const {
  eigenvalue_report told{ticket::wait()};
  const auto& left = *static_cast<const eigenvalue_outcome*>(static_cast<const void*>(outcome()));
  told.eigenvalues.assign(left.eigenvalues, left.eigenvalues + count_);
  told.residual_norms.assign(left.residual_norms, left.residual_norms + count_);
  return told;
}

namespace {

template <class T>
class prepared_eigenvalues final : public prepared_program {
 public:
  prepared_eigenvalues(const eigenvalue_request<T>& request, executor how, const eigenvalue_options& options,
                       clock::time_point began)
      : prepared_eigenvalues(request, record_eigenvalues(request), how, options, began) {}

  void set_tolerance(double rtol) {
    const turns::turn mine = recorded().take_turn();
    rtol_ = rtol;
  }
  void bind_values(const T* values) { recorded().set(made_.values, values); }

 private:
  prepared_eigenvalues(const eigenvalue_request<T>& request, recorded_eigenvalues<T> made, executor how,
                       const eigenvalue_options& options, clock::time_point began)
      : prepared_program(std::move(made.recorded),
                         {.method = options.method,
                          .preconditioner = options.preconditioner,
                          .in_float = sizeof(T) == 4,
                          .rows = request.matrix.rows,
                          .nonzeros = request.matrix.nonzeros,
                          .x_bytes = static_cast<std::size_t>(request.matrix.rows * request.wanted) * sizeof(T),
                          .how = how,
                          .outer = made.outer,
                          .inner = made.inner,
                          .outcome_bytes = sizeof(eigenvalue_outcome),
                          .usual_unroll = 4,  // an iteration is long, most of all its Rayleigh-Ritz step
                          .began = began},
                         loop_options_of(options)),
        rtol_(options.rtol),
        made_(std::move(made)) {
    desk().common.format = "csr";
  }
  void set_parameters(const ticket::state& of, const void*, void* x) override {
    program& run = recorded();
    run.set(made_.x, static_cast<T*>(x));
    run.set(made_.outcome, static_cast<eigenvalue_outcome*>(of.seen.data()));
    control_settings outer = root_settings(of);
    outer.limit = most_eigenvalue_restarts;
    outer.rtol = rtol_;
    run.set(made_.outer_settings, outer);
    run.set(made_.inner_settings, desk().with_history({.limit = options().max_iterations}, of));
  }

  double rtol_;
  recorded_eigenvalues<T> made_;
};

/// If not, an M close to the inverse of A leads away from the smallest pairs.
template <class T>
bool may_be_positive_definite(const matrix_on_place<T>& matrix) {
  const csr_matrix<T>& A = matrix.given();
  return has_positive_diagonal(A.is_on_device() ? copied_to_host(A, A.values_data(), matrix.request().where) : A);
}

}  // namespace

template <class T>
struct eigenvalue_solver<T>::implementation {
  eigenvalue_options options;
  matrix_on_place<T> matrix;
  preconditioner_of_columns<T> M;
  std::unique_ptr<prepared_eigenvalues<T>> prepared;  ///< after all it refers to

  implementation(const csr_matrix<T>& A, eigenvalue_options asked) : options(std::move(asked)) {
    const auto began = prepared_program::clock::now();
    check_options(options);
    const executor_choice choice = choose_executor({options.executor, options.device}, A.rows(), A.is_on_device(), {});
    matrix = matrix_on_place<T>(A, choice.where, options.check_pointers, making_eigenvalues);
    require_symmetric(making_eigenvalues, A, choice.where);
    if (A.rows() < options.count)
      throw error(making_eigenvalues,
                  "the matrix has " + std::to_string(A.rows()) + " rows, and " + std::to_string(options.count) +
                      " pairs are wanted",
                  "Ask for no more pairs than there are rows");
    eigenvalue_request<T> request{matrix.request(), options.count, block_columns_of(options),
                                  options.which == "largest"};
    choose_preconditioner(request.matrix);
    prepared = std::make_unique<prepared_eigenvalues<T>>(request, choice.how, options, began);
    prepared->desk().common.preconditioner_choice = M.words();
  }

  void choose_preconditioner(solve_request<T>& request) {
    linear_solver_options asked;
    asked.preconditioner = options.preconditioner;
    asked.amg = options.amg;
    const bool largest = options.which == "largest";
    if (asked.preconditioner == automatic_preconditioner && (largest || !may_be_positive_definite(matrix)))
      asked.preconditioner = "none";
    if (largest && is_preconditioner_in_parts(asked))
      throw error(making_eigenvalues,
                  "preconditioner " + std::string(name_of_preconditioner(asked)) +
                      " is close to the inverse of A, in which the smallest pairs are the large ones",
                  "For the largest pairs use none or jacobi");
    M.choose(making_eigenvalues, asked, matrix, request);
    options.preconditioner = M.name();
    options.amg = {};
  }
};

template <class T>
eigenvalue_solver<T>::eigenvalue_solver(const csr_matrix<T>& A, eigenvalue_options options)
    : implementation_("eigenvalue_solver", std::make_unique<implementation>(A, std::move(options))) {}
template <class T>
eigenvalue_solver<T>::~eigenvalue_solver() = default;
template <class T>
eigenvalue_solver<T>::eigenvalue_solver(eigenvalue_solver&&) noexcept = default;
template <class T>
eigenvalue_solver<T>& eigenvalue_solver<T>::operator=(eigenvalue_solver&&) noexcept = default;
template <class T>
prepared_program& eigenvalue_solver<T>::prepared() const {
  return *implementation_->prepared;
}

template <class T>
eigenvalue_report eigenvalue_solver<T>::solve(std::span<T> X) {
  const std::string_view doing = "solving for eigenpairs";
  implementation& self = *implementation_;
  const index_type rows = self.matrix.request().rows, count = self.options.count;
  if (static_cast<index_type>(X.size()) != rows * count)
    throw error(doing,
                "X has " + std::to_string(X.size()) + " entries, and " + std::to_string(count) + " vectors of " +
                    std::to_string(rows) + " have " + std::to_string(rows * count),
                "Put the vectors one after another");
  return eigenvalue_ticket(self.prepared->solve(doing, nullptr, X.data()), self.options.count).wait();
}
template <class T>
eigenvalue_ticket eigenvalue_solver<T>::enqueue(stream_handle stream, T* X) {
  return {implementation_->prepared->enqueue(stream, nullptr, X), implementation_->options.count};
}

template <class T>
void eigenvalue_solver<T>::update_values(std::span<const T> values) {
  implementation& self = *implementation_;
  const std::string_view doing = "updating a matrix's values";
  const csr_matrix<T>& A = self.matrix.given();
  if (!A.is_on_device() && static_cast<index_type>(values.size()) == A.nonzeros()) {
    const auto with = [&](auto offsets) {
      return csr_matrix<T>::borrow(A.rows(), A.columns(), offsets, A.column_indices(), values);
    };
    require_symmetric(doing, A.has_64bit_offsets() ? with(A.row_offsets_64()) : with(A.row_offsets_32()));
  }
  const auto mine = self.prepared->enter(doing);
  self.prepared->recorded().wait();
  self.matrix.update_values(values);
  self.prepared->bind_values(self.matrix.request().values);
  if (self.M.values_changed(self.matrix.given(), values.data()))
    self.prepared->desk().note_preconditioner(self.M.words());
}
template <class T>
void eigenvalue_solver<T>::set_tolerance(double rtol) {
  refuse_rtol("setting the tolerance of an eigenvalue solver", rtol);
  implementation_->prepared->set_tolerance(rtol);
}
template <class T>
std::string eigenvalue_solver<T>::explain() const {
  return recorded_solver::explain() + implementation_->M.explain();
}
template <class T>
memory_table eigenvalue_solver<T>::memory() const {
  memory_table table = recorded_solver::memory();
  implementation_->M.add_to(table, implementation_->matrix.request().where);
  return table;
}
template <class T>
int eigenvalue_solver<T>::block_columns() const {
  return block_columns_of(implementation_->options);
}

template class eigenvalue_solver<float>;
template class eigenvalue_solver<double>;

}  // namespace whilst
