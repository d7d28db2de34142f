#include "whilst/linear/prepared_solve.hpp"

#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {

template <class T>
prepared_solve<T>::prepared_solve(const solve_request<T>& request, recorded_solve<T> made, executor how,
                                  linear_solver_options options, clock::time_point began)
    : options_(std::move(options)),
      entries_(request.rows * request.systems),
      values_(request.nonzeros * request.systems),
      recorded_(std::move(made)),
      desk_(*recorded_.recorded, request.systems, recorded_.outer, how == executor::batch ? nullptr : recorded_.inner,
            how == executor::batch ? 0 : history_records(options_)) {
  const place where = request.where;
  recorded().prepare(settings_of_run(options_, where, how, request.in_kernel));
  if (where.on_host()) host_bytes_ = static_cast<index_type>(recorded().memory().bytes(name_of(where)));
  desk_.describe(sizeof(T) == 4, request.rows, began);
  report_fields& common = desk_.common;
  common.method = options_.method;
  common.preconditioner = options_.preconditioner;
  if (request.in_kernel) common.executor = name(how);
  common.nonzeros = request.nonzeros;
}

template <class T>
std::shared_ptr<ticket::state> prepared_solve<T>::enqueue(CUstream_st* stream, const T* b, T* x) {
  desk_.require_context("enqueueing a solve");  // the pointers of a destroyed one are unknown
  if (entries_ > 0)
    require_usable("enqueueing a solve", recorded().where(), {{"b", b}, {"x", x}}, {options_.check_pointers, stream});
  return launch(stream, b, x);
}

template <class T>
void prepared_solve<T>::bind_values(const T* values, CUstream_st* stream) {
  desk_.require_context("binding a matrix's values");
  if (values_ > 0)
    require_usable("binding a matrix's values", recorded().where(), {{"the pointer", values}},
                   {options_.check_pointers, stream});
  recorded().set(recorded_.values, values);
}

template <class T>
std::shared_ptr<ticket::state> prepared_solve<T>::launch(CUstream_st* stream, const T* b, T* x) {
  const turns::turn mine = enter("enqueueing a solve");
  auto started = desk_.begin();
  program& run = recorded();
  run.set(recorded_.b, b);
  run.set(recorded_.x, x);
  run.set(recorded_.outcome, started->target());
  run.set(recorded_.outer_settings, outer_settings(options_, started->number));
  run.set(recorded_.inner_settings, desk_.with_history(inner_settings(options_), *started));
  desk_.run(*started, stream);
  return started;
}

template <class T>
std::shared_ptr<ticket::state> prepared_solve<T>::solve(std::span<const T> b, std::span<T> x) {
  const auto entries = static_cast<std::size_t>(entries_);
  if (b.size() != entries || x.size() != entries)
    throw error("solving a linear system",
                "there are " + std::to_string(entries) + " rows, b has " + std::to_string(b.size()) +
                    " entries and x has " + std::to_string(x.size()),
                "Make all three agree");
  const turns::turn mine = enter("solving a linear system");
  const place where = recorded().where();
  if (where.on_host()) return launch(nullptr, b.data(), x.data());
#if WHILST_WITH_CUDA
  desk_.require_context("solving a linear system");  // before allocating in another context
  if (!b_and_x_.is_made()) b_and_x_ = vectors_on_gpu(where, 2, entries * sizeof(T));
  try {
    b_and_x_.upload("copying b and x to the GPU", {b.data(), x.data()});
    auto started = launch(b_and_x_.stream(), static_cast<const T*>(b_and_x_[0]), static_cast<T*>(b_and_x_[1]));
    if (desk_.is_monitored() || !b_and_x_.are_staged()) desk_.wait_and_tell(*started);
    b_and_x_.download("copying x from the GPU", 1, x.data());
    return started;
  } catch (...) {
    b_and_x_.wait_quietly();  // for a run and copies in memory that the next solve fills
    throw;
  }
#else
  return {};
#endif
}

template <class T>
index_type prepared_solve<T>::bytes() const {
  const program& recorded = *recorded_.recorded;
  const turns::turn mine = recorded.take_turn();
#if WHILST_WITH_CUDA
  if (!recorded.where().on_host()) return b_and_x_.bytes() + recorded.device_bytes();
#endif
  return host_bytes_;
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
void prepared_solve<T>::set_max_iterations(index_type limit) {
  change([&](linear_solver_options& o) { o.max_iterations = limit; });
}
template <class T>
void prepared_solve<T>::set_deadline(double seconds) {
  change([&](linear_solver_options& o) { o.deadline = seconds; });
}

template class prepared_solve<float>;
template class prepared_solve<double>;

}  // namespace whilst
