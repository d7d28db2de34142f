// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/conjugate_gradient.hpp"
#include "whilst/linear/method_in_float.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Preconditioner: the outer frame's, which has nothing to do.
template <class NarrowPreconditioner>
struct refined_with {
  template <class T, class Operator, class Preconditioner>
  struct refined_conjugate_gradient : method_in_float<conjugate_gradient, T, Operator, NarrowPreconditioner> {
    static constexpr const char* name = "refined-cg";
    refined_conjugate_gradient(const Operator& A, const Preconditioner&, T* d, T* r, workspace& memory)
        : method_in_float<conjugate_gradient, T, Operator, NarrowPreconditioner>(A, NarrowPreconditioner{}, d, r,
                                                                                 memory) {}
  };
};

namespace {

/// What is not a matrix with 32-bit offsets, alone or with Jacobi, has no float to work in: cg then.
template <class T>
recorded_solve<T> record_refined(const solve_request<T>& request) {
  if (request.parts || request.offsets_64 || request.preconditioner == preconditioner_kind::parts)
    return record_from_parts<conjugate_gradient>(request);
  const auto A = csr_of<std::int32_t>(request);
  if (request.preconditioner == preconditioner_kind::jacobi)
    return record_with<refined_with<jacobi_preconditioner<float>>::template refined_conjugate_gradient, T>(
        request, A, identity_preconditioner{});
  return record_with<refined_with<identity_preconditioner>::template refined_conjugate_gradient, T>(
      request, A, identity_preconditioner{});
}

}  // namespace

template <class T>
linear_method<T> refined_conjugate_gradient_method() {
  return {"refined-cg", record_refined<T>,
          conjugate_gradient<T, composed_operator<T>, composed_preconditioner<T>>::needs, false};
}
template linear_method<WHILST_NUMBER> refined_conjugate_gradient_method();

}  // namespace whilst
