// compiled by nvcc where CUDA is on
#include "bodies.hpp"

#include <numeric>

#include "whilst/place_of_executor.hpp"

namespace whilst::elastic {
namespace {

/// A term whose Hessian is made positive only if that is also requested here.
template <class Term>
struct projected_if {
  static constexpr int unknowns = Term::unknowns;
  Term term;
  bool projected;

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    return term(e, x);
  }
  WHILST_HD void second_derivatives(index_type e, const double* x, bool positive, double* upper) const {
    positive = positive && projected;
    if constexpr (requires { term.second_derivatives(e, x, positive, upper); }) {
      term.second_derivatives(e, x, positive, upper);
    } else {
      using number = second_order_dual<double, unknowns>;
      number variables[unknowns];
      for (int k = 0; k < unknowns; ++k) variables[k] = number::variable(x[k], k);
      const number value = term(e, static_cast<const number*>(variables));
      for (int k = 0; k < number::hessian_size; ++k) upper[k] = value.hessian[k];
      if (positive) make_positive<unknowns>(upper);
    }
  }
};

}  // namespace

bodies::bodies(const scene& start, const simulation_settings& settings)
    : where(place_of_executor(settings.executor)),
      n(start.vertices()),
      x(on_place(start.positions)),
      velocity(on_place(start.velocities)),
      target(where, 3 * n),
      drag(where, n),
      normal(where, 3 * n),
      frames(where, 3 * n * (settings.steps / settings.frame_interval + 1)),
      records(where, settings.steps),
      potential(where, 3 * n) {
  w.h = settings.step_size;
  w.gravity = settings.gravity;
  w.friction = settings.friction;
  w.unit = start.total_mass() * earth_gravity;
  w.rest_energy = start.rest_energy();
  w.total_mass = start.total_mass();
  w.frame_interval = settings.frame_interval;
  w.mass = constant(start.mass);
  w.x = x.data();
  w.velocity = velocity.data();
  w.target = target.data();
  w.drag = drag.data();
  w.normal = normal.data();
  w.frames = frames.data();
  w.records = records.data();
  w.inertia = {constant(start.mass, 1 / (w.unit * w.h * w.h)), w.target};
  w.contact = {constant(start.contact_stiffness, 1 / w.unit), start.obstacles};
  w.sliding = {w.drag, w.normal, w.x};
  add_terms(start, settings.projected);
  potential.prepare();
}

buffer<double> bodies::on_place(const std::vector<double>& values) const {
  buffer<double> made(where, static_cast<index_type>(values.size()));
  made.upload(values.data());
  return made;
}
const double* bodies::constant(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return constants_.emplace_back(on_place(values)).data();
}

template <class Term>
void bodies::add(const char* name, const Term& term, const std::vector<std::int32_t>& vertices, bool projected) {
  std::vector<std::int32_t> unknowns;
  for (const std::int32_t v : vertices) unknowns.insert(unknowns.end(), {3 * v, 3 * v + 1, 3 * v + 2});
  potential.add(name, projected_if<Term>{term, projected}, unknowns);
}
void bodies::add_terms(const scene& start, bool projected) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  add("vertices", vertex_energy{w.inertia, w.contact, w.sliding}, all, projected);
  if (start.number_of_tetrahedra() > 0)
    add("tetrahedra",
        neo_hookean{start.number_of_tetrahedra(), constant(start.inverse_shape), constant(start.volume),
                    start.mu / w.unit, start.lambda / w.unit},
        start.tetrahedra, projected);
  if (start.number_of_springs() > 0)
    add("springs", green_spring{constant(start.spring_stiffness, 1 / w.unit), constant(start.spring_length)},
        start.springs, projected);
}

amg_options amg_of(const scene& start) {
  amg_options settings;
  settings.unknowns_a_node = 3;
  settings.coordinates = start.positions;
  return settings;
}
executor executor_of(const simulation_settings& settings, place where) {
  return settings.executor != "auto" ? executor_from_name(settings.executor)
         : where.on_host()           ? executor::host
                                     : executor::graph;
}

}  // namespace whilst::elastic
