// compiled by nvcc where CUDA is on
#include "benchmarks/overheads/matrix_free.hpp"

#include "whilst/linear/pipelined_conjugate_gradient.hpp"
#include "whilst/template_door.hpp"

namespace overheads {

timing time_matrix_free(problem& given, const std::string& method, index_type side, const way& how, run_lengths lengths,
                        double budget) {
  const whilst::poisson_2d_operator<double> A{side, side};
  const auto time = [&](auto solver) { return time_runs(given, solver, how, lengths, budget, nullptr); };
  if (method == "cg")
    return time(whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, {}, options_for(how)));
  return time(whilst::make_operator_solver<whilst::pipelined_conjugate_gradient, double>(A, {}, options_for(how)));
}

}  // namespace overheads
