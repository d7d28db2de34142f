// compiled by nvcc where CUDA is on
// Documents quote what stands between "shown: NAME" and "end of shown" here, word for word, and what it puts out:
// shown_output_test.cpp compares. `out` is a std::ostream.

#include "tests/documents/shown_samples.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <ostream>
#include <sstream>
#include <vector>

#include "whilst/control.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/recorder.hpp"

namespace whilst::shown {

namespace {

// shown: functors
/// u' = -rate u^3 by implicit Euler: one step of Newton's method for u + h rate u^3 = u before.
struct newton_step {
  slot<double> u;
  const double *before, *h;
  double rate;
  WHILST_HD auto operator()(index_type i) const {
    double& x = u.get()[i];
    const double change = (x + *h * rate * x * x * x - before[i]) / (1 + 3 * *h * rate * x * x);
    x -= change;
    return sums{change * change};
  }
};
struct stop_when_small {
  WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
    loop.updating = 1;                // the step was an update, to be counted
    loop.check(std::sqrt(total[0]));  // stops at a tolerance, and at the limit
  }
};
// end of shown

struct keep {
  slot<double> u;
  double* before;
  WHILST_HD void operator()(index_type i) const { before[i] = u.get()[i]; }
};
/// Notes how many iterations Newton took in this time step.
struct note_and_count {
  const control* newton;
  index_type* taken;
  WHILST_HD void operator()(loop_state& steps) const {
    taken[steps.iteration] = newton->iteration;
    count_iteration{}(steps);
  }
};

template <class T>
std::vector<T> values(const buffer<T>& of) {
  std::vector<T> copied(static_cast<std::size_t>(of.size()));
  of.download(copied.data());
  return copied;
}
buffer<double> filled(place where, index_type n, double value) {
  buffer<double> made(where, n);
  made.upload(std::vector<double>(static_cast<std::size_t>(n), value).data());
  return made;
}

/// What was launched, u at the end, and how many iterations Newton took in each time step.
std::string launch_line(const char* what, const buffer<double>& u, const buffer<index_type>& taken) {
  char text[100];
  std::snprintf(text, sizeof text, "%-34s u = %.6f, Newton's iterations:", what, values(u)[0]);
  std::string line = text;
  for (const index_type count : values(taken)) line += " " + std::to_string(count);
  return line + "\n";
}

}  // namespace

decay_texts run_decay(place where, executor how) {
  constexpr index_type n = 1000, steps = 8;
  const buffer<double> before(where, n), u_of_one = filled(where, n, 1), u_of_two = filled(where, n, 2);
  const buffer<index_type> taken(where, steps);
  const buffer<control> time(where, 1), newton(where, 1);

  // shown: nest
  program_recorder record(where);
  const auto h = record.parameter<double>("time step", 0.1);
  const auto u = record.slot<double>("u");
  step_handle<newton_step, stop_when_small> iterate;
  record.loop("time steps", time.data(), [&](auto& step) {
    step.step("u before = u", n, keep{u, before.data()});
    step.loop("Newton", newton.data(), [&](auto& run) {
      iterate = run.step("u -= F / dF", n, newton_step{u, before.data(), h.get(), 1.0}, stop_when_small{});
    });
    step.once("count", note_and_count{newton.data(), taken.data()});
  });
  record.parameter(&time.data()->settings, control_settings{.limit = steps});
  record.parameter(&newton.data()->settings, control_settings{.limit = 20});
  record.parameter(&newton.data()->atol_norm, 1e-9);
  record.uses("u before", before.data(), n * sizeof(double));
  program recorded = std::move(record).finish();
  recorded.prepare({.how = how});
  // end of shown

  std::ostringstream out;
  const auto launch = [&](const char* what, const buffer<double>& state) {
    recorded.enqueue(nullptr);
    recorded.wait();
    out << launch_line(what, state, taken);
  };
  // shown: parameters
  recorded.bind(u, u_of_one.data());
  launch("u = 1, h = 0.1, rate = 1", u_of_one);
  recorded.set(h, 0.05);
  launch("from there, h = 0.05", u_of_one);
  recorded.bind(u, u_of_two.data());
  launch("another u, of 2", u_of_two);
  recorded.update(iterate, newton_step{u, before.data(), h.get(), 4.0});
  launch("from there, rate = 4", u_of_two);
  // end of shown
  return {out.str(), recorded.explain(), recorded.memory().text()};
}

namespace {

/// As a library would fill memory: at once on the host, enqueued on a GPU.
void fill(CUstream_st* stream, const buffer<unsigned char>& memory, int value) {
  if (!stream) {
    std::memset(memory.data(), value, static_cast<std::size_t>(memory.size()));
    return;
  }
#if WHILST_WITH_CUDA
  WHILST_CUDA("filling", cudaMemsetAsync(memory.data(), value, static_cast<std::size_t>(memory.size()), stream));
#endif
}

}  // namespace

