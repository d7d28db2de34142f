// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/methods/refined_conjugate_gradient.hpp"

#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// For a frame that leaves the preconditioner to the method.
template <class FloatPreconditioner>
struct refined_with {
  template <class T, class Operator, class>
  struct method : refined_conjugate_gradient<T, Operator, FloatPreconditioner> {
    method(const Operator& A, const identity_preconditioner&, T* d, const T* r, workspace& memory)
        : refined_conjugate_gradient<T, Operator, FloatPreconditioner>(A, {}, d, r, memory) {}
  };
};

namespace {

/// What is not a matrix with 32-bit offsets, alone or with Jacobi, has no copy in float: then the same method in T.
template <class T>
recorded_solve<T> record_refined(const solve_request<T>& request) {
  if (request.parts || request.offsets_64 || request.preconditioner == preconditioner_kind::parts)
    return flexible_conjugate_gradient_method<T>().record(request);
  const auto A = csr_of<std::int32_t>(request);
  if (request.preconditioner == preconditioner_kind::jacobi)
    return record_with<refined_with<jacobi_preconditioner<float>>::template method, T>(request, A,
                                                                                       identity_preconditioner{});
  return record_with<refined_with<identity_preconditioner>::template method, T>(request, A, identity_preconditioner{});
}

}  // namespace

template <class T>
linear_method<T> refined_conjugate_gradient_method() {
  return {"refined-cg", record_refined<T>, flexible_conjugate_gradient_method<T>().needs, {}};
}
template linear_method<WHILST_NUMBER> refined_conjugate_gradient_method();

}  // namespace whilst
