#pragma once

#include <string>

#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst {

/// A preconditioner that the library makes from a matrix.
template <class T>
class matrix_preconditioner : public preconditioner<T> {
 public:
  /// Of one that may go on being made on the GPU after its constructor: waits for that. To be called before anything
  /// that reads it is run. Throws what that has failed with.
  virtual void finish() {}
  void prepare(recorder& run, const linear_operator<T>&, const double* factor) const override {
    this->prepare_by_itself(run, factor);
  }
  bool prepares_by_itself() const final { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override = 0;
  /// The matrix has other values: `values`, in the order of the pattern's, in host memory or memory of the solver's
  /// place. Called between solves, none of which runs then. What is made on the host is made anew here; by default
  /// nothing happens, as for what a solve makes anew by itself.
  virtual void values_changed([[maybe_unused]] const csr_matrix<T>& pattern, [[maybe_unused]] const T* values) {}
  /// begin_sequence, run at once: between solves.
  virtual void begin_sequence_now() {}
  /// Bytes that it keeps, besides what programs hold for it.
  virtual index_type bytes() const = 0;
  /// What was made, in words.
  virtual std::string description() const = 0;
  /// The same at length: lines.
  virtual std::string explain() const { return description() + "\n"; }
};

}  // namespace whilst
