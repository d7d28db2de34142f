// compiled by nvcc where CUDA is on
#include "simulation.hpp"

#include <algorithm>
#include <numeric>

#include "whilst/minimizer.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"
#include "whilst/nonlinear/minimize/newton_cg.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst::elastic {
namespace {

/// Energies are minimized in units of the weight on earth times a metre: unbalanced forces are then fractions of it.
constexpr double earth_gravity = 9.81;
/// Below this speed, friction is a drag; in metres per second.
constexpr double creeping = 0.02;
/// More than a step's Newton iterates, or their history would be thinned.
constexpr index_type history_capacity = 128;

using newton_method = descent_solve<double, assembled_newton_cg>;

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

/// Where a vertex would go on its own; Newton's method starts there. Also its drag, if it touches something.
struct foresee {
  world w;
  descent_vectors<double> v;

  WHILST_HD void operator()(index_type i) const {
    const double* const x = w.x + 3 * i;
    const double* const velocity = w.velocity + 3 * i;
    for (int c = 0; c < 3; ++c) {
      const double target = x[c] + w.h * (velocity[c] - (c == 1 ? w.h * w.gravity : 0));
      w.target[3 * i + c] = v.x[3 * i + c] = v.trial[3 * i + c] = target;
      v.d[3 * i + c] = v.gradient[3 * i + c] = 0;
    }
    double pressed = 0, normal[3] = {0, 0, 0};
    w.contact.where.for_each_contact(x, [&](double depth, const double* centre) {
      const double force = w.contact.stiffness[i] * depth * depth;
      if (!(force > pressed)) return;
      pressed = force;
      double square = 0;
      for (int c = 0; c < 3; ++c) {
        normal[c] = centre ? x[c] - centre[c] : c == 1;
        square += normal[c] * normal[c];
      }
      for (int c = 0; c < 3; ++c) normal[c] /= sqrt(square);
    });
    double along = 0, square = 0;
    for (int c = 0; c < 3; ++c) along += velocity[c] * normal[c];
    for (int c = 0; c < 3; ++c) square += (velocity[c] - along * normal[c]) * (velocity[c] - along * normal[c]);
    w.drag[i] = w.friction * pressed / (w.h * fmax(sqrt(square), creeping));
    for (int c = 0; c < 3; ++c) w.normal[3 * i + c] = normal[c];
  }
};

struct begin_step {
  newton_method::begin newton;
  const control* clock;
  step_record* records;
  WHILST_HD void operator()() const {
    newton();
    records[clock->iteration].began = now_nanoseconds();
  }
};

/// Newton's result becomes the vertex's position. Sums kinetic energy, the vertices' own energies, momentum and mass
/// times position.
struct settle {
  world w;
  descent_vectors<double> v;
  const descent_state* s;
  const control* clock;

  WHILST_HD sums<double, 10> operator()(index_type i) const {
    const double* const found = (s->accepted ? v.trial : v.x) + 3 * i;
    const double m = w.mass[i], inertia = w.inertia(i, found), contact = w.contact(i, found),
                 sliding = w.sliding(i, found);
    double velocity[3], place[3], square = 0;
    for (int c = 0; c < 3; ++c) {
      place[c] = found[c];
      velocity[c] = (place[c] - w.x[3 * i + c]) / w.h;
      square += velocity[c] * velocity[c];
      w.x[3 * i + c] = place[c];
      w.velocity[3 * i + c] = velocity[c];
    }
    const index_type done = clock->iteration + 1;
    if (done % w.frame_interval == 0)
      for (int c = 0; c < 3; ++c) w.frames[3 * (done / w.frame_interval * v.n / 3 + i) + c] = place[c];
    return {m / 2 * square,  inertia,         contact,      sliding,      m * velocity[0],
            m * velocity[1], m * velocity[2], m * place[0], m * place[1], m * place[2]};
  }
};

struct write_record {
  world w;
  const descent_state* s;
  const control* newton;
  const descent_record* history;

