#include "solvers/nonlinear/descent/prepared_descent.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "whilst/host/choose_executor.hpp"

namespace whilst {

void descent_options::check(std::string_view making) const {
  if (max_evaluations < 0)
    throw error(making, "max_evaluations is " + std::to_string(max_evaluations),
                "Give 1 or more, or 0 to have it chosen");
  loop_options::check(making);
}

executor descent_options::executor_on(place where, std::string_view making, const std::string& what) const {
  const bool is_automatic = executor == "auto";
  const whilst::executor usual = where.on_host() ? whilst::executor::host : whilst::executor::graph;
  const char* const wished = std::getenv("WHILST_EXECUTOR");
  if (is_automatic && !wished) return usual;
  // The environment's choice applies where possible: the place is settled, and there may be no GPU.
  if (is_automatic && where.on_host())
    for (const std::string_view on_gpu : {"graph", "stream", "resident"})
      if (wished == on_gpu) return usual;
  const executor_choice choice = choose_executor(
      {.executor = executor, .device = where.on_host() ? -1 : where.device()}, 1, false, {.runs = true});
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
prepared_descent<T>::prepared_descent(recorded_descent<T> recorded, executor how, const descent_options& options,
                                      const descent_settings& settings, const std::string& method, index_type unknowns,
                                      clock::time_point began)
    : prepared_program(std::move(recorded.recorded),
                       {.method = method,
                        .in_float = sizeof(T) == 4,
                        .rows = unknowns,
                        .x_bytes = static_cast<std::size_t>(unknowns) * sizeof(T),
                        .how = how,
                        .outer = recorded.loop,
                        .inner = recorded.loop,
                        .usual_unroll = 8,  // two or three kernels per evaluation, and tens of evaluations
                        .began = began},
                       options),
      max_evaluations_(options.max_evaluations),
      settings_(settings),
      made_(std::move(recorded)) {}

template <class T>
void prepared_descent<T>::set_parameters(const ticket::state& of, const void*, void* x) {
  program& run = recorded();
  run.set(made_.x, static_cast<T*>(x));
  run.set(made_.outcome, of.target());
  run.set(made_.settings, settings_);
  control_settings loop = root_settings(of);
  loop.trip_limit = trip_limit(loop.limit, max_evaluations_);
  run.set(made_.loop_settings, desk().with_history(loop, of));
}

template <class T>
typename prepared_descent<T>::ended prepared_descent<T>::solve(std::string_view doing, const std::string& what,
                                                               std::span<T> x) {
  const index_type unknowns = common().rows;
  if (static_cast<index_type>(x.size()) != unknowns)
    throw error(doing,
                what + " " + std::to_string(unknowns) + " unknowns, and x has " + std::to_string(x.size()) + " entries",
                "Make both agree");
  const turns::turn mine = enter(doing);  // until the state has been read
  return wait_for(prepared_program::solve(doing, nullptr, x.data()));
}

template <class T>
typename prepared_descent<T>::ended prepared_descent<T>::solve(std::string_view doing, stream_handle stream, T* x) {
  const turns::turn mine = enter(doing);
  return wait_for(prepared_program::solve(doing, stream, nullptr, x));
}

template <class T>
typename prepared_descent<T>::ended prepared_descent<T>::wait_for(std::shared_ptr<ticket::state> launched) const {
  const place where = recorded().where();
  descent_report told{ticket(std::move(launched)).wait()};
  descent_state state;
  read(where, &state, made_.state, 1);
  told.evaluations = state.evaluations;
  told.inner_iterations = state.inner_iterations;
  told.restarts = state.restarts;
  told.records.resize(told.history().size());
  read(where, told.records.data(), made_.records, static_cast<index_type>(told.records.size()));
  return {std::move(told), state.value_of_f(), state.trial_values, state.refreshes};
}

template <class T>
void prepared_descent<T>::set_tolerances(const descent_tolerances& tolerances) {
  const turns::turn mine = recorded().take_turn();
  settings_.tolerances = tolerances;
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
