// compiled by nvcc where CUDA is on
#include "simulation.hpp"

#include <algorithm>

#include "time_step.hpp"
#include "whilst/nonlinear/descent/recorded_descent.hpp"
#include "whilst/nonlinear/minimize/newton_cg.hpp"

namespace whilst::elastic {
namespace {

/// More than a step's Newton iterates, or their history would be thinned.
constexpr index_type history_capacity = 128;

struct foresee {
  world w;
  descent_vectors<double> v;

  WHILST_HD void operator()(index_type i) const {
    foresee_vertex(w, i);
    for (int c = 0; c < 3; ++c) {
      v.x[3 * i + c] = v.trial[3 * i + c] = w.target[3 * i + c];
      v.d[3 * i + c] = v.gradient[3 * i + c] = 0;
    }
  }
};

template <class Begin>
struct begin_step {
  Begin newton;
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
    const double place[3] = {found[0], found[1], found[2]};
    settle_vertex(w, i, place);
    const double* const velocity = w.velocity + 3 * i;
    double square = 0;
    for (int c = 0; c < 3; ++c) square += velocity[c] * velocity[c];
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
    r.refreshes = s->refreshes;
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
  bodies of;
  hessian_preconditioner<double> M;
  buffer<control> clock;
  std::unique_ptr<program> recorded;  ///< declared after all that its steps point to
  parameter<control_settings> clock_settings;
  parameter<index_type> first_step;
  index_type done = 0;

  implementation(const scene& start, const simulation_settings& given)
      : settings(given),
        of(start, given),
        M(make_hessian_preconditioner("making a simulation", of.potential, given.preconditioner, amg_of(start),
                                      start.positions)),
        clock(of.where, 1) {
    if (M.parts) {
      record<preconditioned_newton_cg>(M.parts.get());
    } else {
      record<assembled_newton_cg>();
    }
    recorded->prepare({.how = executor_of(settings, of.where), .threads = settings.threads});
  }

  template <template <class> class Direction, class... Preconditioner>
  void record(Preconditioner*... preconditioner) {
    using newton_method = descent_solve<double, Direction>;
    const world& w = of.w;
    const index_type n = of.n;
    program_recorder record(of.where);
    of.potential.hessian();
    struct placed {
      history_record* history;
      newton_method newton;
    };
    const placed at = record.arena([&](arena_layout& memory) {
      control* const newton_loop = memory.take<control>(1);
      descent_settings* const newton_settings = memory.take<descent_settings>(1);
      history_record* const newton_history = memory.take<history_record>(history_capacity);
      descent_record* const iterates = memory.take<descent_record>(history_capacity);
      return placed{newton_history, newton_method(of.potential, {}, {}, newton_loop, newton_settings, iterates, memory,
                                                  preconditioner...)};
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
      run.step("x + h v + h^2 g", n, foresee{w, newton.v},
               begin_step<typename newton_method::begin>{{newton.s, newton.loop}, time, w.records});
      newton.descend(run, of.potential);
      run.step("v, x, energies", n, settle{w, newton.v, newton.s, time},
               write_record{w, newton.s, newton.loop, newton.records});
    });
    recorded = std::make_unique<program>(std::move(record).finish());
  }
};

simulation::simulation(const scene& start, const simulation_settings& settings)
    : implementation_(std::make_unique<implementation>(start, settings)) {
  // The first frame is the start.
  std::vector<double> frames(static_cast<std::size_t>(implementation_->of.frames.size()));
  std::copy(start.positions.begin(), start.positions.end(), frames.begin());
  implementation_->of.frames.upload(frames.data());
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
  std::vector<step_record> all(static_cast<std::size_t>(implementation_->of.records.size()));
  implementation_->of.records.download(all.data());
  all.resize(static_cast<std::size_t>(implementation_->done));
  return all;
}

std::vector<double> simulation::frames() const {
  const implementation& self = *implementation_;
  std::vector<double> all(static_cast<std::size_t>(self.of.frames.size()));
  self.of.frames.download(all.data());
  all.resize(static_cast<std::size_t>(3 * self.of.n * (self.done / self.settings.frame_interval + 1)));
  return all;
}

std::vector<double> simulation::positions() const {
  std::vector<double> now(static_cast<std::size_t>(3 * implementation_->of.n));
  implementation_->of.x.download(now.data());
  return now;
}

std::string simulation::executor() const { return std::string(name(implementation_->recorded->running_on())); }
const std::string& simulation::note() const { return implementation_->recorded->note(); }
std::string simulation::preconditioner() const { return implementation_->M.description; }
index_type simulation::bytes_of_preconditioner() const { return implementation_->M.bytes; }
std::string simulation::explain() const { return implementation_->recorded->explain(); }

}  // namespace whilst::elastic
