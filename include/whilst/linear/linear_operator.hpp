#pragma once

#include <functional>
#include <memory>

#include "whilst/engine/recorder.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

template <class T>
class linear_operator;

/// What methods iterate with instead of an operator A: B, of the same shape and on the same place, close to P R A C Q
/// for diagonal matrices R and C of positive entries and permutations P and Q. A solve finds its corrections by
/// B y = P R r, x += C Q y, and judges them by A. Until then the norm of a residual, in the history and in progress, is
/// the method's: ||R r||, scaled so that it begins at ||r|| with each restart.
template <class T>
struct substitute_operator {
  linear_operator<T>* B = nullptr;     ///< null for A itself
  const T *R = nullptr, *C = nullptr;  ///< the diagonals, in memory of the place; null for ones
  double reduction = 0;                ///< of the residual, beyond which a restart with B's residual gains nothing
  /// Row k of B is row rows[k] of A, and unknown j of A is unknown places[j] of B: in memory of the place that is there
  /// before take_memory. Null for the order of A.
  const std::int32_t *rows = nullptr, *places = nullptr;
};

/// A linear operator in parts: it records the steps that make its products. Compiled apart from the methods, so that
/// methods and operators add up instead of multiplying. Derive your own, in a file that nvcc compiles if it records
/// steps, and pass it to linear_solver.
///
/// A solver records an operator once and replays the record: what a product must read anew (matrix values) lies behind
/// pointers that the steps hold. The operator must outlive the programs that it has recorded into.
template <class T>
class linear_operator {
 public:
  virtual ~linear_operator() = default;
  /// Where its products run.
  virtual place where() const = 0;
  virtual index_type rows() const = 0;
  /// Methods that need no transpose take square operators alone.
  virtual index_type columns() const { return rows(); }
  /// Takes the memory that its steps need, for as long as the program. Called twice, like the layout of an arena: the
  /// second time with the memory.
  virtual void take_memory([[maybe_unused]] workspace& memory) {}
  /// For a matrix whose values are bound at launch: where the pointer to them will lie.
  virtual void read_values_from([[maybe_unused]] constant_slot<const T> values) {}
  /// Records what products need of the operator's present values, once in a solve.
  virtual void prepare([[maybe_unused]] recorder& run) const {}
  /// Records y = A x; x has columns() entries, y has rows(), and they do not overlap. The steps may run once more after
  /// the loop has stopped, so they write nothing but y and memory of the operator's own.
  virtual void apply(recorder& run, const T* x, T* y) const = 0;
  /// Another operator for methods to iterate with. Asked after take_memory, which takes the memory of both; prepare
  /// prepares both. Preconditioners are made from it. No effect on lsqr, lsmr and cgls, and beside a null space.
  virtual substitute_operator<T> substitute() { return {}; }
  /// Whether diagonal() can be called.
  virtual bool has_diagonal() const { return false; }
  /// Records d_i = A_ii.
  virtual void diagonal([[maybe_unused]] recorder& run, [[maybe_unused]] T* d) const {}
  /// Whether apply_transposed() can be called.
  virtual bool has_transpose() const { return false; }
  /// Records y = A'x, as apply().
  virtual void apply_transposed([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                                [[maybe_unused]] T* y) const {}
  /// Whether normal_diagonal() can be called.
  virtual bool has_normal_diagonal() const { return false; }
  /// Records d_j = (A'A)_jj for *factor times A, which is about 1; factor is memory of the place.
  virtual void normal_diagonal([[maybe_unused]] recorder& run, [[maybe_unused]] const double* factor,
                               [[maybe_unused]] T* d) const {}
};

/// A preconditioner in parts: it records the steps of z = M r. M approximates the inverse of A; see linear_operator for
/// what is expected of the steps and the object.
template <class T>
class preconditioner {
 public:
  virtual ~preconditioner() = default;
  /// Takes the memory that its steps need for n rows; as linear_operator::take_memory.
  virtual void take_memory([[maybe_unused]] index_type n, [[maybe_unused]] workspace& memory) {}
  /// So much memory on its place, aligned as a buffer's is, that making it has left over, for the vectors of a program,
  /// which it outlives; null where there is not so much. Each call gives other memory, which counts as the program's.
  virtual void* room_for([[maybe_unused]] std::size_t bytes) { return nullptr; }
  /// For one made from a matrix whose values are bound at launch: where the pointer to them will lie.
  virtual void read_values_from([[maybe_unused]] constant_slot<const T> values) {}
  /// Whether prepare makes M from the operator.
  virtual bool made_from_operator() const { return false; }
  /// Records, once in a solve, how M is made from *factor times A; factor is memory of the place.
  virtual void prepare([[maybe_unused]] recorder& run, [[maybe_unused]] const linear_operator<T>& A,
                       [[maybe_unused]] const double* factor) const {}
  /// Whether prepare asks nothing of A: prepare_by_itself is called then where A is a matrix within a method's kernels.
  virtual bool prepares_by_itself() const { return false; }
  virtual void prepare_by_itself([[maybe_unused]] recorder& run, [[maybe_unused]] const double* factor) const {}
  /// For a lagged M, which prepare makes anew only where solves have become slower. A program records note_solve behind
  /// each solve: what the solve took, and the norm of its first residual, in memory of the place. begin_sequence, where
  /// what follows must not depend on earlier solves: the next prepare makes M anew if the operator has changed at all.
  virtual void begin_sequence([[maybe_unused]] recorder& run) const {}
  virtual void note_solve([[maybe_unused]] recorder& run, [[maybe_unused]] const control* loop,
                          [[maybe_unused]] const double* first_norm) const {}
  /// How often prepare has made M anew since begin_sequence, in memory of the place; null where M does not count.
  virtual const index_type* refreshes() const { return nullptr; }
  /// Records z = M r; they do not overlap.
  virtual void apply(recorder& run, const T* r, T* z) const = 0;
  /// Memory of an M that begins with r rounded to float; else null. The step that makes r may write that there, too,
  /// and apply_to_rounded then takes the place of apply. Asked after take_memory.
  virtual float* rounded_residual() const { return nullptr; }
  /// Records z = M r for the r in rounded_residual().
  virtual void apply_to_rounded([[maybe_unused]] recorder& run, [[maybe_unused]] T* z) const {}
  /// For apply_to_columns, instead of take_memory: the memory for so many columns of n entries.
  virtual void take_memory_for_columns(index_type n, [[maybe_unused]] index_type columns, workspace& memory) {
    take_memory(n, memory);
  }
  /// Records Z = M R for several columns of n entries, which lie one after another without gaps: here, M for each in
  /// turn. One that reads less for all of them at once has its own.
  virtual void apply_to_columns(recorder& run, index_type n, index_type columns, const T* R, T* Z) const {
    for (index_type k = 0; k < columns; ++k) apply(run, R + k * n, Z + k * n);
  }
};

/// A function that makes products: enqueues y = f(x) on a stream, which is null on the host. n: the entries of y.
template <class T>
using vector_callback = std::function<void(CUstream_st* stream, index_type n, const T* x, T* y)>;

/// The parts that the library has. Each is for a place and its memory, and throws what recording throws.
template <class T>
std::unique_ptr<linear_operator<T>> make_called_operator(place where, index_type n, vector_callback<T> apply);
/// The same for an operator of any shape with its transpose.
template <class T>
std::unique_ptr<linear_operator<T>> make_called_operator(place where, index_type rows, index_type columns,
                                                         vector_callback<T> apply, vector_callback<T> apply_transposed);
template <class T>
std::unique_ptr<preconditioner<T>> make_called_preconditioner(index_type n, vector_callback<T> apply);
/// A matrix. Offset: std::int32_t or std::int64_t. Values: a constant_slot<const T>, empty for values that are bound at
/// launch, or a fixed_slot<const T>, whose memory steps may write.
template <class T, class Offset, class Values>
std::unique_ptr<linear_operator<T>> make_csr_operator(place where, const csr_operator<T, Offset, Values>& A);
/// The inverse of the diagonal, or of its absolute values, which is positive definite for every A; 1 where it is 0.
template <class T>
std::unique_ptr<preconditioner<T>> make_jacobi_preconditioner(bool absolute);

/// The transpose of a composed_operator.
template <class T>
struct composed_transpose {
  static constexpr bool applied_whole = true, runs_in_kernel = false;
  linear_operator<T>* parts;

