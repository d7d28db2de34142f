#include "solvers/nonlinear/descent/prepared_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "solvers/host/deadline.hpp"
#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/engine/runs_in_flight.hpp"
#include "whilst/host/choose_executor.hpp"

namespace whilst {

void loop_options::check(std::string_view making) const {
  const auto refuse = [&](const std::string& what, const std::string& cure) { throw error(making, what, cure); };
  if (max_iterations < 0) refuse("max_iterations is " + std::to_string(max_iterations), "Give 0 or more");
  if (max_evaluations < 0)
    refuse("max_evaluations is " + std::to_string(max_evaluations), "Give 1 or more, or 0 to have it chosen");
  if (!(deadline > 0)) refuse("the deadline is not above 0", "Give seconds, or infinity for none");
  if (history_capacity < 0 || history_capacity % 2)
    refuse("history_capacity is " + std::to_string(history_capacity), "Give an even number, or 0 for no history");
  check_host_threads(std::string(making), threads);
  if (unroll < 0 || unroll > 1024)
    refuse("unroll is " + std::to_string(unroll), "Give 1 to 1024, or 0 to have it chosen");
}

executor loop_options::executor_on(place where, std::string_view making, const std::string& what) const {
  const bool is_automatic = executor == "auto";
  const whilst::executor usual = where.on_host() ? whilst::executor::host : whilst::executor::graph;
  const char* const wished = std::getenv("WHILST_EXECUTOR");
  if (is_automatic && !wished) return usual;
  // The environment's choice applies where possible: the place is settled, and there may be no GPU.
  if (is_automatic && where.on_host())
    for (const std::string_view on_gpu : {"graph", "stream", "resident"})
      if (wished == on_gpu) return usual;
  const executor_choice choice =
      choose_executor({.executor = executor, .device = where.on_host() ? -1 : where.device()}, 1, false, true);
  const bool is_resident = choice.how == whilst::executor::resident;
  if (is_automatic && (is_resident || choice.where.on_host() != where.on_host())) return usual;
  if (is_resident)
    throw error(making, "executor resident does not run functions that are recorded", "Use graph, stream or host");
  if (choice.where.on_host() != where.on_host())
    throw error(
        making,
        "executor '" + executor + "' does not run where " + what + " is, on " + (where.on_host() ? "the CPU" : "a GPU"),
        "Make " + what + " on place_of_executor(\"" + executor + "\")");
  return choice.how;
}

template <class T>
prepared_descent<T>::prepared_descent(recorded_descent<T> recorded, executor how, loop_options options,
                                      const descent_settings& settings, const std::string& method, index_type unknowns,
                                      clock::time_point began)
    : n_(unknowns), options_(std::move(options)), settings_(settings), made_(std::move(recorded)) {
  // Two or three kernels per evaluation, and tens of evaluations.
  made_.recorded->prepare({.how = how,
                           .unroll = options_.unroll,
                           .usual_unroll = 8,
                           .programmatic_launch = options_.programmatic_launch,
                           .threads = options_.threads});
  desk_ = std::make_unique<launch_desk>(*made_.recorded, 1, made_.loop, made_.loop, options_.history_capacity);
#if WHILST_WITH_CUDA
  const place where = made_.recorded->where();
  if (!where.on_host()) {
    cuda::device_guard current(where.device());
    own_stream_ = cuda::make_stream();
    x_on_gpu_ = buffer<T>(where, n_);
  }
#endif
  desk_->describe(sizeof(T) == 4, n_, began);
  desk_->common.method = method;
  desk_->common.preconditioner = "none";
}

template <class T>
std::shared_ptr<ticket::state> prepared_descent<T>::enqueue(CUstream_st* stream, T* x) {
  desk_->require_context("enqueueing a solve");
  require_usable("enqueueing a solve", made_.recorded->where(), {{"x", x}}, {options_.check_pointers, stream});
  return launch(stream, x);
}

template <class T>
std::shared_ptr<ticket::state> prepared_descent<T>::launch(CUstream_st* stream, T* x) {
  const turns::turn mine = made_.recorded->enter("enqueueing a solve");
  auto started = desk_->begin();
  program& run = *made_.recorded;
  run.set(made_.x, x);
  run.set(made_.outcome, started->target());
  run.set(made_.settings, settings_);
  control_settings loop{.limit = options_.max_iterations};
  loop.trip_limit = trip_limit(options_.max_iterations, options_.max_evaluations);
  loop.deadline_nanoseconds = nanoseconds_of(options_.deadline);
  loop.launch = started->number;
  run.set(made_.loop_settings, desk_->with_history(loop, *started));
  desk_->run(*started, stream);
  return started;
}

template <class T>
typename prepared_descent<T>::ended prepared_descent<T>::solve(std::string_view doing, const std::string& what,
                                                               std::span<T> x) {
  if (static_cast<index_type>(x.size()) != n_)
    throw error(doing,
                what + " " + std::to_string(n_) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                "Make both agree");
  const turns::turn mine = made_.recorded->enter(doing);
  const place where = made_.recorded->where();
  std::shared_ptr<ticket::state> started;
  if (where.on_host()) {
    started = launch(nullptr, x.data());
  } else {
#if WHILST_WITH_CUDA
    const no_run_left_behind guard(*made_.recorded);
    x_on_gpu_.upload(x.data());
    started = launch(own_stream_.get(), x_on_gpu_.data());
    desk_->wait_and_tell(*started);
    x_on_gpu_.download(x.data());
#endif
  }
  descent_report told{ticket(started).wait()};
  descent_state state;
  read(where, &state, made_.state, 1);
  told.evaluations = state.evaluations;
  told.inner_iterations = state.inner_iterations;
  told.restarts = state.restarts;
  told.records.resize(told.history().size());
  read(where, told.records.data(), made_.records, static_cast<index_type>(told.records.size()));
  return {std::move(told), state.value_of_f(), state.trial_values};
}

template <class T>
void prepared_descent<T>::set_tolerances(const descent_tolerances& tolerances) {
  const turns::turn mine = made_.recorded->take_turn();
  settings_.tolerances = tolerances;
}
template <class T>
template <class Change>
void prepared_descent<T>::change(const Change& apply) {
  const turns::turn mine = made_.recorded->take_turn();
  loop_options changed = options_;
  apply(changed);
  changed.check("setting the options of a solver");
  options_ = std::move(changed);
}
template <class T>
void prepared_descent<T>::set_max_iterations(index_type limit) {
  change([&](loop_options& o) { o.max_iterations = limit; });
}
template <class T>
void prepared_descent<T>::set_deadline(double seconds) {
  change([&](loop_options& o) { o.deadline = seconds; });
}

template <class T>
template <class Value>
void prepared_descent<T>::read(place where, Value* target, const Value* source, index_type count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(Value);
  if (bytes == 0) return;
  if (where.on_host()) {
    std::copy_n(source, count, target);
  } else {
#if WHILST_WITH_CUDA
    cuda::device_guard current(where.device());
    WHILST_CUDA("reading how a solve ended", cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToHost));
#endif
  }
}

template class prepared_descent<float>;
template class prepared_descent<double>;

}  // namespace whilst
