#pragma once

#include <memory>
#include <string>

#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/distributed/record_distributed.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst {

/// A preconditioner of all ranks together, in parts: its steps exchange what they read of other ranks. Must outlive the
/// program.
template <class T>
class preconditioner_of_group {
 public:
  virtual ~preconditioner_of_group() = default;
  /// Takes the values that lie at `values`, on the place, of A. Collective, between solves.
  virtual void update_values(const distributed_csr_matrix<T>& A, const T* values) = 0;
  /// See exchange::recover. Collective.
  virtual void recover() = 0;
  virtual std::string words() const = 0;
  /// Records what is to be done once in a solve of *factor A.
  virtual void prepare(group_recorder& run, const double* factor) const = 0;
  /// Records z = M r, for this rank's entries.
  virtual void apply(group_recorder& run, const T* r, T* z) const = 0;
  /// Where the step before may write r rounded to float, null for nowhere; and z = M r for that.
  virtual float* rounded_residual() const = 0;
  virtual void apply_to_rounded(group_recorder& run, T* z) const = 0;
};

/// Smoothed aggregation of the whole matrix, by levels_of_group. request: A's pattern and values on the place.
/// Collective.
template <class T>
std::unique_ptr<preconditioner_of_group<T>> make_amg_across_ranks(const exchange& ranks,
                                                                  const distributed_csr_matrix<T>& A,
                                                                  const solve_request<T>& request,
                                                                  const amg_options& options);
/// Whether these settings are among those that it has; else ranks have hierarchies of their own.
bool suits_amg_across_ranks(const amg_options& options);

/// The same for methods.
template <class T>
struct composed_preconditioner_of_group {
  static constexpr bool pointwise = false, is_identity = false, runs_in_kernel = false;
  const preconditioner_of_group<T>* parts;

  bool changes_nothing() const { return false; }
  bool made_from_operator() const { return true; }
  composed_preconditioner_of_group with_memory(index_type, workspace&) const { return *this; }
  template <class Run, class Operator>
  void prepare(Run& run, const scaled_operator<T, Operator>& sA) const {
    parts->prepare(of_group(run), sA.factor);
  }
  template <class Run>
  void note_solve(Run&, const control*, const double*) const {}
  template <class Run>
  void record(Run& run, index_type, const T* r, T* z) const {
    parts->apply(of_group(run), r, z);
  }
  WHILST_HD float* rounded_residual() const {
#if defined(__CUDA_ARCH__)
    return nullptr;
#else
    return parts->rounded_residual();
#endif
  }
  template <class Run>
  void record_after_rounding(Run& run, const T* r, T* z) const {
    if (rounded_residual()) {
      parts->apply_to_rounded(of_group(run), z);
    } else {
      parts->apply(of_group(run), r, z);
    }
  }

 private:
  static group_recorder& of_group(group_recorder& run) { return run; }
};

}  // namespace whilst
