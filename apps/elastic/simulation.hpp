#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scene.hpp"
#include "whilst/reason.hpp"

namespace whilst::elastic {

struct simulation_settings {
  /// "auto", "host", "stream" or "graph".
  std::string executor = "auto";
  int threads = 0;  ///< on the host, 0 chooses
  /// The most time steps, and which of them keep their positions: every `frame_interval`-th.
  index_type steps = 100, frame_interval = 1;
  /// In seconds.
  double step_size = 0.01;
  /// In metres per second squared, downwards.
  double gravity = 9.81;
  /// Upper limit of friction, roughly, as a fraction of the contact force.
  double friction = 0.3;
  /// A step is done when the unbalanced forces, as ||.||_2, are no more than this fraction of the bodies' weight on
  /// earth.
  double newton_tolerance = 1e-5;
  index_type newton_limit = 100;
  /// Whether to make each term's Hessian positive semi-definite before Newton's method uses it.
  bool projected = true;
  /// Of the conjugate gradients: "jacobi", or "amg" with settings after it, whose levels are made anew from each
  /// Hessian within the recorded loop.
  std::string preconditioner = "jacobi";
};

/// The record of a completed time step.
struct step_record {
  /// In joules; elastic energy is 0 at rest, potential energy at y = 0.
  double kinetic, elastic, potential, contact;
  double momentum[3];  ///< newton seconds
  double centre[3];    ///< of mass
  /// Unbalanced forces, as a fraction of the weight on earth.
  double imbalance;
  /// The largest rise of the incremental potential from one Newton iterate to the next, relative to it; 0 if it never
  /// rose.
  double largest_rise;
  /// `evaluations` counts those of the line searches and one at the start.
  index_type newton_iterations, evaluations, cg_iterations;
  /// Of amg's levels, since the simulation began; 0 for a step without an iteration.
  index_type refreshes;
  reason why;
  int padding;
  /// By the place's clock.
  std::uint64_t began, ended;

  double energy() const { return kinetic + elastic + potential + contact; }
  double seconds() const { return 1e-9 * static_cast<double>(ended - began); }
};

/// A scene in time: implicit Euler, each step a minimization by Newton's method with a line search and inner conjugate
/// gradients. The steps are a loop of the recorded program, around the loops of Newton and of conjugate gradients, so
/// any number of them is one launch.
class simulation {
 public:
  /// Throws whilst::error if there is no such executor or preconditioner.
  simulation(const scene& start, const simulation_settings& settings);
  ~simulation();
  simulation(simulation&&) noexcept;

  /// Takes this many more steps, in one launch, and waits. Fewer if a step found no finite number. Not beyond
  /// settings.steps.
  void run(index_type steps);
  index_type steps_done() const;

  /// For the completed steps.
  std::vector<step_record> records() const;
  /// Positions at the start and after every `frame_interval`-th completed step, one frame after another.
  std::vector<double> frames() const;
  /// Current positions.
  std::vector<double> positions() const;

  /// The executor in use: "host", "stream" or "graph"; and why not another, if there is a reason.
  std::string executor() const;
  const std::string& note() const;
  /// What preconditions: "jacobi", or "amg, 3 levels of ..."; and the bytes that it keeps.
  std::string preconditioner() const;
  index_type bytes_of_preconditioner() const;
  std::string explain() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst::elastic