std::string check_frozen(place where, executor how, bool starts_over) {
  const buffer<unsigned char> marks(where, 4);
  const buffer<control> loop(where, 1);
  std::ostringstream out;
  // shown: strict
  int trip = 0;  // on the host: a recording has what it was when the call was made
  program_recorder record(where);
  if (starts_over) record.call("start over", [&](CUstream_st*) { trip = 0; });
  record.loop("trips", loop.data(), [&](auto& run) {
    run.call("number the trip", [&](CUstream_st* stream) { fill(stream, marks, ++trip); });
  });
  record.parameter(&loop.data()->settings, control_settings{.limit = 3});
  program recorded = std::move(record).finish();
  recorded.prepare({.how = how});
  out << recorded.check_strictly({watched("marks", marks.data(), marks.size())}).message << "\n";
  // end of shown
  return out.str();
}

namespace {

/// Puts out what a misuse is told.
void tell(std::ostream& out, const std::function<void()>& misuse) {
  try {
    misuse();
    out << "nothing\n";
  } catch (const error& refused) {
    out << refused.what() << "\n";
  }
}

struct set_to_one {
  double* x;
  index_type n;
  WHILST_HD void operator()(index_type i) const { x[i] = 1; }
  auto writes() const { return std::array{memory_range::of(x, n)}; }
};

}  // namespace

std::string collect_refusals() {
  const buffer<double> x(place::host(), 10);
  const auto library = [](CUstream_st*) {};
  program_recorder another(place::host());
  const auto of_another = another.parameter<double>("time step", 0);
  std::ostringstream out;
  // shown: refusals
  program_recorder record(place::host());
  record.parameter<double>("time step", 0.1);
  const auto u = record.slot<double>("u");
  const auto set = [&](auto& run) { run.step("x = 1", 10, set_to_one{x.data(), 10}); };
  tell(out, [&] { record.parameter<double>("time step", 0.2); });
  tell(out, [&] { record.once("count", count_iteration{}); });
  tell(out, [&] { record.parallel("both", set, set); });
  tell(out, [&] { record.call("cublasDgemv", library, {.needs_stream = true}); });
  program recorded = std::move(record).finish();
  tell(out, [&] { recorded.prepare({.how = executor::graph}); });
  tell(out, [&] { recorded.enqueue(nullptr); });
  recorded.prepare({.how = executor::host});
  tell(out, [&] { recorded.enqueue(nullptr); });
  tell(out, [&] { recorded.bind<double>(u, nullptr); });
  tell(out, [&] { recorded.set("time step", 1); });
  tell(out, [&] { recorded.set("step", 0.2); });
  tell(out, [&] { recorded.set(of_another, 0.2); });
  recorded.bind(u, x.data());
  tell(out, [&] { recorded.resume(nullptr); });
  // end of shown
  return out.str();
}

std::string collect_diagnoses() {
  std::ostringstream out;
#if WHILST_WITH_CUDA
  const place where = place::gpu(0);
  const buffer<double> x(where, 1);
  const buffer<control> loop(where, 1);
  const cuda::stream other = cuda::make_stream();
  const cuda::event fork = cuda::make_event();
  static double pageable = 0;
  const auto with_call = [&](const call_function& library) {
    program_recorder record(where);
    record.loop("iterations", loop.data(), [&](auto& run) { run.call("library", library); });
    record.parameter(&loop.data()->settings, control_settings{.limit = 3});
    return std::move(record).finish();
  };
  // shown: doctor
  const auto prepare = [&](const call_function& library) {  // in the body of a loop
    tell(out, [&] { with_call(library).prepare({.how = executor::graph}); });
  };
  prepare([&](CUstream_st* s) { cudaMemcpyAsync(x.data(), &pageable, sizeof(double), cudaMemcpyHostToDevice, s); });
  prepare([&](CUstream_st* s) {
    void* scratch = nullptr;
    cudaMallocAsync(&scratch, 64, s);
    cudaFreeAsync(scratch, s);
  });
  prepare([&](CUstream_st* s) { cudaStreamSynchronize(s); });
  prepare([&](CUstream_st* s) {  // the other stream is never joined
    cudaEventRecord(fork.get(), s);
    cudaStreamWaitEvent(other.get(), fork.get(), 0);
    cudaMemsetAsync(x.data(), 0, sizeof(double), other.get());
  });
  // A stream that takes no part in the capture runs once, and only a strict check tells.
  program recorded = with_call([&](CUstream_st*) { cudaMemsetAsync(x.data(), 0, sizeof(double), cudaStreamLegacy); });
  recorded.prepare({.how = executor::stream});
  tell(out, [&] { recorded.check_strictly({watched("x", x.data(), x.size())}); });
  // end of shown
#endif
  return out.str();
}

std::string explain_conjugate_gradient() {
  const auto cantilever = make_gallery<double>("elasticity3d:8");
  return linear_solver<double>(cantilever.matrix, {.method = "cg", .preconditioner = "jacobi", .executor = "host"})
      .explain();
}

std::string explain_levels() {
  const auto cube = make_gallery<double>("poisson3d:24");
  const std::string text =
      linear_solver<double>(cube.matrix, {.method = "cg", .preconditioner = "amg", .executor = "host"}).explain();
  return text.substr(text.find("preconditioner amg"));
}

}  // namespace whilst::shown
