// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/scaling/substituted_matrix.hpp"

#include <cmath>
#include <vector>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {
namespace {

/// The power of two for a scale, within what T and the products of two such scales can hold.
template <class T>
WHILST_HD T rounded_scale(double scale) {
  constexpr int most = sizeof(T) == 4 ? 60 : 500;
  const int e = binary_exponent(scale);
  return static_cast<T>(power_of_two(e < -most ? -most : e > most ? most : e));
}
/// 1 over a size; 1 where nothing is to be scaled by it: zero, infinity and NaN.
WHILST_HD inline double inverse_of(double size) {
  const double inverse = 1 / size;
  return size > 0 && inverse > 0 && inverse - inverse == 0 ? inverse : 1;
}

/// The rows of a pattern, and where each entry's value lies.
template <class Offset>
struct rows_of_entries {
  const Offset* row_offsets;
  const std::int32_t* column_indices;
  const Offset* sources;  ///< null: at the entry's own index

  WHILST_HD Offset source(Offset k) const { return sources ? sources[k] : k; }
};

/// R_i = 1 / max_j |a_ij|.
template <class T, class Offset>
struct scale_rows {
  rows_of_entries<Offset> rows;
  constant_slot<const T> values;
  T* R;
  WHILST_HD void operator()(index_type i) const {
    double largest = 0;
    for (Offset k = rows.row_offsets[i]; k < rows.row_offsets[i + 1]; ++k) {
      const double size = fabs(static_cast<double>(values.get()[k]));
      largest = size > largest ? size : largest;
    }
    R[i] = rounded_scale<T>(inverse_of(largest));
  }
};

/// R_i = 1 / sqrt |d_i|, where R holds the diagonal d.
template <class T>
struct scale_diagonal {
  T* R;
  WHILST_HD void operator()(index_type i) const {
    R[i] = rounded_scale<T>(inverse_of(sqrt(fabs(static_cast<double>(R[i])))));
  }
};

/// Ruiz: r'_i = r_i / sqrt(max_j r_i |a_ij| c_j). Of the transpose, the same for c.
template <class T, class Offset>
struct equilibrate_rows {
  rows_of_entries<Offset> rows;
  constant_slot<const T> values;
  const double *r, *c;  ///< null for ones
  double* next;
  WHILST_HD void operator()(index_type i) const {
    const double ri = r ? r[i] : 1;
    double largest = 0;
    for (Offset k = rows.row_offsets[i]; k < rows.row_offsets[i + 1]; ++k) {
      // r c first: of a symmetric matrix, rows and columns then get the same bits.
      const double rc = ri * (c ? c[rows.column_indices[k]] : 1);
      const double size = rc * fabs(static_cast<double>(values.get()[rows.source(k)]));
      largest = size > largest ? size : largest;
    }
    next[i] = ri * inverse_of(sqrt(largest));
  }
};
template <class T>
struct round_scales {
  const double* scales;
  T* R;
  WHILST_HD void operator()(index_type i) const { R[i] = rounded_scale<T>(scales[i]); }
};

/// The values of R A C; C null for ones.
template <class T, class Offset>
struct scale_values {
  rows_of_entries<Offset> rows;
  constant_slot<const T> values;
  const T *R, *C;
  T* scaled;
  WHILST_HD void operator()(index_type i) const {
    const double Ri = static_cast<double>(R[i]);
    for (Offset k = rows.row_offsets[i]; k < rows.row_offsets[i + 1]; ++k) {
      const double of_row = Ri * static_cast<double>(values.get()[k]);
      scaled[k] = static_cast<T>(C ? of_row * static_cast<double>(C[rows.column_indices[k]]) : of_row);
    }
  }
};

template <class T, class Offset>
class substituted_matrix final : public linear_operator<T> {
  /// Ruiz's iteration halves the exponents of what is left: from 1e-12 or 1e12 to within 11 % of 1.
  static constexpr int sweeps = 8;
  /// A residual by float values is within about 1e-7 of the exact one's start.
  static constexpr double reduction_by_float = 1e-6;

 public:
  substituted_matrix(scaling_kind scaling, const solve_request<T>& csr, formatted_matrix<T>* formatted, bool rounds,
                     const permuted_matrix<T>* permuted)
      : scaling_(scaling), csr_(csr), formatted_(formatted), rounds_(rounds), permuted_(permuted) {}

  place where() const override { return csr_.where; }
  index_type rows() const override { return csr_.rows; }

