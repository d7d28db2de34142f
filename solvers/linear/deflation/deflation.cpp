// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/deflation/deflation.hpp"

#include <limits>
#include <optional>
#include <vector>

#include "solvers/linear/deflation/deflation_steps.hpp"
#include "solvers/linear/orthonormal_vectors.hpp"
#include "solvers/linear/values_watch.hpp"

namespace whilst {
namespace {

using deflating::add_coordinates, deflating::add_sixteenth_powers, deflating::combine_vectors,
    deflating::note_coordinates, deflating::note_largest, deflating::products_of_all, deflating::rounding,
    deflating::small_matrices, deflating::take_eigenvectors, deflating::take_inverse;

/// What an application reads: made from a matrix, kept until its values change; else made anew in each solve. In the
/// basis of E's eigenvectors for symmetric methods, whose E^-1 is then a weight for each vector; for the others E^-1 is
/// part of `left`.
template <class T>
class deflated_span {
 public:
  deflated_span(const solve_request<T>& A, const T* Z, int count, bool symmetric)
      : n_(A.rows),
        nonzeros_(A.nonzeros),
        count_(count),
        symmetric_(symmetric),
        Z_(Z),
        left_(A.where, count * n_),
        AZ_(A.where, count * n_),
        numbers_(A.where, small_matrices::numbers(count)),
        rotations_(A.where, (count + 1) / 2) {
    if (A.values) watch_.emplace(A);
  }

  bool symmetric() const { return symmetric_; }
  int count() const { return count_; }
  const T* left() const { return left_.data(); }
  const T* right() const { return symmetric_ ? left_.data() : Z_; }
  const T* AZ() const { return AZ_.data(); }
  const double* weights() const { return symmetric_ ? matrices().weights : nullptr; }
  const double* unit() const { return watch_ ? watch_->factor() : nullptr; }
  index_type bytes() const {
    return left_.bytes() + AZ_.bytes() + numbers_.bytes() + rotations_.bytes() + (watch_ ? watch_->bytes() : 0);
  }

  void record(recorder& run, const linear_operator<T>& A, constant_slot<const T> values, const double* factor) const {
    if (!watch_) return record_made(run, A, factor);
    watch_->record_watch(run, values, factor, [&](recorder& inner) {
      watch_->record_scale(inner, values);
      inner.step("the largest entry", nonzeros_, add_sixteenth_powers<T>{values, watch_->scale()},
                 note_largest{matrices().largest});
      record_made(inner, A, watch_->scale());
    });
  }

 private:
  small_matrices matrices() const { return {count_, numbers_.data(), rotations_.data()}; }
  /// From *scale A.
  void record_made(recorder& run, const linear_operator<T>& A, const double* scale) const {
    const small_matrices E = matrices();
    const rounding known{static_cast<double>(std::numeric_limits<T>::epsilon()), watch_ ? E.largest : nullptr};
    for (int k = 0; k < count_; ++k) A.apply(run, Z_ + k * n_, AZ_.data() + k * n_);
    run.team("E = Z'A Z", index_type{count_} * count_, products_of_all<T>{n_, count_, Z_, AZ_.data(), E.E, E.row});
    if (symmetric_) {
      run.team("E's eigenvectors", 1, take_eigenvectors{E, known, scale});
    } else {
      run.team("the inverse of E", 1, take_inverse{E, known, scale});
    }
    run.step("Z in that basis", n_, combine_vectors<T>{n_, count_, Z_, E.combination, nullptr, left_.data()});
    run.step("A Z", n_,
             combine_vectors<T>{n_, count_, AZ_.data(), symmetric_ ? E.combination : nullptr, scale, AZ_.data()});
  }

  index_type n_, nonzeros_;
  int count_;
  bool symmetric_;
  const T* Z_;
  buffer<T> left_, AZ_;
  buffer<double> numbers_;
  buffer<plane_rotation> rotations_;
  std::optional<values_watch<T>> watch_;  ///< if there is a matrix
};

template <class T>
class deflated_preconditioner final : public preconditioner<T> {
 public:
  deflated_preconditioner(const deflated_span<T>& span, std::unique_ptr<preconditioner<T>> own, preconditioner<T>* M,
                          bool absolute)
      : span_(span), own_(std::move(own)), M_(M), absolute_(absolute) {}

