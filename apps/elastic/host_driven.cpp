// compiled by nvcc where CUDA is on
#include "host_driven.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "time_step.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst::elastic {
namespace {

/// What the host reads after an evaluation: the potential, and the square of its gradient's norm.
struct evaluation {
  double value, square;
};

struct foresee_start {
  world w;
  double* trial;
  WHILST_HD void operator()(index_type i) const {
    foresee_vertex(w, i);
    for (int c = 0; c < 3; ++c) trial[3 * i + c] = w.target[3 * i + c];
  }
};
struct add_up {
  index_type n;
  evaluated<double> at;
  double* minus_g;
  WHILST_HD auto operator()(index_type i) const {
    const double g = at.gradient(i, at.gradient.entries(i));
    minus_g[i] = -g;
    return sums{at.value(i, n), g * g};
  }
};
struct keep_evaluation {
  evaluation* found;
  WHILST_HD void operator()(const sums<double, 2>& total) const { *found = {total[0], total[1]}; }
};
struct go_along {
  const double *x, *d, *length;
  double* trial;
  WHILST_HD void operator()(index_type i) const { trial[i] = x[i] + *length * d[i]; }
};
struct take_trial {
  const double* trial;
  double *x, *d;
  WHILST_HD void operator()(index_type i) const {
    x[i] = trial[i];
    d[i] = 0;
  }
};
struct settle_at {
  world w;
  const double* x;
  WHILST_HD void operator()(index_type i) const { settle_vertex(w, i, x + 3 * i); }
};

}  // namespace

struct host_driven::implementation {
  simulation_settings settings;
  host_work what;
  bodies of;
  executor how;
  buffer<double> x, trial, d, minus_g;
  buffer<evaluation> found;
  buffer<int> wanted;
  csr_matrix<double> H;
  linear_solver_options options;
  std::unique_ptr<linear_solver<double>> solver;
  parameter<double> length;
  program begin, evaluate, go, accept, make_H, end;  ///< after all that their steps point to

  implementation(const scene& start, const simulation_settings& given, host_work what)
      : settings(given),
        what(what),
        of(start, given),
        how(executor_of(given, of.where)),
        x(of.where, 3 * of.n),
        trial(of.where, 3 * of.n),
        d(of.where, 3 * of.n),
        minus_g(of.where, 3 * of.n),
        found(of.where, 1),
        wanted(of.where, 1),
        H(matrix_of(of)),
        begin(recorded([&](auto& run) {
          run.step("x + h v + h^2 g", of.n, foresee_start{of.w, trial.data()});
        })),
        evaluate(recorded([&](auto& run) {
          const evaluated<double> at = of.potential.evaluate(run, trial.data());
          run.step("f, g'g", 3 * of.n, add_up{3 * of.n, at, minus_g.data()}, keep_evaluation{found.data()});
        })),
        go(recorded([&](program_recorder& run) {
          length = run.parameter<double>("length", 1.0);
          run.step("x + length d", 3 * of.n, go_along{x.data(), d.data(), length.get(), trial.data()});
        })),
        accept(recorded([&](auto& run) {
          run.step("x = trial, d = 0", 3 * of.n, take_trial{trial.data(), x.data(), d.data()});
        })),
        make_H(recorded([&](auto& run) { of.potential.make_hessian(run, x.data(), wanted.data(), true); })),
        end(recorded([&](auto& run) {
          run.step("v, x", of.n, settle_at{of.w, x.data()});
        })) {
    const int one = 1;
    wanted.upload(&one);
    options = {.method = "cg", .preconditioner = settings.preconditioner, .executor = std::string(name(how))};
    options.max_iterations = std::max<index_type>(6 * of.n, 20);
    options.amg = amg_of(start);
    if (what == host_work::refresh) options.amg.refresh = "lagged";  // as within a minimizer
    options.threads = settings.threads;
    // The levels begin with the Hessian of the start, as the simulation's do.
    trial.upload(start.positions.data());
    run(accept);
    run(make_H);
    if (what == host_work::refresh) solver = std::make_unique<linear_solver<double>>(H, options);
  }

  template <class Record>
  program recorded(const Record& steps) const {
    program_recorder record(of.where);
    steps(record);
    program made = std::move(record).finish();
    made.prepare({.how = how, .threads = settings.threads});
    return made;
  }
  static csr_matrix<double> matrix_of(const bodies& of) {
    const hessian_view<double> A = of.potential.hessian();
    if (!of.where.on_host())
      return csr_matrix<double>::on_device(A.n, A.n, A.nonzeros, A.row_offsets, A.column_indices, A.values);
    return csr_matrix<double>::borrow(A.n, A.n, std::span(A.row_offsets, static_cast<std::size_t>(A.n) + 1),
                                      std::span(A.column_indices, static_cast<std::size_t>(A.nonzeros)),
                                      std::span<const double>(A.values, static_cast<std::size_t>(A.nonzeros)));
  }
  static void run(program& what) {
    what.enqueue(nullptr);
    what.wait();
  }
  evaluation at_trial() {
    run(evaluate);
    evaluation now;
    found.download(&now);
    return now;
  }

  /// H d = -g to the tolerance of the simulation's inner loop.
  index_type solve(double norm) {
    if (what == host_work::set_up) solver = std::make_unique<linear_solver<double>>(H, options);
    const double least = std::sqrt(std::numeric_limits<double>::epsilon());
    solver->set_tolerances(std::max(std::min(0.5, std::sqrt(norm)), least), 0);
    return solver->enqueue(nullptr, minus_g.data(), d.data()).wait().iterations();
  }

  counts step() {
    counts made;
    run(begin);
    run(accept);
    evaluation now = at_trial();
    while (!(std::sqrt(now.square) <= settings.newton_tolerance)) {
      if (made.newton_iterations == settings.newton_limit || !std::isfinite(now.square)) {
        made.converged = false;
        break;
      }
      run(make_H);
      made.cg_iterations += solve(std::sqrt(now.square));
      if (!search(now)) {
        made.converged = false;
        break;
      }
      ++made.newton_iterations;
    }
    run(end);
    return made;
  }

  /// Moves x along d, and tells what is there. False if no length helps.
  bool search(evaluation& now) {
    const double before = now.value, rounding = 10 * std::numeric_limits<double>::epsilon() * std::abs(before);
    double step_length = 1;
    for (int halvings = 0; halvings < 30; ++halvings, step_length /= 2) {
      go.set(length, step_length);
      run(go);
      now = at_trial();
      if (now.value <= before + rounding) {
        run(accept);
        return true;
      }
    }
    return false;
  }
};

host_driven::host_driven(const scene& start, const simulation_settings& settings, host_work what)
    : implementation_(std::make_unique<implementation>(start, settings, what)) {}
host_driven::~host_driven() = default;
host_driven::counts host_driven::step() { return implementation_->step(); }
std::vector<double> host_driven::positions() const {
  std::vector<double> now(static_cast<std::size_t>(3 * implementation_->of.n));
  implementation_->of.x.download(now.data());
  return now;
}

}  // namespace whilst::elastic
