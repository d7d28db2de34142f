#include <cmath>

#include "solvers/linear/multigrid/amg.hpp"
#include "solvers/linear/multigrid/cycles/cycle_plan.hpp"
#include "solvers/linear/multigrid/systems/near_null_space.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_amg(linear_solver_options& options) {
  amg_options& amg = options.amg;
  return {{"precision", &amg.precision},
          {"coarsening", &amg.coarsening},
          {"strength", &amg.strength},
          {"interpolation_entries", &amg.interpolation_entries},
          {"aggressive_levels", &amg.aggressive_levels},
          {"coarsest_rows", &amg.coarsest_rows},
          {"most_levels", &amg.most_levels},
          {"cycle", &amg.cycle},
          {"revisited_level", &amg.revisited_level},
          {"smoother", &amg.smoother},
          {"sweeps", &amg.sweeps},
          {"unknowns_a_node", &amg.unknowns_a_node},
          {"refresh", &amg.refresh},
          {"refresh_growth", &amg.refresh_growth},
          {"near_null_space", &amg.near_null_space},
          {"coordinates", &amg.coordinates}};
}

void check_amg(const refuse_setting& refuse, const linear_solver_options& options) {
  const amg_options& amg = options.amg;
  const std::string& precision = amg.precision;
  if (precision != "auto" && precision != "bfloat16" && precision != "float" && precision != "double")
    refuse("precision is '" + precision + "'", "Use one of auto, bfloat16, float, double");
  if (amg.coarsening != "auto" && amg.coarsening != "aggregation" && amg.coarsening != "classical")
    refuse("coarsening is '" + amg.coarsening + "'", "Use one of auto, aggregation, classical");
  if (amg.coarsening == "classical" && multigrid::is_system(amg))
    refuse("coarsening is 'classical', which is for one unknown a node without vectors or coordinates,",
           "Use aggregation for systems of equations");
  if (amg.interpolation_entries < 0 || amg.interpolation_entries > 1000)
    refuse("interpolation_entries is " + std::to_string(amg.interpolation_entries), "Use 1 to 1000, or 0 for all");
  if (amg.aggressive_levels < 0 || amg.aggressive_levels > 100)
    refuse("aggressive_levels is " + std::to_string(amg.aggressive_levels), "Use 0 to 100");
  if (!(amg.strength >= 0 && amg.strength <= 1)) refuse("strength is " + std::to_string(amg.strength), "Use 0 to 1");
  if (amg.coarsest_rows < 0 || amg.coarsest_rows > 2048)
    refuse("coarsest_rows is " + std::to_string(amg.coarsest_rows), "Use 1 to 2048, or 0 for what suits the machine");
  if (amg.most_levels < 1 || amg.most_levels > 100)
    refuse("most_levels is " + std::to_string(amg.most_levels), "Use 1 to 100");
  if (amg.revisited_level < -1 || amg.revisited_level > 100)
    refuse("revisited_level is " + std::to_string(amg.revisited_level), "Use 1 to 100, 0 for none, or -1 by size");
  if (amg.unknowns_a_node < 1 || amg.unknowns_a_node > 8)
    refuse("unknowns_a_node is " + std::to_string(amg.unknowns_a_node), "Use 1 to 8");
  if (amg.refresh != "auto" && amg.refresh != "changed" && amg.refresh != "lagged")
    refuse("refresh is '" + amg.refresh + "'", "Use one of auto, changed, lagged");
  if (!(amg.refresh_growth > 0 && amg.refresh_growth < HUGE_VAL))
    refuse("refresh_growth is " + std::to_string(amg.refresh_growth), "Use a number above 0, as 1.5");
  multigrid::make_cycle_plan(refuse.doing, amg);
}

/// Throws where a method cannot take what the cycle makes of M.
void require_method_for_cycle(const std::string& cycle, const method_needs& method) {
  constexpr std::string_view making = "making preconditioner amg";
  if (!method.fixed_preconditioner) return;
  if (cycle == "K")
    throw error(making, "with cycle K, M changes from one iteration to the next, and the method needs a fixed one",
                "Name a flexible method, as flexible-cg for a symmetric matrix or fgmres for any, or use cycle W");
  if (cycle == "F" && method.symmetric)
    throw error(making, "with cycle F, M is not symmetric, and the method needs it to be",
                "Name method flexible-cg, or one for any matrix, as fgmres, or use cycle W");
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> amg_for(const matrix_to_precondition<T>& matrix, const method_needs& method,
                                                  const linear_solver_options& options) {
  require_method_for_cycle(options.amg.cycle, method);
  amg_options settings = options.amg;
  if (settings.precision == "auto" && method.linear_preconditioner) settings.precision = "double";
  return make_amg<T>(matrix.on_place, method.symmetric, settings, matrix.may_go_on);
}

}  // namespace

const preconditioner_description& amg_description() {
  static constexpr preconditioner_description amg{.name = "amg",
                                                  .prefix = "amg",
                                                  .contents = "the levels of",
                                                  .differs_for_symmetric = true,
                                                  .hears_of_values = false,
                                                  .settings = settings_of_amg,
                                                  .check = check_amg,
                                                  .make_of_float = amg_for<float>,
                                                  .make_of_double = amg_for<double>};
  return amg;
}

}  // namespace whilst
