#include "whilst/linear/prepared_solve.hpp"

#include <algorithm>
#include <utility>

#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

/// Besides those that are a method's own, restarts are few: all but a few halve the true residual.
constexpr index_type most_restarts = 200;

}  // namespace

template <class T>
prepared_solve<T>::prepared_solve(const solve_request<T>& request, recorded_solve<T> made, executor how,
                                  const linear_solver_options& options, clock::time_point began)
    : prepared_program(std::move(made.recorded),
                       {.method = options.method,
                        .preconditioner = options.preconditioner,
                        .in_float = sizeof(T) == 4,
                        .rows = request.rows,
                        .nonzeros = request.nonzeros,
                        .systems = request.systems,
                        .lanes = made.lanes,
                        .b_bytes = static_cast<std::size_t>(request.rows * request.systems) * sizeof(T),
                        .x_bytes = static_cast<std::size_t>(request.columns * request.systems) * sizeof(T),
                        .how = how,
                        .outer = made.outer,
                        .inner = how == executor::batch ? nullptr : made.inner,
                        .began = began},
                       loop_options_of(options)),
      options_(options),
      b_entries_(request.rows * request.systems),
      x_entries_(request.columns * request.systems),
      values_(request.nonzeros * request.systems),
      recorded_(std::move(made)) {}

template <class T>
void prepared_solve<T>::bind_values(const T* values, CUstream_st* stream) {
  const std::string_view doing = "binding a matrix's values";
  desk().require_context(doing);
  if (values_ > 0)
    require_usable(doing, recorded().where(), {{"the pointer", values}}, {options().check_pointers, stream});
  recorded().set(recorded_.values, values);
}

template <class T>
void prepared_solve<T>::set_parameters(const ticket::state& of, const void* b, void* x) {
  program& run = recorded();
  run.set(recorded_.b, static_cast<const T*>(b));
  run.set(recorded_.x, static_cast<T*>(x));
  run.set(recorded_.outcome, of.target());
  control_settings outer = root_settings(of);
  outer.limit = most_restarts + std::min(options().max_iterations, index_type{1} << 40);
  outer.rtol = options_.rtol;
  outer.atol = options_.atol;
  outer.dtol = options_.dtol;
  run.set(recorded_.outer_settings, outer);
  run.set(recorded_.inner_settings, desk().with_history({.limit = options().max_iterations}, of));
}

template <class T>
std::shared_ptr<ticket::state> prepared_solve<T>::solve(std::span<const T> b, std::span<T> x) {
  const std::string_view doing = "solving a linear system";
  const bool is_square = b_entries_ == x_entries_;
  if (!std::cmp_equal(b.size(), b_entries_) || !std::cmp_equal(x.size(), x_entries_))
    throw error(doing,
                "there are " + std::to_string(b_entries_) + " rows" +
                    (is_square ? "" : " and " + std::to_string(x_entries_) + " columns") + ", b has " +
                    std::to_string(b.size()) + " entries and x has " + std::to_string(x.size()),
                is_square ? "Make all three agree" : "Give b as many entries as there are rows, x as many as columns");
  return prepared_program::solve(doing, b.data(), x.data());
}

template <class T>
template <class Change>
void prepared_solve<T>::change(const Change& apply) {
  const turns::turn mine = recorded().take_turn();
  linear_solver_options changed = options_;
  apply(changed);
  check_options("setting the options of a solver", changed);
  options_ = std::move(changed);
}
template <class T>
void prepared_solve<T>::set_tolerances(double rtol, double atol) {
  change([&](linear_solver_options& o) { o.rtol = rtol, o.atol = atol; });
}
template <class T>
void prepared_solve<T>::set_divergence(double dtol) {
  change([&](linear_solver_options& o) { o.dtol = dtol; });
}

template <class T>
linear_solver_options prepared_solve<T>::settings() const {
  linear_solver_options now = options_;
  now.max_iterations = options().max_iterations;
  now.deadline = options().deadline;
  return now;
}
template <class T>
void prepared_solve<T>::set_settings(const linear_solver_options& settings) {
  set_tolerances(settings.rtol, settings.atol);
  set_divergence(settings.dtol);
  set_max_iterations(settings.max_iterations);
  set_deadline(settings.deadline);
}

template class prepared_solve<float>;
template class prepared_solve<double>;

}  // namespace whilst
