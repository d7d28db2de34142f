// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/inner_solve/inner_solve.hpp"

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/inner_solve/inner_solve_steps.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "solvers/linear/values_watch.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

using inner_solving::begin_within, inner_solving::inner_scalars, inner_solving::judge_solution,
    inner_solving::limit_loop, inner_solving::narrow, inner_solving::scale_residual, inner_solving::size_of_residual,
    inner_solving::take_residual, inner_solving::take_solution;

constexpr std::string_view making = "making preconditioner solve";

/// The operator that the outer method iterates with, known once that is recorded.
template <class T>
class operator_told_later final : public linear_operator<T> {
 public:
  operator_told_later(whilst::place where, index_type n) : where_(where), n_(n) {}
  void tell(const linear_operator<T>& A) { A_ = &A; }
  whilst::place where() const override { return where_; }
  index_type rows() const override { return n_; }
  void apply(recorder& run, const T* x, T* y) const override { A_->apply(run, x, y); }
  bool has_diagonal() const override { return A_ && A_->has_diagonal(); }
  void diagonal(recorder& run, T* d) const override { A_->diagonal(run, d); }

 private:
  whilst::place where_;
  index_type n_;
  const linear_operator<T>* A_ = nullptr;
};

/// The matrix in float, with the values of a solve, times a power of two that brings them to about 1.
template <class T>
class float_copy {
 public:
  explicit float_copy(const solve_request<T>& of)
      : of_(of), watch_(of), values_(of.where, of.nonzeros), address_(of.where, 1, std::array{values_.data()}.data()) {
    request_.where = of.where;
    request_.rows = of.rows;
    request_.columns = of.columns;
    request_.nonzeros = of.nonzeros;
    request_.row_offsets = of.row_offsets;
    request_.offsets_64 = of.offsets_64;
    request_.column_indices = of.column_indices;
    request_.values = values_.data();
    program_recorder run(of.where);
    record_copy(run, watch_.first());
    watch_.record_first(run);
    run_now(std::move(run).finish(), of.where);
  }
  const solve_request<float>& request() const { return request_; }
  /// For steps recorded behind `record`: although a step writes them, it has ended, as it lies in a branch.
  constant_slot<const float> values() const { return {address_.data()}; }
  const double* unit() const { return watch_.factor(); }  ///< of the copy over *factor A
  std::unique_ptr<linear_operator<float>> as_operator() const {
    return request_.offsets_64 ? as_operator_of<std::int64_t>() : as_operator_of<std::int32_t>();
  }
  void record(recorder& run, constant_slot<const T> values, const double* factor) const {
    watch_.record_watch(run, values, factor, [&](recorder& inner) { record_copy(inner, values); });
  }
  index_type bytes() const { return watch_.bytes() + values_.bytes() + address_.bytes(); }

 private:
  void record_copy(recorder& run, constant_slot<const T> values) const {
    watch_.record_scale(run, values);
    run.step("A in float", of_.nonzeros, narrow<T>{values, watch_.scale(), values_.data()});
  }
  template <class Offset>
  std::unique_ptr<linear_operator<float>> as_operator_of() const {
    const auto A = csr_of<Offset>(request_);
    return make_csr_operator<float>(
        request_.where, csr_operator<float, Offset, fixed_slot<const float>>{
                            A.n, A.row_offsets, A.column_indices, {values_.data()}, A.lanes_a_row, A.nonzeros});
  }

  solve_request<T> of_;
  values_watch<T> watch_;
  buffer<float> values_;
  buffer<const float*> address_;
  solve_request<float> request_;
};

/// C: of the inner iterations.
template <class T, class C>
class inner_solve final : public matrix_preconditioner<T> {
  static constexpr bool is_narrower = !std::is_same_v<T, C>;

 public:
  inner_solve(const matrix_to_precondition<T>& matrix, const linear_method<C>& method,
              const linear_solver_options& options)
      : method_(method), options_(options.solve), settings_(method_settings_of(options)) {
    settings_.restart = options_.iterations;
    if constexpr (is_narrower) {
      copy_.emplace(matrix.on_place);
      A_ = copy_->as_operator();
      make_M({copy_->request()}, options);
    } else {
      auto told = std::make_unique<operator_told_later<T>>(matrix.on_place.where, matrix.on_place.rows);
      told_ = told.get();
      A_ = std::move(told);
      make_M(matrix, options);
    }
  }

