#include "solvers/linear/prepared_methods.hpp"

#include <exception>
#include <functional>
#include <vector>

namespace whilst {
namespace {

/// What a solve leaves, added to what those before it left.
void append(report_fields& all, const report_fields& then, index_type history_capacity) {
  const index_type before = all.iterations;
  for (const history_record& record : then.history)
    if (record.iteration > 0) all.history.push_back({before + record.iteration, record.residual_norm});
  while (static_cast<index_type>(all.history.size()) > history_capacity) {
    std::vector<history_record>& history = all.history;
    for (std::size_t k = 1; 2 * k < history.size(); ++k) history[k] = history[2 * k];
    history.resize((history.size() + 1) / 2);
  }
  all.choice += "; then " + then.method + ", since " + all.method + " ended with " + std::string(name(all.reason)) +
                " after " + std::to_string(before) + " iterations";
  all.reason = then.reason;
  all.method = then.method;
  all.executor = then.executor;
  if (!then.note.empty()) all.note += (all.note.empty() ? "" : "; ") + then.note;
  all.residual_norm = then.residual_norm;
  all.iterations += then.iterations;
  all.solve_seconds += then.solve_seconds;
  all.loop_seconds += then.loop_seconds;
  all.setup_seconds += then.setup_seconds;
}

}  // namespace

template <class T>
prepared_methods<T>::prepared_methods(std::unique_ptr<prepared_solve<T>> only)
    : chosen_(only.get()), running_(only.get()) {
  add(std::move(only));
}
template <class T>
prepared_methods<T>::prepared_methods(maker make, const method_choice& choice) : make_(std::move(make)) {
  running_ = chosen_ = made(choice.method);
  note(choice);
}

template <class T>
prepared_solve<T>* prepared_methods<T>::made(const char* method) {
  for (std::size_t k = 0; k < count_; ++k)
    if (all_[k]->common().method == method) return all_[k].get();
  std::unique_ptr<prepared_solve<T>> solve = make_(method);
  if (!solve) return nullptr;
  if (bound_values_) solve->bind_values(bound_values_);
  prepared_solve<T>* const there = solve.get();
  add(std::move(solve));
  return there;
}

template <class T>
auto prepared_methods<T>::enter(std::string_view doing) const -> turns_of_all {
  turns_of_all all;
  for (std::size_t k = 0; k < count_; ++k) all[k] = all_[k]->enter(doing);
  return all;
}
template <class T>
void prepared_methods<T>::wait() const {
  for (std::size_t k = 0; k < count_; ++k) all_[k]->recorded().wait();
}

/// Once, before it is chosen for the first time: tickets that other threads hold read it. The reason for a method does
/// not change with the values.
template <class T>
void prepared_methods<T>::note(const method_choice& choice) {
  std::string& noted = chosen().desk().common.choice;
  if (noted.empty()) noted = std::string(choice.method) + ", " + choice.why;
}

template <class T>
void prepared_methods<T>::choose(const method_choice& choice) {
  prepared_solve<T>& before = chosen();
  if (before.common().method == choice.method) return;
  prepared_solve<T>& now = *made(choice.method);
  before.recorded().wait();
  const auto monitor = before.desk().monitor();
  now.desk().set_monitor(monitor ? *monitor : iteration_monitor::callback());
  now.desk().count_from(0);
  now.set_settings(before.settings());
  running_ = chosen_ = &now;
  note(choice);
}

template <class T>
void prepared_methods<T>::bind_values(const T* values) {
  for (std::size_t k = 0; k < count_; ++k) all_[k]->bind_values(values);
  bound_values_ = values;
}

template <class T>
void prepared_methods<T>::note_preconditioner(const std::string& made) {
  for (std::size_t k = 0; k < count_; ++k) all_[k]->desk().note_preconditioner(made);
}

template <class T>
prepared_solve<T>* prepared_methods<T>::next(const report_fields& so_far, const linear_solver_options& settings) {
  const char* const method = successor_of(so_far);
  if (!method || so_far.iterations >= settings.max_iterations || so_far.solve_seconds >= settings.deadline)
    return nullptr;
  prepared_solve<T>* const then = made(method);
  if (!then) return nullptr;
  linear_solver_options left = settings;
  left.max_iterations -= so_far.iterations;
  left.deadline -= so_far.solve_seconds;
  then->set_settings(left);
  launch_desk& monitored = chosen().desk();
  iteration_monitor::callback tell;
  if (monitored.is_monitored())
    tell = [&monitored](const progress& now) {
      if (const auto monitor = monitored.monitor()) (*monitor)(now);
    };
  then->desk().set_monitor(std::move(tell));
  then->desk().count_from(so_far.iterations);
  return then;
}

template <class T>
report prepared_methods<T>::solve(std::span<const T> b, std::span<T> x) {
  if (!is_automatic()) return ticket(chosen().solve(b, x)).wait();
  const turns_of_all mine = enter("solving a linear system");
  const linear_solver_options settings = chosen().settings();
  std::vector<T> kept;  // of b, if x shares its memory
  const std::less<const T*> before;
  if (before(b.data(), x.data() + x.size()) && before(x.data(), b.data() + b.size()))
    b = kept = std::vector<T>(b.begin(), b.end());
  struct until_it_ends {
    prepared_methods& of;
    ~until_it_ends() {
      of.running().desk().announce_launch(false);
      of.running_ = of.chosen_.load();
    }
  } const ends{*this};
  std::shared_ptr<ticket::state> last = chosen().solve(b, x);
  report_fields all = ticket(last).wait().fields();
  const auto next_if_any = [&]() -> prepared_solve<T>* {
    try {
      return next(all, settings);
    } catch (const std::exception& problem) {  // memory, mostly: what the last method found counts still
      all.choice += std::string("; then none: ") + problem.what();
      return nullptr;
    }
  };
  while (prepared_solve<T>* const then = next_if_any()) {
    prepared_solve<T>& ended = running();
    then->desk().announce_launch(true);
    running_ = then;
    // Recording it may have taken a while, and nothing was running that a cancel could have stopped.
    if (ended.desk().is_cancelled(*last)) {
      all.reason = reason::cancelled;
      break;
    }
    last = then->solve(b, x);
    append(all, ticket(last).wait().fields(), settings.history_capacity);
  }
  return report(std::move(all));
}

template <class T>
memory_table prepared_methods<T>::memory() const {
  memory_table all;
  for (std::size_t k = 0; k < count_; ++k) {
    const memory_table of_one = all_[k]->recorded().memory();
    all.items.insert(all.items.end(), of_one.items.begin(), of_one.items.end());
  }
  return all;
}
template <class T>
index_type prepared_methods<T>::bytes() const {
  index_type sum = 0;
  for (std::size_t k = 0; k < count_; ++k) sum += all_[k]->bytes();
  return sum;
}

template class prepared_methods<float>;
template class prepared_methods<double>;

}  // namespace whilst
