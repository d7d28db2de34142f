// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/null_space/in_complement.hpp"

#include "solvers/linear/vector_block.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {
namespace {

/// Of the constant vector: the mean. Entries are first divided by about their number, so that no sum overflows.
template <class T>
struct share_of_mean {
  double weight;
  const T* y;
  WHILST_HD auto operator()(index_type i) const { return sums{weight * static_cast<double>(y[i])}; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
};
struct note_mean {
  double weight;  ///< of all entries together
  double* mean;
  WHILST_HD void operator()(const sums<double, 1>& total) const { *mean = total[0] / weight; }
};
template <class T>
struct subtract_mean {
  const double* mean;
  const T* y;
  T* into;
  WHILST_HD void operator()(index_type i) const { into[i] = static_cast<T>(static_cast<double>(y[i]) - *mean); }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
};

struct note_products {
  int count;
  double* products;
  WHILST_HD void operator()(const sums<double, products_at_once>& total) const {
    for (int k = 0; k < products_at_once; ++k)
      if (k < count) products[k] = total[k];
  }
};

/// Records P y.
template <class T>
class null_space_projection {
 public:
  explicit null_space_projection(const null_space<T>& of)
      : n_(of.rows()), count_(of.count()), is_constant_(of.is_constant()), vectors_(of.vectors()) {}

  void take_memory(workspace& memory) { products_ = memory.take<double>(count_); }
  /// into may be y.
  void record(recorder& run, const T* y, T* into) const {
    if (is_constant_) {
      const double weight = power_of_two(-binary_exponent(static_cast<double>(n_)));
      run.step("the mean", n_, share_of_mean<T>{weight, y},
               note_mean{n_ == 0 ? 1 : weight * static_cast<double>(n_), products_});
      run.step("without the mean", n_, subtract_mean<T>{products_, y, into});
      return;
    }
    each_group_of_vectors(count_, [&](int first, int count) {
      run.step("the part in the null space", n_, products_with_vectors<T>{n_, count, vectors_ + first * n_, y},
               note_products{count, products_ + first});
    });
    run.step("without that part", n_, subtract_vectors<T>{n_, count_, vectors_, products_, y, into});
  }
  int count() const { return count_; }
  /// What record() leaves: y's components along orthonormal vectors, divided by unit().
  const double* components() const { return products_; }
  double unit() const { return is_constant_ ? sqrt(static_cast<double>(n_)) : 1; }

 private:
  index_type n_;
  int count_;
  bool is_constant_;
  const T* vectors_;
  double* products_ = nullptr;
};

/// P A.
template <class T>
class projected_operator final : public linear_operator<T> {
 public:
  projected_operator(linear_operator<T>* A, const null_space_projection<T>& P) : A_(A), P_(P) {}
  place where() const override { return A_->where(); }
  index_type rows() const override { return A_->rows(); }
  void take_memory(workspace& memory) override {
    A_->take_memory(memory);
    P_.take_memory(memory);
  }
  void read_values_from(constant_slot<const T> values) override { A_->read_values_from(values); }
  void prepare(recorder& run) const override { A_->prepare(run); }
  void apply(recorder& run, const T* x, T* y) const override {
    A_->apply(run, x, y);
    P_.record(run, y, y);
  }
  bool has_diagonal() const override { return A_->has_diagonal(); }
  void diagonal(recorder& run, T* d) const override { A_->diagonal(run, d); }

 private:
  linear_operator<T>* A_;
  null_space_projection<T> P_;
};

/// P M; P where there is no M.
template <class T>
class projected_preconditioner final : public preconditioner<T> {
 public:
  projected_preconditioner(preconditioner<T>* M, const null_space_projection<T>& P) : M_(M), P_(P) {}
  void take_memory(index_type n, workspace& memory) override {
    if (M_) M_->take_memory(n, memory);
    P_.take_memory(memory);
  }
  void read_values_from(constant_slot<const T> values) override {
    if (M_) M_->read_values_from(values);
  }
  bool made_from_operator() const override { return !M_ || M_->made_from_operator(); }
  void prepare(recorder& run, const linear_operator<T>& A, const double* factor) const override {
    if (M_) M_->prepare(run, A, factor);
  }
  void note_solve(recorder& run, const control* loop, const double* first_norm) const override {
    if (M_) M_->note_solve(run, loop, first_norm);
  }
  void apply(recorder& run, const T* r, T* z) const override {
    if (M_) M_->apply(run, r, z);
    P_.record(run, M_ ? z : r, z);
  }

