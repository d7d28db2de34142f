// compiled by nvcc where CUDA is on
#include "benchmarks/overheads/step_loops.hpp"

#include <chrono>

#include "whilst/engine/steps/resident.hpp"
#include "whilst/recorder.hpp"

namespace overheads {
namespace {

using whilst::control;
using whilst::place;

struct add_one {
  double* y;
  WHILST_HD void operator()(index_type i) const { y[i] += 1; }
};

struct step_loop {
  double* y;
  control* c;
  int steps;

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("loop of small steps", c, [&](auto& inner) {
      for (int step = 1; step < steps; ++step) inner.step("y += 1", step_loop_size, add_one{y});
      inner.step("y += 1, count", step_loop_size, add_one{y}, whilst::count_iteration{});
    });
  }
};

/// The one problem of the resident executor.
struct only_problem {
  step_loop loop;
  template <class Team>
  WHILST_HD step_loop operator()(index_type, const Team&) const {
    return loop;
  }
};

void check(const whilst::buffer<double>& y, double expected) {
  std::vector<double> values(static_cast<std::size_t>(y.size()));
  y.download(values.data());
  for (const double value : values) {
    if (value != expected)
      throw whilst::error("timing a loop of small steps",
                          "an entry is " + std::to_string(value) + " and not " + std::to_string(expected),
                          "The executor has a fault: run the tests");
  }
}

}  // namespace

timing time_step_loop(const way& how, int steps, double budget) {
  const bool on_host = how.executor == "host", resident = how.executor == "resident";
  const place where = on_host ? place::host() : place::gpu(0);
  whilst::buffer<double> y(where, step_loop_size);
  whilst::buffer<control> c(where, 1);
  const step_loop loop{y.data(), c.data(), steps};
  whilst::program_recorder record(where);
  if (resident) {
    record.team("loop of small steps", 1,
                whilst::problems_by_block<only_problem>{{loop}, whilst::threads_for_problem(step_loop_size)});
  } else {
    loop(record);
  }
  const auto settings = record.parameter(&c.data()->settings, whilst::control_settings{});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = resident ? whilst::executor::stream : whilst::executor_from_name(how.executor),
                   .unroll = how.unroll,
                   .programmatic_launch = how.programmatic_launch});
  if (!resident && name(program.running_on()) != how.executor) return {.why_not = program.note()};

  const auto run = [&](index_type iterations) {
    program.set(settings, whilst::control_settings{.limit = iterations});
    const auto begin = std::chrono::steady_clock::now();
    program.enqueue(nullptr);
    program.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const run_lengths lengths{128, 1152};
  run(lengths.shorter);
  check(y, static_cast<double>(lengths.shorter * steps));
  return time_iterations(lengths, budget, run);
}

}  // namespace overheads
