#include "solvers/prepared_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "solvers/matrix_on_place.hpp"
#include "solvers/solve_options.hpp"
#include "whilst/machine.hpp"
#include "whilst/place_of_executor.hpp"

namespace whilst {

void loop_options::check(std::string_view making) const {
  const auto refuse = [&](const std::string& what, const std::string& cure) { throw error(making, what, cure); };
  if (max_iterations < 0) refuse("max_iterations is " + std::to_string(max_iterations), "Give 0 or more");
  if (max_evaluations < 0)
    refuse("max_evaluations is " + std::to_string(max_evaluations), "Give 1 or more, or 0 to have it chosen");
  if (!(deadline > 0)) refuse("the deadline is not above 0", "Give seconds, or infinity for none");
  if (history_capacity < 0 || history_capacity % 2)
    refuse("history_capacity is " + std::to_string(history_capacity), "Give an even number, or 0 for no history");
  if (unroll < 0 || unroll > 1024)
    refuse("unroll is " + std::to_string(unroll), "Give 1 to 1024, or 0 to have it chosen");
}

executor loop_options::executor_on(place where, std::string_view making, const std::string& what) const {
  const bool is_automatic = executor == "auto";
  const whilst::executor usual = where.on_host() ? whilst::executor::host : whilst::executor::graph;
  const char* const wished = std::getenv("WHILST_EXECUTOR");
  if (is_automatic && !wished) return usual;
  // What the environment wants holds where it can: the place is settled, and there need be no GPU.
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

place place_of_executor(const std::string& executor, int device) {
  return choose_executor({.executor = executor, .device = device}, 1, false, true).where;
}

template <class T>
prepared_descent<T>::prepared_descent(recorded_descent<T> recorded, executor how, const loop_options& options,
                                      const std::string& method, index unknowns, clock::time_point began)
    : n_(unknowns), made_(std::move(recorded)) {
  made_.recorded->prepare({how, options.unroll, options.programmatic_launch});
  desk_ = std::make_unique<launch_desk>(*made_.recorded, 1, made_.loop, made_.loop, made_.history);
  const place where = made_.recorded->where();
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    cuda::device_guard current(where.device());
    own_stream_ = cuda::make_stream();
    x_on_gpu_ = buffer<T>(where, n_);
  }
#endif
  const machine_description machine = describe_machine(where.on_host() ? -1 : where.device());
  report_fields& common = desk_->common;
  common.method = method;
  common.preconditioner = "none";
  common.executor = name(made_.recorded->running_on());
  common.precision = sizeof(T) == 4 ? "float" : "double";
  common.device = where.on_host() ? machine.processor : machine.device;
  common.note = made_.recorded->note();
  common.rows = n_;
  common.setup_seconds = std::chrono::duration<double>(clock::now() - began).count();
}

template <class T>
std::shared_ptr<ticket::state> prepared_descent<T>::enqueue(CUstream_st* stream, T* x, const descent_settings& settings,
                                                            const loop_options& options) {
  auto started = desk_->begin();
  program& run = *made_.recorded;
  run.set(made_.x, x);
  run.set(made_.outcome, started->target());
  run.set(made_.settings, settings);
  control_settings loop{.limit = options.max_iterations, .history = made_.history};
  loop.history_capacity = options.history_capacity;
  loop.trip_limit = trip_limit(options.max_iterations, options.max_evaluations);
  loop.deadline_nanoseconds = nanoseconds_of(options.deadline);
  loop.launch = started->number;
  run.set(made_.loop_settings, loop);
  desk_->run(*started, stream);
  return started;
}

template <class T>
typename prepared_descent<T>::ended prepared_descent<T>::solve(std::string_view doing, const std::string& what,
                                                               std::span<T> x, const descent_settings& settings,
                                                               const loop_options& options) {
  if (static_cast<index>(x.size()) != n_)
    throw error(doing,
                what + " " + std::to_string(n_) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                "Make both agree");
  const place where = made_.recorded->where();
  std::shared_ptr<ticket::state> started;
  if (where.on_host()) {
    started = enqueue(nullptr, x.data(), settings, options);
  } else {
#if WHILST_WITH_CUDA
    x_on_gpu_.upload(x.data());
    started = enqueue(own_stream_.get(), x_on_gpu_.data(), settings, options);
    desk_->wait(*started);
    x_on_gpu_.download(x.data());
#endif
  }
  ended result{ticket(started).wait(), {}, {}};
  read(where, &result.state, made_.state, 1);
  result.records.resize(result.told.history().size());
  read(where, result.records.data(), made_.records, static_cast<index>(result.records.size()));
  return result;
}

template <class T>
template <class Value>
void prepared_descent<T>::read(place where, Value* target, const Value* source, index count) {
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