  WHILST_HD void operator()(const sums<double, 10>& total, loop_state& clock) const {
    step_record& r = w.records[clock.iteration];
    r.kinetic = total[0];
    r.contact = w.unit * total[2];
    r.elastic = w.unit * (s->value_of_f() - total[1] - total[2] - total[3]) - w.rest_energy;
    for (int c = 0; c < 3; ++c) {
      r.momentum[c] = total[4 + c];
      r.centre[c] = total[7 + c] / w.total_mass;
    }
    r.potential = w.gravity * total[8];
    r.imbalance = s->norm_of_gradient();
    r.newton_iterations = newton->iteration;
    r.evaluations = s->evaluations;
    r.cg_iterations = s->inner_iterations;
    r.why = newton->why;
    r.largest_rise = 0;
    for (index_type k = 1; k < newton->history_count; ++k)
      r.largest_rise = fmax(r.largest_rise, history[k].value / history[k - 1].value - 1);
    r.ended = now_nanoseconds();
    if (newton->why == reason::nan_or_infinity) {
      clock.stop(reason::nan_or_infinity);  // not counted
    } else {
      clock.updating = 1;
      clock.check();
    }
  }
};

}  // namespace

struct simulation::implementation {
  simulation_settings settings;
  place where;
  index_type n;
  double unit;
  std::vector<buffer<double>> constants;
  buffer<double> x, velocity, target, drag, normal, frames;
  buffer<step_record> records;
  buffer<control> clock;
  partially_separable<double> potential;
  std::unique_ptr<program> recorded;  ///< declared after all that its steps point to
  parameter<control_settings> clock_settings;
  parameter<index_type> first_step;
  index_type done = 0;

  implementation(const scene& start, const simulation_settings& given)
      : settings(given),
        where(place_of_executor(settings.executor)),
        n(start.vertices()),
        unit(start.total_mass() * earth_gravity),
        x(on_place(start.positions)),
        velocity(on_place(start.velocities)),
        target(where, 3 * n),
        drag(where, n),
        normal(where, 3 * n),
        frames(where, 3 * n * (settings.steps / settings.frame_interval + 1)),
        records(where, settings.steps),
        clock(where, 1),
        potential(where, 3 * n) {
    world w{};
    w.h = settings.step_size;
    w.gravity = settings.gravity;
    w.friction = settings.friction;
    w.unit = unit;
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
    w.inertia = {constant(start.mass, 1 / (unit * w.h * w.h)), w.target};
    w.contact = {constant(start.contact_stiffness, 1 / unit), start.obstacles};
    w.sliding = {w.drag, w.normal, w.x};
    add_terms(start, w);
    record(w);
    const bool chosen = settings.executor != "auto";
    recorded->prepare({.how = chosen            ? executor_from_name(settings.executor)
                              : where.on_host() ? executor::host
                                                : executor::graph,
                       .threads = settings.threads});
  }

  buffer<double> on_place(const std::vector<double>& values) const {
    buffer<double> made(where, static_cast<index_type>(values.size()));
    made.upload(values.data());
    return made;
  }
  const double* constant(std::vector<double> values, double factor = 1) {
    for (double& value : values) value *= factor;
    return constants.emplace_back(on_place(values)).data();
  }

