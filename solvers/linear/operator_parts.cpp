// compiled by nvcc where CUDA is on
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/inverse_of_diagonal.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {
namespace {

template <class T, class Operator>
struct copy_diagonal {
  Operator A;
  T* d;
  WHILST_HD void operator()(index_type i) const { d[i] = A.diagonal(i); }
};

template <class T, class Offset, class Values>
class csr_parts final : public linear_operator<T> {
 public:
  using matrix = csr_operator<T, Offset, Values>;
  csr_parts(place where, const matrix& A) : where_(where), A_(A) {}
  place where() const override { return where_; }
  index_type rows() const override { return A_.rows(); }
  void read_values_from([[maybe_unused]] constant_slot<const T> values) override {
    if constexpr (std::is_same_v<Values, constant_slot<const T>>)
      if (!A_.values.where) A_.values = values;
  }
  void apply(recorder& run, const T* x, T* y) const override { product(run, "y = A x", A_, x, y, product_alone{}); }
  bool has_diagonal() const override { return true; }
  void diagonal(recorder& run, T* d) const override {
    run.step("the diagonal", rows(), copy_diagonal<T, matrix>{A_, d});
  }

 private:
  place where_;
  matrix A_;
};

template <class T>
class called_parts final : public linear_operator<T> {
 public:
  called_parts(place where, index_type rows, index_type columns, vector_callback<T> apply,
               vector_callback<T> apply_transposed)
      : where_(where),
        rows_(rows),
        columns_(columns),
        apply_(std::move(apply)),
        apply_transposed_(std::move(apply_transposed)) {}
  place where() const override { return where_; }
  index_type rows() const override { return rows_; }
  index_type columns() const override { return columns_; }
  void apply(recorder& run, const T* x, T* y) const override { record(run, "y = A x", apply_, rows_, x, y); }
  bool has_transpose() const override { return apply_transposed_ != nullptr; }
  void apply_transposed(recorder& run, const T* x, T* y) const override {
    record(run, "y = A'x", apply_transposed_, columns_, x, y);
  }

 private:
  static void record(recorder& run, const char* name, const vector_callback<T>& call, index_type n, const T* x, T* y) {
    run.call(name, [call, n, x, y](CUstream_st* stream) { call(stream, n, x, y); }, {.scratch_only = true});
  }

  place where_;
  index_type rows_, columns_;
  vector_callback<T> apply_, apply_transposed_;
};

template <class T>
class called_preconditioner final : public preconditioner<T> {
 public:
  called_preconditioner(index_type n, vector_callback<T> apply) : n_(n), apply_(std::move(apply)) {}
  void apply(recorder& run, const T* r, T* z) const override {
    run.call("z = M r", [call = apply_, n = n_, r, z](CUstream_st* stream) { call(stream, n, r, z); },
             {.scratch_only = true});
  }

 private:
  index_type n_;
  vector_callback<T> apply_;
};

template <class T>
struct scale_by {
  const T *inverse, *r;
  T* z;
  WHILST_HD void operator()(index_type i) const { z[i] = inverse[i] * r[i]; }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(T)); }
};

template <class T>
class jacobi_parts final : public preconditioner<T> {
 public:
  explicit jacobi_parts(bool absolute) : absolute_(absolute) {}
  void take_memory(index_type n, workspace& memory) override {
    n_ = n;
    inverse_ = memory.take<T>(n);
  }
  bool made_from_operator() const override { return true; }
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    if (!A.has_diagonal())
      throw error("making the preconditioner jacobi", "the operator that methods iterate with has no diagonal",
                  "Give its substitute() one, or use another preconditioner");
    A.diagonal(run, inverse_);
    run.step("invert the diagonal", n_, inverse_of_diagonal<T>{factor, absolute_, inverse_});
  }
  void apply(recorder& run, const T* r, T* z) const override { run.step("z = M r", n_, scale_by<T>{inverse_, r, z}); }

 private:
  bool absolute_;
  index_type n_ = 0;
  T* inverse_ = nullptr;
};

}  // namespace

namespace {
struct narrow_offset {
  const std::int64_t* wide;
  std::int32_t* narrow;
  WHILST_HD void operator()(index_type i) const { narrow[i] = static_cast<std::int32_t>(wide[i]); }
};
}  // namespace
void detail::narrow_offsets(place where, index_type count, const std::int64_t* wide, std::int32_t* narrow) {
  program_recorder record(where);
  record.step("row offsets in 32 bits", count, narrow_offset{wide, narrow});
  run_now(std::move(record).finish(), where);
}

template <class T>
std::unique_ptr<linear_operator<T>> make_called_operator(place where, index_type n, vector_callback<T> apply) {
  return std::make_unique<called_parts<T>>(where, n, n, std::move(apply), nullptr);
}
template <class T>
std::unique_ptr<linear_operator<T>> make_called_operator(place where, index_type rows, index_type columns,
                                                         vector_callback<T> apply,
                                                         vector_callback<T> apply_transposed) {
  return std::make_unique<called_parts<T>>(where, rows, columns, std::move(apply), std::move(apply_transposed));
}
template <class T>
std::unique_ptr<preconditioner<T>> make_called_preconditioner(index_type n, vector_callback<T> apply) {
  return std::make_unique<called_preconditioner<T>>(n, std::move(apply));
}
template <class T, class Offset, class Values>
std::unique_ptr<linear_operator<T>> make_csr_operator(place where, const csr_operator<T, Offset, Values>& A) {
  return std::make_unique<csr_parts<T, Offset, Values>>(where, A);
}
template <class T>
std::unique_ptr<preconditioner<T>> make_jacobi_preconditioner(bool absolute) {
  return std::make_unique<jacobi_parts<T>>(absolute);
}

#define WHILST_PARTS_OF(T)                                                                                             \
  template std::unique_ptr<linear_operator<T>> make_called_operator(place, index_type, vector_callback<T>);            \
  template std::unique_ptr<linear_operator<T>> make_called_operator(place, index_type, index_type, vector_callback<T>, \
                                                                    vector_callback<T>);                               \
  template std::unique_ptr<preconditioner<T>> make_called_preconditioner(index_type, vector_callback<T>);              \
  template std::unique_ptr<linear_operator<T>> make_csr_operator(                                                      \
      place, const csr_operator<T, std::int32_t, constant_slot<const T>>&);                                            \
  template std::unique_ptr<linear_operator<T>> make_csr_operator(                                                      \
      place, const csr_operator<T, std::int32_t, fixed_slot<const T>>&);                                               \
  template std::unique_ptr<linear_operator<T>> make_csr_operator(                                                      \
      place, const csr_operator<T, std::int64_t, constant_slot<const T>>&);                                            \
  template std::unique_ptr<linear_operator<T>> make_csr_operator(                                                      \
      place, const csr_operator<T, std::int64_t, fixed_slot<const T>>&);                                               \
  template std::unique_ptr<preconditioner<T>> make_jacobi_preconditioner(bool);
WHILST_PARTS_OF(float)
WHILST_PARTS_OF(double)
#undef WHILST_PARTS_OF

}  // namespace whilst
