#include "solvers/linear/inner_solve/inner_solve.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_inner_solve(linear_solver_options& options) {
  inner_solve_options& solve = options.solve;
  return {{"method", &solve.method},
          {"iterations", &solve.iterations},
          {"rtol", &solve.rtol},
          {"preconditioner", &solve.preconditioner},
          {"precision", &solve.precision}};
}

void check_inner_solve(const refuse_setting& refuse, const linear_solver_options& options) {
  const inner_solve_options& solve = options.solve;
  if (solve.iterations < 1 || solve.iterations > 1000)
    refuse("iterations is " + std::to_string(solve.iterations), "Use 1 to 1000");
  if (!(solve.rtol >= 0 && solve.rtol < 1))
    refuse("rtol is " + std::to_string(solve.rtol), "Use less than 1, and 0 for all iterations");
  if (solve.precision != "auto" && solve.precision != "float")
    refuse("precision is '" + solve.precision + "'", "Use one of auto, float");
  if (solve.preconditioner == automatic_preconditioner || solve.preconditioner == "solve")
    refuse("preconditioner is '" + solve.preconditioner + "'", "Name another one, as jacobi");
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> inner_solve_for(const matrix_to_precondition<T>& matrix,
                                                          const method_needs& method,
                                                          const linear_solver_options& options) {
  if (method.fixed_preconditioner)
    throw error("making preconditioner solve",
                "M changes from one iteration to the next, and the method needs a fixed one",
                "Name a flexible method, as flexible-cg for a symmetric matrix or fgmres for any");
  const std::string& asked = options.solve.method;
  return make_inner_solve<T>(matrix, asked != "auto" ? asked : method.symmetric ? "cg" : "bicgstab", options);
}

}  // namespace

const preconditioner_description& inner_solve_description() {
  static constexpr preconditioner_description solve{.name = "solve",
                                                    .prefix = "solve",
                                                    .contents = "what is kept for",
                                                    .differs_for_symmetric = true,
                                                    .hears_of_values = true,
                                                    .takes_operators = true,
                                                    .settings = settings_of_inner_solve,
                                                    .check = check_inner_solve,
                                                    .make_of_float = inner_solve_for<float>,
                                                    .make_of_double = inner_solve_for<double>};
  return solve;
}

}  // namespace whilst
