#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/permutation/permuted_matrix.hpp"
#include "solvers/linear/rectangular/transpose_on_place.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst {

/// A solver's matrix, in all the forms that its solves need: in csr on its place, in the format that was chosen,
/// transposed, and as the operator that names what methods iterate with instead.
template <class T>
class stored_matrix {
 public:
  /// No matrix.
  stored_matrix() = default;
  /// `doing` begins the messages of errors. needs_transpose: the method does, so the format must be csr.
  stored_matrix(std::string_view doing, const csr_matrix<T>& A, place where, const linear_solver_options& options,
                whilst::executor how, bool needs_transpose);

  const csr_matrix<T>& given() const { return csr_.given(); }
  place where() const { return csr_.request().where; }
  index_type rows() const { return csr_.request().rows; }
  index_type columns() const { return csr_.request().columns; }
  index_type nonzeros() const { return csr_.request().nonzeros; }
  const T* values() const { return csr_.request().values; }
  /// What methods iterate with, in its order; null for that of the matrix.
  const permuted_matrix<T>* permuted() const { return permuted_.get(); }
  const format_choice& format() const { return format_; }  ///< empty if there is no matrix

  /// What to record. needs_transpose: the method's; the first such request makes the transpose.
  solve_request<T> request(bool needs_transpose);

  /// See matrix_on_place.
  bool is_read_in_place(const csr_matrix<T>& A) const { return csr_.is_read_in_place(A); }
  void update_values(std::span<const T> values) { csr_.update_values(values); }

  /// For memory(): the forms that there are.
  std::vector<memory_item> memory() const;
  /// Bytes of what is not the caller's.
  index_type bytes() const;

 private:
  matrix_on_place<T> csr_;
  format_choice format_;
  std::unique_ptr<permuted_matrix<T>> permuted_;     ///< if the options ask for it
  std::unique_ptr<formatted_matrix<T>> formatted_;   ///< if the format is not csr
  transpose_on_place<T> transpose_;                  ///< for methods and scales that need it
  std::unique_ptr<linear_operator<T>> substituted_;  ///< if methods iterate with another one
};

extern template class stored_matrix<float>;
extern template class stored_matrix<double>;

}  // namespace whilst
