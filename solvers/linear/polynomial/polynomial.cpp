// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/polynomial/polynomial.hpp"

#include <string>
#include <utility>

#include "solvers/linear/polynomial/polynomial_steps.hpp"

namespace whilst {
namespace {

using polynomial::choose_coefficients, polynomial::coefficients, polynomial::set_damping, polynomial::whole_operator;

struct polynomial_settings {
  int degree, lanczos_steps;
  double ratio;    ///< 0 for Neumann's series
  double damping;  ///< of that; 0 to have it chosen
};

template <class T, class Operator>
class polynomial_of final : public matrix_preconditioner<T> {
 public:
  polynomial_of(const solve_request<T>& of, Operator A, std::unique_ptr<linear_operator<T>> own,
                const polynomial_settings& settings, std::string description)
      : of_(of), A_(A), own_(std::move(own)), settings_(settings), description_(std::move(description)) {}

  void read_values_from([[maybe_unused]] constant_slot<const T> values) override {
    if constexpr (has_rows<Operator>) A_.values = values;
    if (own_) {  // anew: once an operator has been told, it stays with that
      own_ = make_csr_operator<T>(of_.where, csr_of<std::int64_t>(of_));
      own_->read_values_from(values);
      if constexpr (!has_rows<Operator>) A_.parts = own_.get();
    }
  }
  void take_memory(index_type n, workspace& memory) override {
    inverse_diagonal_ = memory.take<T>(n);
    for (T*& vector : vectors_) vector = memory.take<T>(n);
    coefficients_ = memory.take<coefficients>(1);
    lanczos_ = memory.take<typename bounds_of::lanczos_matrix>(1);
    handed_ = memory.take<typename bounds_of::weights>(1);
    factor_ = memory.take<double>(1);
  }
  bool made_from_operator() const override { return true; }
  /// An operator in parts may have another one for methods to iterate with: then M is made of that.
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    if constexpr (!has_rows<Operator>)
      if (!own_) A_.parts = &A;
    prepare_by_itself(run, factor);
  }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    run.once("the scale of A", polynomial::note_factor{factor, factor_});
    polynomial::record_inverse_diagonal<T>(run, A_, factor, inverse_diagonal_);
    if (settings_.damping > 0) {
      run.once("coefficients", set_damping{settings_.degree, settings_.damping, coefficients_});
      return;
    }
    bounds_of::record(run, {A_, factor}, {inverse_diagonal_}, settings_.lanczos_steps, vectors_[0], vectors_[1],
                      vectors_[2], vectors_[3], lanczos_, handed_);
    run.once("coefficients",
             choose_coefficients<bounds_of>{lanczos_, settings_.degree, settings_.ratio, coefficients_});
  }
  void apply(recorder& run, const T* r, T* z) const override {
    polynomial::record_terms(run, A_.rows(), A_, coefficients_, factor_, settings_.degree, inverse_diagonal_, r,
                             vectors_[0], vectors_[1], z);
  }

  index_type bytes() const override { return 0; }
  std::string description() const override { return description_; }

 private:
  using bounds_of = eigenvalue_bounds<T, scaled_operator<T, Operator>, jacobi_preconditioner<T>>;

  solve_request<T> of_;
  mutable Operator A_;                       ///< as it was when this was last recorded
  std::unique_ptr<linear_operator<T>> own_;  ///< what A_ refers to, if nobody else has it
  polynomial_settings settings_;
  std::string description_;
  T *inverse_diagonal_ = nullptr, *vectors_[4] = {};
  coefficients* coefficients_ = nullptr;
  typename bounds_of::lanczos_matrix* lanczos_ = nullptr;
  typename bounds_of::weights* handed_ = nullptr;
  double* factor_ = nullptr;
};

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_polynomial(const solve_request<T>& of,
                                                          const polynomial_settings& settings,
                                                          const std::string& description) {
  // Methods that have slices in their own kernels record them without the parts, whose memory nobody would take.
  if (of.parts && of.parts != of.slices)
    return std::make_unique<polynomial_of<T, whole_operator<T>>>(of, whole_operator<T>{of.parts}, nullptr, settings,
                                                                 description);
  if (of.offsets_64) {
    auto own = make_csr_operator<T>(of.where, csr_of<std::int64_t>(of));
    const whole_operator<T> A{own.get()};
    return std::make_unique<polynomial_of<T, whole_operator<T>>>(of, A, std::move(own), settings, description);
  }
  const auto A = csr_of<std::int32_t>(of);
  return std::make_unique<polynomial_of<T, std::remove_const_t<decltype(A)>>>(of, A, nullptr, settings, description);
}

}  // namespace

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_chebyshev_polynomial(const solve_request<T>& of,
                                                                    const chebyshev_options& options) {
  return make_polynomial<T>(of, {options.degree, options.lanczos_steps, ratio_of(options), 0}, words_of(options));
}
template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_neumann_polynomial(const solve_request<T>& of,
                                                                  const neumann_options& options) {
  return make_polynomial<T>(of, {options.degree, options.lanczos_steps, 0, options.damping},
                            "degree " + std::to_string(options.degree) +
                                (options.damping > 0 ? ", damping " + short_number(options.damping) : std::string()));
}
#define WHILST_POLYNOMIALS_OF(T)                                                                          \
  template std::unique_ptr<matrix_preconditioner<T>> make_chebyshev_polynomial(const solve_request<T>&,   \
                                                                               const chebyshev_options&); \
  template std::unique_ptr<matrix_preconditioner<T>> make_neumann_polynomial(const solve_request<T>&,     \
                                                                             const neumann_options&);
WHILST_POLYNOMIALS_OF(WHILST_NUMBER)
#undef WHILST_POLYNOMIALS_OF

}  // namespace whilst
