#include "whilst/linear/eigenvalue_range.hpp"

#include "solvers/linear/eigenvalues/record_eigenvalue_range.hpp"
#include "solvers/linear/eigenvalues/symmetric_matrix.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst {

template <class T>
eigenvalue_range estimate_eigenvalue_range(const csr_matrix<T>& A, const eigenvalue_range_options& options) {
  constexpr std::string_view doing = "estimating the range of eigenvalues";
  if (options.lanczos_steps < 1 || options.lanczos_steps > 64)
    throw error(doing, "lanczos_steps is " + std::to_string(options.lanczos_steps), "Give 1 to 64");
  const executor_choice choice = choose_executor({options.executor, options.device}, A.rows(), A.is_on_device(), {});
  const matrix_on_place<T> matrix(A, choice.where, /*check_pointers=*/true, doing);
  require_symmetric(doing, A, choice.where);
  return measure_eigenvalue_range(matrix.request(), choice.how, options.lanczos_steps);
}

template eigenvalue_range estimate_eigenvalue_range(const csr_matrix<float>&, const eigenvalue_range_options&);
template eigenvalue_range estimate_eigenvalue_range(const csr_matrix<double>&, const eigenvalue_range_options&);

}  // namespace whilst
