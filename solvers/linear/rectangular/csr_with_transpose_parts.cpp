// compiled by nvcc where CUDA is on
#include "solvers/linear/rectangular/csr_with_transpose_parts.hpp"

#include "whilst/linear/products.hpp"

namespace whilst {
namespace {

template <class T, class Transpose>
struct squares_of_columns {
  Transpose At;
  const double* factor;
  T* d;
  WHILST_HD void operator()(index_type j) const { d[j] = static_cast<T>(squares_of_column(At, j, *factor)); }
};

template <class T, class Offset>
class csr_with_transpose_parts final : public linear_operator<T> {
 public:
  using matrix = csr_with_transpose<T, Offset>;
  csr_with_transpose_parts(place where, const matrix& A) : where_(where), A_(A) {}
  place where() const override { return where_; }
  index_type rows() const override { return A_.rows(); }
  index_type columns() const override { return A_.pattern.rows; }
  void take_memory(workspace& memory) override { A_ = A_.with_memory(memory); }
  void read_values_from(constant_slot<const T> values) override {
    if (!A_.values.where) A_.values = values;
  }
  void prepare(recorder& run) const override { A_.prepare(run); }
  void apply(recorder& run, const T* x, T* y) const override {
    product(run, "y = A x", static_cast<const typename matrix::matrix&>(A_), x, y, product_alone{});
  }
  bool has_transpose() const override { return true; }
  void apply_transposed(recorder& run, const T* x, T* y) const override {
    product(run, "y = A'x", A_.transposed(), x, y, product_alone{});
  }
  bool has_normal_diagonal() const override { return true; }
  void normal_diagonal(recorder& run, const double* factor, T* d) const override {
    const auto At = A_.transposed();
    run.step("the diagonal of A'A", At.rows(), squares_of_columns<T, typename matrix::transpose>{At, factor, d});
  }

 private:
  place where_;
  matrix A_;
};

template <class T>
struct invert_squares {
  T* inverse;
  WHILST_HD void operator()(index_type j) const {
    const T made = 1 / inverse[j];
    inverse[j] = made > 0 && made - made == 0 ? made : T(1);
  }
};
template <class T>
struct scale_entries {
  const T *by, *p;
  T* v;
  WHILST_HD void operator()(index_type j) const { v[j] = by[j] * p[j]; }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
};

template <class T>
class column_parts final : public preconditioner<T> {
 public:
  void take_memory(index_type n, workspace& memory) override {
    n_ = n;
    inverse_ = memory.take<T>(n);
  }
  bool made_from_operator() const override { return true; }
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    A.normal_diagonal(run, factor, inverse_);
    run.step("invert the diagonal of A'A", n_, invert_squares<T>{inverse_});
  }
  void apply(recorder& run, const T* r, T* z) const override {
    run.step("v = M p", n_, scale_entries<T>{inverse_, r, z});
  }

 private:
  index_type n_ = 0;
  T* inverse_ = nullptr;
};

}  // namespace

template <class T, class Offset>
std::unique_ptr<linear_operator<T>> make_csr_with_transpose(place where, const csr_with_transpose<T, Offset>& A) {
  return std::make_unique<csr_with_transpose_parts<T, Offset>>(where, A);
}
template <class T>
std::unique_ptr<preconditioner<T>> make_column_preconditioner() {
  return std::make_unique<column_parts<T>>();
}

#define WHILST_TRANSPOSES_OF(T)                                                                                     \
  template std::unique_ptr<linear_operator<T>> make_csr_with_transpose(place,                                       \
                                                                       const csr_with_transpose<T, std::int32_t>&); \
  template std::unique_ptr<linear_operator<T>> make_csr_with_transpose(place,                                       \
                                                                       const csr_with_transpose<T, std::int64_t>&); \
  template std::unique_ptr<preconditioner<T>> make_column_preconditioner();
WHILST_TRANSPOSES_OF(float)
WHILST_TRANSPOSES_OF(double)
#undef WHILST_TRANSPOSES_OF

}  // namespace whilst