  void read_values_from(constant_slot<const T> values) override {
    values_ = values;
    if constexpr (is_narrower) {
      if (M_) M_->read_values_from(copy_->values());
    } else {
      if (M_) M_->read_values_from(values);
    }
  }
  void take_memory(index_type n, workspace& memory) override {
    d_ = memory.take<C>(n);
    r_ = memory.take<C>(n);
    loop_ = memory.take<control>(1);
    scalars_ = memory.take<inner_scalars>(1);
    inner_ = method_.within(*A_, scalars_ ? &scalars_->factor : nullptr, M_.get(), d_, r_, settings_, memory);
  }
  bool made_from_operator() const override { return true; }
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    if constexpr (!is_narrower) {
      if (M_ && !made_M_ && !A.has_diagonal())
        throw error(making, "its preconditioner jacobi wants the diagonal, and the operator tells of products alone",
                    "Use solve,preconditioner=none");
      told_->tell(A);
    }
    prepare_by_itself(run, factor);
  }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    if constexpr (is_narrower) copy_->record(run, values_, factor);
    run.once("the inner limit",
             limit_loop{options_.iterations, factor, copy_ ? copy_->unit() : nullptr, loop_, scalars_});
    inner_->prepare(run);
  }
  /// A lagged M within goes by the iterations around it.
  void note_solve(recorder& run, const control* loop, const double* first_norm) const override {
    if (M_) M_->note_solve(run, loop, first_norm);
  }
  void begin_sequence(recorder& run) const override {
    if (M_) M_->begin_sequence(run);
  }
  void finish() override {
    if (made_M_) made_M_->finish();
  }
  void begin_sequence_now() override {
    if (made_M_) made_M_->begin_sequence_now();
  }
  const index_type* refreshes() const override { return M_ ? M_->refreshes() : nullptr; }
  void apply(recorder& run, const T* r, T* z) const override {
    const index_type n = A_->rows();
    run.step("||r||", n, size_of_residual<T>{r}, begin_within{options_.rtol, loop_, scalars_});
    run.step("scale r, d = 0", n, scale_residual<T, C>{scalars_, r, r_, d_});
    inner_->record(run, loop_);
    run.step("z = d", n, take_solution<T, C>{scalars_, d_, z}, judge_solution{scalars_});
    run.step("z = r, if d is none", n, take_residual<T>{scalars_, r, z});
  }

  void values_changed(const csr_matrix<T>& pattern, const T* values) override {
    if constexpr (!is_narrower)
      if (made_M_) made_M_->values_changed(pattern, values);
  }
  index_type bytes() const override { return (copy_ ? copy_->bytes() : 0) + (made_M_ ? made_M_->bytes() : 0); }
  std::string description() const override {
    std::string words = std::string(method_.name) + " in " + (sizeof(C) == 4 ? "float" : "double") + ", at most " +
                        std::to_string(options_.iterations) + " iterations, with " + options_.preconditioner;
    if (made_M_) words += ", " + made_M_->description();
    return words;
  }

 private:
  void make_M(const matrix_to_precondition<C>& matrix, const linear_solver_options& options) {
    linear_solver_options inner = options;
    inner.preconditioner = options.solve.preconditioner;
    const preconditioner_choice chosen = chosen_preconditioner(making, inner);
    if (chosen.kind == preconditioner_kind::jacobi)
      M_ = make_jacobi_preconditioner<C>(method_.needs.definite_preconditioner);
    if (!chosen.description) return;
    if (is_narrower && chosen.description->hears_of_values)
      throw error(making, "with precision float, preconditioner " + chosen.name + " would not hear of new values",
                  "Use precision auto, or another preconditioner");
    if (!matrix.pattern && !is_narrower && !chosen.description->takes_operators)
      throw error(making, "preconditioner " + chosen.name + " is made from a matrix, and there is none",
                  "Use preconditioner none");
    auto made = chosen.description->maker<C>()(matrix, method_.needs, chosen.options);
    made_M_ = made.get();
    M_ = std::move(made);
  }

  linear_method<C> method_;
  inner_solve_options options_;
  method_settings settings_;
  std::optional<float_copy<T>> copy_;
  std::unique_ptr<linear_operator<C>> A_;
  operator_told_later<T>* told_ = nullptr;  ///< A_, if that is one
  std::unique_ptr<preconditioner<C>> M_;
  matrix_preconditioner<C>* made_M_ = nullptr;  ///< M_, if that is made from the matrix
  std::unique_ptr<method_within<C>> inner_;
  constant_slot<const T> values_;
  C *d_ = nullptr, *r_ = nullptr;
  control* loop_ = nullptr;
  inner_scalars* scalars_ = nullptr;
};

/// By name; throws where it cannot be within another one.
template <class C>
const linear_method<C>& method_that_fits(const std::string& name) {
  const linear_method<C>& method = method_from_name<C>(making, name);
  if (method.within) return method;
  std::string names;
  for (const linear_method<C>& one : linear_methods<C>())
    if (one.within) names += (names.empty() ? "" : ", ") + std::string(one.name);
  throw error(making, "method " + name + " cannot be within another one", "Use one of " + names);
}

}  // namespace

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_inner_solve(const matrix_to_precondition<T>& matrix,
                                                           const std::string& method,
                                                           const linear_solver_options& options) {
  if constexpr (std::is_same_v<T, double>) {
    if (options.solve.precision == "float") {
      if (!matrix.pattern)
        throw error(making, "precision float takes a copy of the matrix, and there is none", "Use precision auto");
      return std::make_unique<inner_solve<T, float>>(matrix, method_that_fits<float>(method), options);
    }
  }
  return std::make_unique<inner_solve<T, T>>(matrix, method_that_fits<T>(method), options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_inner_solve(
    const matrix_to_precondition<WHILST_NUMBER>&, const std::string&, const linear_solver_options&);

}  // namespace whilst