  WHILST_HD index_type rows() const {
#if defined(__CUDA_ARCH__)
    return 0;
#else
    return parts->columns();
#endif
  }
  void apply(recorder& run, const T* x, T* y) const { parts->apply_transposed(run, x, y); }
};

/// A linear_operator within a method: without rows.
template <class T>
struct composed_operator {
  static constexpr bool applied_whole = true, runs_in_kernel = false;
  linear_operator<T>* parts;                ///< used while recording, never when the steps run
  substitute_operator<T> for_methods = {};  ///< once it has memory

  WHILST_HD index_type rows() const {
#if defined(__CUDA_ARCH__)
    return 0;
#else
    return parts->rows();
#endif
  }
  void apply(recorder& run, const T* x, T* y) const { parts->apply(run, x, y); }
  composed_operator with_memory(workspace& memory) const {
    parts->take_memory(memory);
    return {parts, parts->substitute()};
  }
  void prepare(recorder& run) const { parts->prepare(run); }
  composed_transpose<T> transposed() const { return {parts}; }
  /// What methods iterate with.
  WHILST_HD composed_operator substitute() const { return {for_methods.B ? for_methods.B : parts}; }
  WHILST_HD diagonal_factors<T> row_factors() const { return {for_methods.R, for_methods.rows}; }
  WHILST_HD diagonal_factors<T> column_factors() const { return {for_methods.C, for_methods.places}; }
  WHILST_HD double reduction() const { return for_methods.reduction; }
};

/// A preconditioner within a method; null for none.
template <class T>
struct composed_preconditioner {
  static constexpr bool pointwise = false, is_identity = false, runs_in_kernel = false;
  preconditioner<T>* parts;  ///< as above

