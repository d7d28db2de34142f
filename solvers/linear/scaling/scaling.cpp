#include "solvers/linear/scaling/scaling.hpp"

namespace whilst {

std::vector<std::string> scaling_names() { return {"none", "rows", "symmetric", "equilibrate"}; }

scaling_kind scaling_from_name(std::string_view doing, std::string_view scaling) {
  const std::vector<std::string> names = scaling_names();
  std::string all;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == scaling) return static_cast<scaling_kind>(k);
    all.append(all.empty() ? "" : ", ").append(names[k]);
  }
  throw error(doing, "there is no scaling called '" + std::string(scaling) + "'", "Use one of " + all);
}

void check_scaling(std::string_view doing, const linear_solver_options& options) {
  scaling_from_name(doing, options.scaling);
  if (options.matrix_values != "exact" && options.matrix_values != "float")
    throw error(doing, "there are no matrix_values called '" + options.matrix_values + "'", "Use one of exact, float");
}

std::string name_of_change(const linear_solver_options& options) {
  if (has_permutation(options) && !has_scaling(options)) return "permutation " + options.permutation;
  return name_of_change_of_values(options);
}
std::string name_of_change_of_values(const linear_solver_options& options) {
  return has_scaling(options) ? "scaling " + options.scaling : "matrix_values " + options.matrix_values;
}

}  // namespace whilst
