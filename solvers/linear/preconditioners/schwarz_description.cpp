#include "solvers/linear/preconditioners/preconditioner_table.hpp"
#include "solvers/linear/schwarz/schwarz.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_schwarz(linear_solver_options& options) {
  schwarz_options& schwarz = options.schwarz;
  return {{"rows", &schwarz.rows}, {"overlap", &schwarz.overlap}, {"precision", &schwarz.precision}};
}

void check_schwarz(const refuse_setting& refuse, const linear_solver_options& options) {
  const schwarz_options& schwarz = options.schwarz;
  if (schwarz.rows < 1 || schwarz.rows > 64) refuse("rows is " + std::to_string(schwarz.rows), "Use 1 to 64");
  if (schwarz.overlap < 0 || schwarz.overlap > 4) refuse("overlap is " + std::to_string(schwarz.overlap), "Use 0 to 4");
  if (schwarz.precision != "auto" && schwarz.precision != "float" && schwarz.precision != "double")
    refuse("precision is '" + schwarz.precision + "'", "Use one of auto, float, double");
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> schwarz_for(const matrix_to_precondition<T>& matrix,
                                                      const method_needs& method,
                                                      const linear_solver_options& options) {
  return make_schwarz<T>(matrix.on_place, method.symmetric, options.schwarz);
}

}  // namespace

const preconditioner_description& schwarz_description() {
  static constexpr preconditioner_description schwarz{.name = "schwarz",
                                                      .prefix = "schwarz",
                                                      .contents = "the subdomains of",
                                                      .differs_for_symmetric = true,
                                                      .hears_of_values = false,
                                                      .settings = settings_of_schwarz,
                                                      .check = check_schwarz,
                                                      .make_of_float = schwarz_for<float>,
                                                      .make_of_double = schwarz_for<double>};
  return schwarz;
}

}  // namespace whilst
