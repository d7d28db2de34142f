#pragma once

#include <memory>

#include "scene.hpp"
#include "simulation.hpp"

namespace whilst::elastic {

/// What the host does about the preconditioner in each Newton iteration.
enum class host_work {
  refresh,  ///< it keeps the solver, whose next solve finds that the matrix has other values
  set_up,   ///< it makes the solver anew
};

/// The time steps of a simulation for comparison: Newton's method as a loop of the host's around a linear_solver. Each
/// iteration enqueues the Hessian, a solve and evaluations one by one, and waits for each. A step is halved until the
/// potential does not rise, which may take other iterations than the simulation's line search.
class host_driven {
 public:
  /// Throws whilst::error as simulation does.
  host_driven(const scene& start, const simulation_settings& settings, host_work what);
  ~host_driven();

  struct counts {
    index_type newton_iterations = 0, cg_iterations = 0;
    bool converged = true;
  };
  /// Takes one time step.
  counts step();
  std::vector<double> positions() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst::elastic
