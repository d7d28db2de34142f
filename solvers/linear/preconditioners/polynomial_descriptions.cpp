#include <cstdio>

#include "solvers/linear/polynomial/polynomial.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_chebyshev(linear_solver_options& options) {
  chebyshev_options& chebyshev = options.chebyshev;
  return {{"degree", &chebyshev.degree}, {"ratio", &chebyshev.ratio}, {"lanczos_steps", &chebyshev.lanczos_steps}};
}
std::vector<preconditioner_setting> settings_of_neumann(linear_solver_options& options) {
  neumann_options& neumann = options.neumann;
  return {{"degree", &neumann.degree}, {"damping", &neumann.damping}, {"lanczos_steps", &neumann.lanczos_steps}};
}

void check_products(const refuse_setting& refuse, int degree, int lanczos_steps) {
  if (degree < 1 || degree > most_degree_of_polynomial)
    refuse("degree is " + std::to_string(degree), "Use 1 to " + std::to_string(most_degree_of_polynomial));
  if (lanczos_steps < 1 || lanczos_steps > 64)
    refuse("lanczos_steps is " + std::to_string(lanczos_steps), "Use 1 to 64");
}
void check_chebyshev(const refuse_setting& refuse, const linear_solver_options& options) {
  const chebyshev_options& chebyshev = options.chebyshev;
  check_products(refuse, chebyshev.degree, chebyshev.lanczos_steps);
  if (chebyshev.ratio != 0 && !(chebyshev.ratio > 1 && chebyshev.ratio <= 1e8))
    refuse("ratio is " + std::to_string(chebyshev.ratio),
           "Use more than 1 and at most 1e8, or 0 for what suits the degree");
}
void check_neumann(const refuse_setting& refuse, const linear_solver_options& options) {
  const neumann_options& neumann = options.neumann;
  check_products(refuse, neumann.degree, neumann.lanczos_steps);
  if (!(neumann.damping >= 0 && neumann.damping <= 2))
    refuse("damping is " + std::to_string(neumann.damping),
           "Use more than 0 and at most 2, or 0 for what suits the matrix");
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> chebyshev_for(const matrix_to_precondition<T>& matrix, const method_needs&,
                                                        const linear_solver_options& options) {
  return make_chebyshev_polynomial<T>(matrix.on_place, options.chebyshev);
}
template <class T>
std::unique_ptr<matrix_preconditioner<T>> neumann_for(const matrix_to_precondition<T>& matrix, const method_needs&,
                                                      const linear_solver_options& options) {
  return make_neumann_polynomial<T>(matrix.on_place, options.neumann);
}

}  // namespace

const preconditioner_description& chebyshev_description() {
  static constexpr preconditioner_description chebyshev{.name = "chebyshev",
                                                        .prefix = "chebyshev",
                                                        .contents = "what is kept for",
                                                        .differs_for_symmetric = false,
                                                        .hears_of_values = false,
                                                        .takes_operators = true,
                                                        .settings = settings_of_chebyshev,
                                                        .check = check_chebyshev,
                                                        .make_of_float = chebyshev_for<float>,
                                                        .make_of_double = chebyshev_for<double>};
  return chebyshev;
}
const preconditioner_description& neumann_description() {
  static constexpr preconditioner_description neumann{.name = "neumann",
                                                      .prefix = "neumann",
                                                      .contents = "what is kept for",
                                                      .differs_for_symmetric = false,
                                                      .hears_of_values = false,
                                                      .takes_operators = true,
                                                      .settings = settings_of_neumann,
                                                      .check = check_neumann,
                                                      .make_of_float = neumann_for<float>,
                                                      .make_of_double = neumann_for<double>};
  return neumann;
}

}  // namespace whilst