  void take_memory(index_type n, workspace& memory) override {
    n_ = n;
    if (M_) {
      M_->take_memory(n, memory);
      Pr_ = memory.take<T>(n);
    }
    c_ = memory.take<double>(span_.count());
    subtracted_ = memory.take<double>(span_.count());
  }
  void read_values_from(constant_slot<const T> values) override {
    values_ = values;
    if (M_) M_->read_values_from(values);
  }
  bool made_from_operator() const override { return !M_ || M_->made_from_operator(); }
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    if (M_) M_->prepare(run, A, factor);
    span_.record(run, A, values_, factor);
  }
  void note_solve(recorder& run, const control* loop, const double* first_norm) const override {
    if (M_) M_->note_solve(run, loop, first_norm);
  }
  void apply(recorder& run, const T* r, T* z) const override {
    const int count = span_.count();
    each_group_of_vectors(count, [&](int first, int some) {
      const double* const weights = span_.weights();
      run.step("c = E^-1 Z'r", n_, products_with_vectors<T>{n_, some, span_.left() + first * n_, r},
               note_coordinates{some, weights ? weights + first : nullptr, span_.unit(), absolute_, c_ + first,
                                subtracted_ + first});
    });
    T* const Pr = M_ ? Pr_ : z;
    run.step("P r = r - A Z c", n_, subtract_vectors<T>{n_, count, span_.AZ(), c_, r, Pr});
    if (M_) M_->apply(run, Pr, z);
    if (span_.symmetric())
      each_group_of_vectors(count, [&](int first, int some) {
        run.step("E^-1 (A Z)'z", n_, products_with_vectors<T>{n_, some, span_.AZ() + first * n_, z},
                 add_coordinates{some, span_.weights() + first, subtracted_ + first});
      });
    run.step("z in the span of Z", n_, subtract_vectors<T>{n_, count, span_.right(), subtracted_, z, z});
  }

 private:
  const deflated_span<T>& span_;
  std::unique_ptr<preconditioner<T>> own_;
  preconditioner<T>* M_;
  bool absolute_;
  index_type n_ = 0;
  constant_slot<const T> values_;
  T* Pr_ = nullptr;
  double *c_ = nullptr, *subtracted_ = nullptr;
};

template <class T>
class deflation_of_options final : public deflation<T> {
 public:
  deflation_of_options(place where, index_type n, const std::vector<T>& Z)
      : count_(static_cast<int>(static_cast<index_type>(Z.size()) / n)),
        Z_(where, static_cast<index_type>(Z.size()), Z.data()) {}

  std::unique_ptr<preconditioner<T>> put_into(solve_request<T>& request, const method_needs& method) override {
    std::optional<deflated_span<T>>& span = method.symmetric ? symmetric_ : general_;
    if (!span) span.emplace(request, Z_.data(), count_, method.symmetric);
    std::unique_ptr<preconditioner<T>> jacobi;
    if (request.preconditioner == preconditioner_kind::jacobi)
      jacobi = make_jacobi_preconditioner<T>(method.definite_preconditioner);
    preconditioner<T>* const M = jacobi ? jacobi.get() : request.preconditioner_parts;
    auto made =
        std::make_unique<deflated_preconditioner<T>>(*span, std::move(jacobi), M, method.definite_preconditioner);
    request.preconditioner = preconditioner_kind::parts;
    request.preconditioner_parts = made.get();
    return made;
  }
  index_type bytes() const override {
    return Z_.bytes() + (symmetric_ ? symmetric_->bytes() : 0) + (general_ ? general_->bytes() : 0);
  }

 private:
  int count_;
  buffer<T> Z_;
  std::optional<deflated_span<T>> symmetric_, general_;
};

}  // namespace

template <class T>
std::unique_ptr<deflation<T>> make_deflation(std::string_view doing, const linear_solver_options& options, place where,
                                             index_type n) {
  const std::vector<double> all = orthonormal_vectors(doing, {"deflation", "deflation vector"}, options.deflation, n);
  return std::make_unique<deflation_of_options<T>>(where, n, std::vector<T>(all.begin(), all.end()));
}
template std::unique_ptr<deflation<WHILST_NUMBER>> make_deflation(std::string_view, const linear_solver_options&, place,
                                                                  index_type);

}  // namespace whilst