 private:
  preconditioner<T>* M_;
  null_space_projection<T> P_;
};

/// Between the caller's vectors and those of the solve.
template <class T>
struct take_in {
  slot<const T> b_from;
  slot<T> x_from;
  T *b, *x;
  WHILST_HD void operator()(index_type i) const {
    const T bi = b_from.get()[i], xi = x_from.get()[i];
    b[i] = bi;
    x[i] = xi;
  }
  index_type bytes(index_type n) const { return 4 * n * static_cast<index_type>(sizeof(T)); }
};
struct note_removed {
  const double* components;
  int count;
  double unit;
  double* removed;
  WHILST_HD void operator()() const {
    squares sum{};
    for (int k = 0; k < count; ++k) {
      const squares one = squares_of(components[k]);
      sum = {sum.ordinary + one.ordinary, sum.great + one.great, sum.small + one.small};
    }
    *removed = unit * norm_of(sum);
  }
};
template <class T>
struct give_back {
  const T* x;
  slot<T> x_to;
  WHILST_HD void operator()(index_type i) const { x_to.get()[i] = x[i]; }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(T)); }
};
struct pass_on_outcome {
  const solve_outcome* own;
  const double* removed;
  const control* outer;
  slot<solve_outcome> outcome;
  WHILST_HD void operator()() const {
    solve_outcome& target = *outcome.get();
    solve_outcome told = *own;
    told.launch = target.launch;  // not yet
    told.removed_norm = *removed;
    target = told;
    announce(target, outer->settings.launch);
  }
};

template <class T>
class recorded_in_complement final : public in_complement<T>, public around_solve<T> {
 public:
  recorded_in_complement(const null_space<T>& of, bool absolute) : P_(of), absolute_(absolute) {}

  void put_into(solve_request<T>& request) override {
    if (!request.parts)
      matrix_ = request.offsets_64 ? make_csr_operator<T>(request.where, csr_of<std::int64_t>(request))
                                   : make_csr_operator<T>(request.where, csr_of<std::int32_t>(request));
    if (request.preconditioner == preconditioner_kind::jacobi) jacobi_ = make_jacobi_preconditioner<T>(absolute_);
    preconditioner<T>* const M = jacobi_ ? jacobi_.get() : request.preconditioner_parts;
    A_ = std::make_unique<projected_operator<T>>(request.parts ? request.parts : matrix_.get(), P_);
    M_ = std::make_unique<projected_preconditioner<T>>(M, P_);
    n_ = request.rows;
    request.parts = A_.get();
    request.preconditioner = preconditioner_kind::parts;
    request.preconditioner_parts = M_.get();
    request.around = this;
  }

  solve_frame<T> within(const solve_frame<T>& callers, workspace& memory) override {
    P_.take_memory(memory);
    callers_ = std::make_unique<solve_frame<T>>(callers);
    b_ = memory.take<T>(n_);
    x_ = memory.take<T>(n_);
    outcome_ = memory.take<solve_outcome>(1);
    removed_ = memory.take<double>(1);
    own_ = std::make_unique<solve_frame<T>>(callers);
    own_->b = memory.take<const T*>(1);
    own_->x = memory.take<T*>(1);
    own_->outcome = memory.take<solve_outcome*>(1);
    return *own_;
  }
  void record_before(program_recorder& run) override {
    run.parameter<const T*>(own_->b, b_);
    run.parameter<T*>(own_->x, x_);
    run.parameter<solve_outcome*>(own_->outcome, outcome_);
    run.step("take in b and x", n_, take_in<T>{{callers_->b}, {callers_->x}, b_, x_});
    P_.record(run, b_, b_);
    run.once("how much of b is left out", note_removed{P_.components(), P_.count(), P_.unit(), removed_});
    P_.record(run, b_, b_);
    P_.record(run, x_, x_);
  }
  void record_after(program_recorder& run) override {
    P_.record(run, x_, x_);
    run.step("give x back", n_, give_back<T>{x_, {callers_->x}},
             pass_on_outcome{outcome_, removed_, callers_->outer, {callers_->outcome}});
  }

 private:
  null_space_projection<T> P_;
  bool absolute_;
  index_type n_ = 0;
  std::unique_ptr<linear_operator<T>> matrix_, A_;
  std::unique_ptr<preconditioner<T>> jacobi_, M_;
  std::unique_ptr<solve_frame<T>> callers_, own_;
  T *b_ = nullptr, *x_ = nullptr;
  solve_outcome* outcome_ = nullptr;
  double* removed_ = nullptr;
};

}  // namespace

template <class T>
std::unique_ptr<in_complement<T>> make_in_complement(const null_space<T>& of, bool absolute) {
  return std::make_unique<recorded_in_complement<T>>(of, absolute);
}
template std::unique_ptr<in_complement<WHILST_NUMBER>> make_in_complement(const null_space<WHILST_NUMBER>&, bool);

}  // namespace whilst
