#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// The matrix B = P R A C Q on the place of A, in csr, for permutations P and Q that are found once. Its values lie in
/// memory of its own, where all of a solver's programs write and read them: one runs at a time.
template <class T>
class permuted_matrix {
 public:
  virtual ~permuted_matrix() = default;
  /// B in host memory, with the values that it was made from.
  virtual const csr_matrix<T>& pattern() const = 0;
  /// B on its place, with the values of the last solve.
  virtual const solve_request<T>& request() const = 0;
  /// Where steps find the values' address, which never changes.
  virtual constant_slot<const T> values() const = 0;
  /// See substitute_operator.
  virtual const std::int32_t* rows() const = 0;
  virtual const std::int32_t* places() const = 0;
  /// Of A's rows and columns, from the matching: powers of two. Null for ones.
  virtual const T* R() const = 0;
  virtual const T* C() const = 0;

  /// Records that B's values are made from those of A; R and C are those of A's rows and columns, or null.
  virtual void record_values(recorder& run, constant_slot<const T> of_A, const T* R, const T* C) const = 0;
  /// The same at once on the host, with R() and C(): of A's values, in host memory.
  virtual std::vector<T> values_from(const T* of_A) const = 0;

  virtual index_type bytes() const = 0;
};

/// Finds the permutation of that name. A: in host memory, of the same width of offsets as `placed`, which is A on its
/// place. Throws whilst::error as find_permutation does.
template <class T>
std::unique_ptr<permuted_matrix<T>> make_permuted_matrix(std::string_view doing, std::string_view name,
                                                         const csr_matrix<T>& A, const solve_request<T>& placed);

}  // namespace whilst
