#include "solvers/linear/preconditioners/preconditioner_table.hpp"
#include "solvers/linear/ssor/ssor.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_ssor(linear_solver_options& options) {
  return {{"omega", &options.ssor.omega}, {"sweeps", &options.ssor.sweeps}};
}

void check_ssor(const refuse_setting& refuse, const linear_solver_options& options) {
  const ssor_options& ssor = options.ssor;
  if (!(ssor.omega > 0 && ssor.omega < 2))
    refuse("omega is " + std::to_string(ssor.omega), "Use more than 0 and less than 2");
  if (ssor.sweeps < 1 || ssor.sweeps > most_sweeps_of_ssor)
    refuse("sweeps is " + std::to_string(ssor.sweeps), "Use 1 to " + std::to_string(most_sweeps_of_ssor));
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> ssor_for(const matrix_to_precondition<T>& matrix, const method_needs& method,
                                                   const linear_solver_options& options) {
  return make_ssor<T>(matrix.on_place, method.symmetric, options.ssor);
}

}  // namespace

const preconditioner_description& ssor_description() {
  static constexpr preconditioner_description ssor{.name = "ssor",
                                                   .prefix = "ssor",
                                                   .contents = "the colours of",
                                                   .differs_for_symmetric = true,
                                                   .hears_of_values = false,
                                                   .settings = settings_of_ssor,
                                                   .check = check_ssor,
                                                   .make_of_float = ssor_for<float>,
                                                   .make_of_double = ssor_for<double>};
  return ssor;
}

}  // namespace whilst