  void read_values_from(constant_slot<const T> values) override {
    given_ = values;
    exact_ = make_csr_operator<T>(csr_.where, csr_of<Offset>(csr_));
    exact_->read_values_from(values);
    if (formatted_ && !makes_values()) formatted_->read_values_from(values);
  }
  void take_memory(workspace& memory) override {
    if (scaling_ != scaling_kind::none) {
      R_ = memory.take<T>(rows());
      C_ = scaling_ == scaling_kind::rows ? nullptr : scaling_ == scaling_kind::symmetric ? R_ : memory.take<T>(rows());
      for (int k = 0; scaling_ == scaling_kind::equilibrate && k < 2; ++k) {
        r_[k] = memory.take<double>(rows());
        c_[k] = memory.take<double>(rows());
      }
      if (!permuted_) values_ = memory.take<T>(csr_.nonzeros);
    }
    if (formatted_) {
      if (makes_values()) formatted_->read_values_from(permuted_ ? permuted_->values() : slot_of_scaled_values());
      formatted_->take_memory(memory);
    } else {
      // Values in a fixed slot: a constant one is for memory that no step writes.
      const auto A = csr_of<Offset>(permuted_ ? permuted_->request() : csr_);
      const T* const values = permuted_ ? permuted_->request().values : values_;
      scaled_ = make_csr_operator<T>(csr_.where,
                                     csr_operator<T, Offset, fixed_slot<const T>>{
                                         A.n, A.row_offsets, A.column_indices, {values}, A.lanes_a_row, A.nonzeros});
    }
  }
  void prepare(recorder& run) const override {
    exact_->prepare(run);
    find_scales(run);
    if (permuted_) {
      permuted_->record_values(run, given_, R(), C());
    } else if (scaling_ != scaling_kind::none) {
      run.step("the values of R A C", rows(), scale_values<T, Offset>{rows_as_stored(), given_, R_, C_, values_});
    }
    if (formatted_) {
      formatted_->prepare(run);
    } else {
      // A product in csr fetches values while the step before it still runs. That one must not be the one that writes
      // them.
      run.once("the values are there", detail::nothing_more{});
    }
  }
  void apply(recorder& run, const T* x, T* y) const override { exact_->apply(run, x, y); }
  substitute_operator<T> substitute() override {
    linear_operator<T>* const B = formatted_ ? static_cast<linear_operator<T>*>(formatted_) : scaled_.get();
    const double reduction = rounds_ ? reduction_by_float : 0;
    if (!permuted_) return {B, R_, C_, reduction};
    return {B, R(), C(), reduction, permuted_->rows(), permuted_->places()};
  }
  bool has_diagonal() const override { return true; }
  void diagonal(recorder& run, T* d) const override { exact_->diagonal(run, d); }

 private:
  bool makes_values() const { return permuted_ || scaling_ != scaling_kind::none; }
  /// Of the scaling, or else of the matching.
  const T* R() const { return scaling_ == scaling_kind::none ? permuted_->R() : R_; }
  const T* C() const { return scaling_ == scaling_kind::none ? permuted_->C() : C_; }

  rows_of_entries<Offset> rows_as_stored() const {
    return {static_cast<const Offset*>(csr_.row_offsets), csr_.column_indices, nullptr};
  }
  rows_of_entries<Offset> rows_of_transpose() const {
    return {static_cast<const Offset*>(csr_.transposed.row_offsets), csr_.transposed.column_indices,
            static_cast<const Offset*>(csr_.transposed.sources)};
  }

  void find_scales(recorder& run) const {
    switch (scaling_) {
      case scaling_kind::none:
        return;
      case scaling_kind::rows:
        run.step("R by rows", rows(), scale_rows<T, Offset>{rows_as_stored(), given_, R_});
        return;
      case scaling_kind::symmetric:
        exact_->diagonal(run, R_);
        run.step("R by the diagonal", rows(), scale_diagonal<T>{R_});
        return;
      case scaling_kind::equilibrate:
        for (int sweep = 0; sweep < sweeps; ++sweep) {
          const double *r = sweep ? r_[sweep % 2] : nullptr, *c = sweep ? c_[sweep % 2] : nullptr;
          run.step("equilibrate the rows", rows(),
                   equilibrate_rows<T, Offset>{rows_as_stored(), given_, r, c, r_[(sweep + 1) % 2]});
          run.step("equilibrate the columns", rows(),
                   equilibrate_rows<T, Offset>{rows_of_transpose(), given_, c, r, c_[(sweep + 1) % 2]});
        }
        run.step("R", rows(), round_scales<T>{r_[sweeps % 2], R_});
        run.step("C", rows(), round_scales<T>{c_[sweeps % 2], C_});
    }
  }

  /// For a format, which finds the values' address in memory, as if a launch had put it there. It reads them in the
  /// body of a step, not ahead of it, so a step may have written them.
  constant_slot<const T> slot_of_scaled_values() {
    if (!values_) return {};  // the layout is being measured
    addresses_.emplace_back(csr_.where, sizeof(T*), &values_);
    return {static_cast<const T* const*>(addresses_.back().data())};
  }

  scaling_kind scaling_;
  solve_request<T> csr_;
  formatted_matrix<T>* formatted_;
  bool rounds_;
  const permuted_matrix<T>* permuted_;
  constant_slot<const T> given_;
  std::unique_ptr<linear_operator<T>> exact_, scaled_;  ///< A and R A C, in csr
  T *R_ = nullptr, *C_ = nullptr, *values_ = nullptr;
  double *r_[2] = {}, *c_[2] = {};
  std::vector<raw_buffer> addresses_;  ///< one for each program
};

}  // namespace

template <class T>
std::unique_ptr<linear_operator<T>> make_substituted_matrix(scaling_kind scaling, const solve_request<T>& csr,
                                                            formatted_matrix<T>* formatted, bool rounds,
                                                            const permuted_matrix<T>* permuted) {
  if (csr.offsets_64)
    return std::make_unique<substituted_matrix<T, std::int64_t>>(scaling, csr, formatted, rounds, permuted);
  return std::make_unique<substituted_matrix<T, std::int32_t>>(scaling, csr, formatted, rounds, permuted);
}
template std::unique_ptr<linear_operator<WHILST_NUMBER>> make_substituted_matrix(scaling_kind,
                                                                                 const solve_request<WHILST_NUMBER>&,
                                                                                 formatted_matrix<WHILST_NUMBER>*, bool,
                                                                                 const permuted_matrix<WHILST_NUMBER>*);

}  // namespace whilst