  template <class Term>
  void add(const char* name, const Term& term, const std::vector<std::int32_t>& vertices) {
    std::vector<std::int32_t> unknowns;
    for (const std::int32_t v : vertices) unknowns.insert(unknowns.end(), {3 * v, 3 * v + 1, 3 * v + 2});
    potential.add(name, projected_if<Term>{term, settings.projected}, unknowns);
  }
  void add_terms(const scene& start, const world& w) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    add("vertices", vertex_energy{w.inertia, w.contact, w.sliding}, all);
    if (start.number_of_tetrahedra() > 0)
      add("tetrahedra",
          neo_hookean{start.number_of_tetrahedra(), constant(start.inverse_shape), constant(start.volume),
                      start.mu / unit, start.lambda / unit},
          start.tetrahedra);
    if (start.number_of_springs() > 0)
      add("springs", green_spring{constant(start.spring_stiffness, 1 / unit), constant(start.spring_length)},
          start.springs);
  }

  void record(const world& w) {
    potential.prepare();
    program_recorder record(where);
    struct placed {
      history_record* history;
      newton_method newton;
    };
    const placed at = record.arena([&](arena_layout& memory) {
      control* const newton_loop = memory.take<control>(1);
      descent_settings* const newton_settings = memory.take<descent_settings>(1);
      history_record* const newton_history = memory.take<history_record>(history_capacity);
      descent_record* const iterates = memory.take<descent_record>(history_capacity);
      return placed{newton_history, newton_method(potential, {}, {}, newton_loop, newton_settings, iterates, memory)};
    });
    const newton_method& newton = at.newton;
    control* const time = record.uses("clock", clock);
    clock_settings = record.parameter(&time->settings, control_settings{});
    first_step = record.parameter(&time->first_iteration, index_type{0});
    control_settings newton_loop{.limit = settings.newton_limit, .history = at.history};
    newton_loop.history_capacity = history_capacity;
    newton_loop.trip_limit = 20 * settings.newton_limit + 20;
    record.parameter(&newton.loop->settings, newton_loop);
    record.parameter(&newton.direction.inner->settings, control_settings{.limit = std::max<index_type>(6 * n, 20)});
    // Backtracking would let steps oscillate across the edge of a contact, where the Hessian has a kink, with a little
    // decrease each: the curvature condition ends this.
    descent_settings search;
    search.search = line_search_settings::usual(line_search_kind::strong_wolfe);
    search.tolerances.gradient = settings.newton_tolerance;
    record.parameter(const_cast<descent_settings*>(newton.settings), search);

    record.loop("time steps", time, [&](recorder& run) {
      run.step("x + h v + h^2 g", n, foresee{w, newton.v}, begin_step{{newton.s, newton.loop}, time, w.records});
      newton.descend(run, potential);
      run.step("v, x, energies", n, settle{w, newton.v, newton.s, time},
               write_record{w, newton.s, newton.loop, newton.records});
    });
    recorded = std::make_unique<program>(std::move(record).finish());
  }
};

simulation::simulation(const scene& start, const simulation_settings& settings)
    : implementation_(std::make_unique<implementation>(start, settings)) {
  // The first frame is the start.
  std::vector<double> frames(static_cast<std::size_t>(implementation_->frames.size()));
  std::copy(start.positions.begin(), start.positions.end(), frames.begin());
  implementation_->frames.upload(frames.data());
}
simulation::~simulation() = default;
simulation::simulation(simulation&&) noexcept = default;

void simulation::run(index_type steps) {
  implementation& self = *implementation_;
  const index_type last = std::min(self.done + steps, self.settings.steps);
  self.recorded->set(self.clock_settings, control_settings{.limit = last});
  self.recorded->set(self.first_step, self.done);
  self.recorded->enqueue(nullptr);
  self.recorded->wait();
  control stopped;
  self.clock.download(&stopped);
  self.done = stopped.iteration;
}

index_type simulation::steps_done() const { return implementation_->done; }

std::vector<step_record> simulation::records() const {
  std::vector<step_record> all(static_cast<std::size_t>(implementation_->records.size()));
  implementation_->records.download(all.data());
  all.resize(static_cast<std::size_t>(implementation_->done));
  return all;
}

std::vector<double> simulation::frames() const {
  const implementation& self = *implementation_;
  std::vector<double> all(static_cast<std::size_t>(self.frames.size()));
  self.frames.download(all.data());
  all.resize(static_cast<std::size_t>(3 * self.n * (self.done / self.settings.frame_interval + 1)));
  return all;
}

std::vector<double> simulation::positions() const {
  std::vector<double> now(static_cast<std::size_t>(3 * implementation_->n));
  implementation_->x.download(now.data());
  return now;
}

std::string simulation::executor() const { return std::string(name(implementation_->recorded->running_on())); }
const std::string& simulation::note() const { return implementation_->recorded->note(); }
std::string simulation::explain() const { return implementation_->recorded->explain(); }

}  // namespace whilst::elastic
