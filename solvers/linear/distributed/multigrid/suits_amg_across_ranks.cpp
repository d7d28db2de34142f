#include "solvers/linear/distributed/multigrid/amg_across_ranks.hpp"
#include "solvers/linear/multigrid/cycles/cycle_plan.hpp"
#include "solvers/linear/multigrid/systems/near_null_space.hpp"

namespace whilst {

bool suits_amg_across_ranks(const amg_options& options) {
  const multigrid::cycle_plan plan = multigrid::make_cycle_plan("making preconditioner amg", options);
  return plan.is_plain() && plan.smoother == multigrid::smoother_kind::spai0 && options.coarsening != "classical" &&
         options.aggressive_levels == 0 && options.revisited_level <= 0 && !multigrid::is_system(options);
}

}  // namespace whilst
