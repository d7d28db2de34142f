#pragma once

#include <string>
#include <vector>

#include "scene.hpp"
#include "simulation.hpp"
#include "whilst/nonlinear/minimize/hessian_preconditioner.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst::elastic {

/// Energies are minimized in units of the weight on earth times a metre: unbalanced forces are then fractions of it.
constexpr double earth_gravity = 9.81;

/// All that the steps need, on the place.
struct world {
  double h, gravity, friction, unit, rest_energy, total_mass;
  index_type frame_interval;
  const double* mass;
  double *x, *velocity, *target, *drag, *normal;
  double* frames;
  step_record* records;
  whilst::elastic::inertia inertia;
  whilst::elastic::contact contact;
  whilst::elastic::friction sliding;
};

/// A scene on a place: its memory, and the incremental potential that each time step minimizes. Cannot move, since the
/// potential's terms point to its memory.
class bodies {
 public:
  bodies(const scene& start, const simulation_settings& settings);
  bodies(const bodies&) = delete;
  bodies& operator=(const bodies&) = delete;

  place where;
  index_type n;  ///< vertices
  world w{};
  buffer<double> x, velocity, target, drag, normal, frames;
  buffer<step_record> records;
  partially_separable<double> potential;

 private:
  buffer<double> on_place(const std::vector<double>& values) const;
  const double* constant(std::vector<double> values, double factor = 1);
  template <class Term>
  void add(const char* name, const Term& term, const std::vector<std::int32_t>& vertices, bool projected);
  void add_terms(const scene& start, bool projected);

  std::vector<buffer<double>> constants_;
};

/// What amg is told of a scene: each vertex's displacements belong together, and where the vertices are at the start.
amg_options amg_of(const scene& start);
/// The executor for these settings on their place.
executor executor_of(const simulation_settings& settings, place where);

}  // namespace whilst::elastic
