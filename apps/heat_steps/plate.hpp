#pragma once

#include <cmath>
#include <cstdint>

#include "whilst/basics/index_type.hpp"
#include "whilst/host/solve_outcome.hpp"
#include "whilst/host_device.hpp"

/// The problem, and what happens at each point and at the end of each time step: one source for CPU loops and kernels.
namespace whilst::heat_steps {

/// u_t = div(k grad u) + f on the unit square, 0 at its edge, by the five-point stencil and backward Euler. The
/// conductivity k = 1 + C u^2 is that of the step before. A Gaussian flame moves from (0.25, 0.25) to (0.75, 0.6) in
/// one unit of time and then rests.
struct plate {
  index_type cells = 64;  ///< along an edge
  double time_step = 0.01;
  double flame = 100;       ///< f at its centre
  double conductivity = 0;  ///< C

  WHILST_HD index_type points() const { return (cells - 1) * (cells - 1); }
  WHILST_HD double x(index_type i) const { return double(i % (cells - 1) + 1) / double(cells); }
  WHILST_HD double y(index_type i) const { return double(i / (cells - 1) + 1) / double(cells); }
  WHILST_HD double source(index_type i, double time) const {
    constexpr double width = 0.05;
    const double moved = time < 1 ? time : 1;
    const double from_x = x(i) - (0.25 + 0.5 * moved), from_y = y(i) - (0.25 + 0.35 * moved);
    return flame * exp(-(from_x * from_x + from_y * from_y) / (2 * width * width));
  }

  /// Whether the matrix is another one in each step.
  WHILST_HD bool matrix_changes() const { return conductivity != 0; }
  /// Calls put(column, value) for each entry of row i of I + dt A(u), from left to right. Between two points k is the
  /// mean of theirs.
  template <class Put>
  WHILST_HD void for_each_entry(const double* u, index_type i, const Put& put) const {
    const index_type m = cells - 1, column[4] = {i - m, i - 1, i + 1, i + m};
    const bool inside[4] = {i / m > 0, i % m > 0, i % m < m - 1, i / m < m - 1};  // the edge is 0
    double coupling[4], diagonal = 1;
    for (int k = 0; k < 4; ++k) {
      const double there = inside[k] ? u[column[k]] : 0;
      coupling[k] = time_step * double(cells) * double(cells) * (1 + conductivity * (u[i] * u[i] + there * there) / 2);
      diagonal += coupling[k];
    }
    for (int k = 0; k < 4; ++k) {
      if (k == 2) put(i, diagonal);
      if (inside[k]) put(column[k], -coupling[k]);
    }
  }
};

enum class ending : int { running, steady, all_steps, failed_solve };

/// The values that change from step to step or run to run. A captured step keeps the pointers and numbers it was
/// captured with, so these lie in memory that it points to.
struct run_state {
  index_type most_steps = 0;
  double steady = 0;  ///< the run ends when a step changes u by no more than this, root mean square
  double time = 0, change = 0;
  index_type steps = 0, iterations = 0;  ///< so far; iterations are those of conjugate gradients
  ending why = ending::running;
};

/// The memory of all that.
struct fields {
  double *u, *before, *b;
  run_state* state;
  const std::int32_t* row_offsets;  ///< of the matrix
  double* values;
};

/// The right-hand side of (I + dt A) u_new = u + dt f(t + dt), and A if it changes.
WHILST_HD inline void begin_step(const plate& p, const fields& at, index_type i) {
  if (p.matrix_changes()) {
    double* next = at.values + at.row_offsets[i];
    p.for_each_entry(at.u, i, [&](index_type, double value) { *next++ = value; });
  }
  at.before[i] = at.u[i];
  at.b[i] = at.u[i] + p.time_step * p.source(i, at.state->time + p.time_step);
}

WHILST_HD inline double squared_change(const fields& at, index_type i) {
  return (at.u[i] - at.before[i]) * (at.u[i] - at.before[i]);
}

/// Advances the clock and tests the limits. Returns whether to make another step.
WHILST_HD inline bool end_step(const plate& p, run_state& state, double squared_changes, const solve_outcome& solved) {
  state.time += p.time_step;
  state.steps += 1;
  state.iterations += solved.iterations;
  state.change = sqrt(squared_changes / double(p.points()));
  state.why = !converged(solved.why)            ? ending::failed_solve
              : state.change <= state.steady    ? ending::steady
              : state.steps >= state.most_steps ? ending::all_steps
                                                : ending::running;
  return state.why == ending::running;
}

}  // namespace whilst::heat_steps