  bool changes_nothing() const { return parts == nullptr; }
  bool made_from_operator() const { return !parts || parts->made_from_operator(); }
  composed_preconditioner with_memory(index_type n, workspace& memory) const {
    if (parts) parts->take_memory(n, memory);
    return *this;
  }
  void prepare(recorder& run, const scaled_operator<T, composed_operator<T>>& A) const {
    if (parts) parts->prepare(run, *A.unscaled.parts, A.factor);
  }
  /// Beside an operator that has rows: for parts that prepare by themselves.
  template <class Operator>
  void prepare(recorder& run, const scaled_operator<T, Operator>& A) const {
    if (parts) parts->prepare_by_itself(run, A.factor);
  }
  void note_solve(recorder& run, const control* loop, const double* first_norm) const {
    if (parts) parts->note_solve(run, loop, first_norm);
  }
  void record(recorder& run, index_type, const T* r, T* z) const {
    if (parts) parts->apply(run, r, z);
  }
  WHILST_HD float* rounded_residual() const {
#if defined(__CUDA_ARCH__)
    return nullptr;
#else
    return parts ? parts->rounded_residual() : nullptr;
#endif
  }
  /// Likewise, where the step before has written rounded_residual() if there is one.
  void record_after_rounding(recorder& run, const T* r, T* z) const {
    if (rounded_residual()) {
      parts->apply_to_rounded(run, z);
    } else if (parts) {
      parts->apply(run, r, z);
    }
  }
};

}  // namespace whilst
