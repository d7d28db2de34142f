// compiled by nvcc where CUDA is on
#include "benchmarks/overheads/matrix_free.hpp"

#include "whilst/linear/methods/pipelined_conjugate_gradient.hpp"
#include "whilst/template_door.hpp"

namespace overheads {
namespace {

template <template <class, class, class> class Method>
timing time_method(problem& given, index_type side, const way& how, run_lengths lengths, double budget) {
  const whilst::poisson_2d_operator<double> A{side, side};
  using solver_type = whilst::operator_solver<double>;
  solver_type solver = whilst::make_operator_solver<Method, double>(A, {}, options_for(how));
  const auto enqueue = [](whilst::replayed_solver& of, const double* b, double* x) {
    return static_cast<solver_type&>(of).enqueue(nullptr, b, x);
  };
  return time_runs(given, solver, enqueue, how, lengths, budget, nullptr);
}

}  // namespace

timing time_matrix_free(problem& given, const std::string& method, index_type side, const way& how, run_lengths lengths,
                        double budget) {
  if (method == "cg") return time_method<whilst::conjugate_gradient>(given, side, how, lengths, budget);
  return time_method<whilst::pipelined_conjugate_gradient>(given, side, how, lengths, budget);
}

}  // namespace overheads
