#pragma once

#include <utility>

#include "solvers/linear/polynomial/polynomial_steps.hpp"
#include "whilst/linear/distributed/record_distributed.hpp"

namespace whilst {

/// Preconditioner "chebyshev" of the whole distributed matrix: the polynomial of solvers/linear/polynomial, whose
/// products go through the halo. The greatest eigenvalue is that of Lanczos steps with sums over all ranks, which begin
/// with the same vector on any number of ranks. So M is that of one rank but for rounding. Operator: a
/// distributed_operator.
template <class T, class Operator>
struct chebyshev_of_group {
  static constexpr bool pointwise = false, is_identity = false, runs_in_kernel = false;
  using bounds = eigenvalue_bounds<T, scaled_operator<T, Operator>, jacobi_preconditioner<T>>;

  Operator A;
  chebyshev_settings settings;
  T *inverse_diagonal = nullptr, *vectors[4] = {};
  polynomial::coefficients* coefficients = nullptr;
  typename bounds::lanczos_matrix* lanczos = nullptr;
  typename bounds::weights* handed = nullptr;
  double* factor = nullptr;

  bool changes_nothing() const { return false; }
  bool made_from_operator() const { return true; }
  chebyshev_of_group with_memory(index_type n, workspace& memory) const {
    chebyshev_of_group made = *this;
    made.inverse_diagonal = memory.take<T>(n);
    for (T*& vector : made.vectors) vector = memory.take<T>(n);
    made.coefficients = memory.take<polynomial::coefficients>(1);
    made.lanczos = memory.take<typename bounds::lanczos_matrix>(1);
    made.handed = memory.take<typename bounds::weights>(1);
    made.factor = memory.take<double>(1);
    return made;
  }
  template <class Run>
  void prepare(Run& run, const scaled_operator<T, Operator>& sA) const {
    run.once("the scale of A", polynomial::note_factor{sA.factor, factor});
    const jacobi_preconditioner<T> D{inverse_diagonal};
    D.prepare(run, sA);
    bounds::record(run, sA, D, settings.lanczos_steps, vectors[0], vectors[1], vectors[2], vectors[3], lanczos, handed,
                   settings.first_row);
    run.once("coefficients",
             polynomial::choose_coefficients<bounds>{lanczos, settings.degree, settings.ratio, coefficients});
  }
  template <class Run>
  void record(Run& run, index_type n, const T* r, T* z) const {
    polynomial::record_terms(run, n, A, coefficients, factor, settings.degree, inverse_diagonal, r, vectors[0],
                             vectors[1], z);
  }
  WHILST_HD float* rounded_residual() const { return nullptr; }
  template <class Run>
  void record_after_rounding(Run& run, const T* r, T* z) const {
    record(run, A.rows(), r, z);
  }
};

template <template <class, class, class> class Method, class T>
recorded_solve<T> record_distributed_with_chebyshev(const solve_request<T>& request, const distributed_setup& setup,
                                                    const chebyshev_settings& settings, constant_slot<const T> values) {
  auto A = setup.operator_of<T>(csr_of<std::int32_t>(request));
  auto of_M = A;
  of_M.local.values = values;
  return record_distributed<Method>(request, A, chebyshev_of_group<T, decltype(A)>{of_M, settings});
}

}  // namespace whilst
