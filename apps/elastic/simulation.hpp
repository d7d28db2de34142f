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
  int threads = 0;  ///< of the host, 0 to have it chosen
  /// Time steps that there is room for, and which of them keep their positions: every `frame_interval`-th.
  index_type steps = 100, frame_interval = 1;
  /// In seconds.
  double step_size = 0.01;
  /// In metres by square second, downwards.
  double gravity = 9.81;
  /// Part of the force of contact that friction has at most, about.
  double friction = 0.3;
  /// A step is done where all forces out of balance together, as ||.||_2, are no more than this part of the weight that
  /// the bodies have on earth.
  double newton_tolerance = 1e-5;
  index_type newton_limit = 100;
  /// Whether the Hessian of each term is made positive semi-definite before Newton's method uses it.
  bool projected = true;
};

/// What is known of a time step once it is done.
struct step_record {
  /// In joules; elastic energy is 0 at rest, and potential energy at y = 0.
  double kinetic, elastic, potential, contact;
  double momentum[3];  ///< newton seconds
  double centre[3];    ///< of mass
  /// Forces out of balance, as a part of the weight on earth.
  double imbalance;
  /// The largest rise of the incremental potential from one Newton iterate to the next, as a part of it; 0 where it
  /// never rose.
  double largest_rise;
  /// `evaluations` are the line searches' and one at the start.
  index_type newton_iterations, evaluations, cg_iterations;
  reason why;
  int padding;
  /// On the clock of the place.
  std::uint64_t began, ended;

  double energy() const { return kinetic + elastic + potential + contact; }
  double seconds() const { return 1e-9 * static_cast<double>(ended - began); }
};

/// A scene in time: implicit Euler, each step a minimization by Newton's method with a line search and conjugate
/// gradients within. The steps are a loop of the recorded program, around the loops of Newton and of conjugate
/// gradients, so that any number of them is one launch.
class simulation {
 public:
  /// Throws whilst::error where there is no such executor.
  simulation(const scene& start, const simulation_settings& settings);
  ~simulation();
  simulation(simulation&&) noexcept;

  /// Takes so many steps more, in one launch, and waits. Fewer where a step found no finite number. Not beyond
  /// settings.steps.
  void run(index_type steps);
  index_type steps_done() const;

  /// Of the steps done.
  std::vector<step_record> records() const;
  /// Positions at the start and after every `frame_interval`-th of the steps done, one frame after another.
  std::vector<double> frames() const;
  /// Positions now.
  std::vector<double> positions() const;

  /// What runs it: "host", "stream" or "graph"; and why not another, if there is something to say.
  std::string executor() const;
  const std::string& note() const;
  std::string explain() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst::elastic
