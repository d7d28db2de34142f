#include "solvers/linear/prepared_methods.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <vector>

namespace whilst {
namespace {

/// What a solve leaves, added to what those before it left. Both labels: "cg".
void append(report_fields& all, const std::string& label, const report_fields& then, const std::string& label_of_then,
            index_type history_capacity) {
  const index_type before = all.iterations;
  for (const history_record& record : then.history)
    if (record.iteration > 0) all.history.push_back({before + record.iteration, record.residual_norm});
  while (static_cast<index_type>(all.history.size()) > history_capacity) {
    std::vector<history_record>& history = all.history;
    for (std::size_t k = 1; 2 * k < history.size(); ++k) history[k] = history[2 * k];
    history.resize((history.size() + 1) / 2);
  }
  all.choice += "; then " + label_of_then + ", since " + label + " ended with " + std::string(name(all.reason)) +
                " after " + std::to_string(before) + " iterations";
  all.reason = then.reason;
  all.method = then.method;
  all.preconditioner = then.preconditioner;
  all.preconditioner_choice = then.preconditioner_choice;
  all.executor = then.executor;
  if (!then.note.empty()) all.note += (all.note.empty() ? "" : "; ") + then.note;
  all.residual_norm = then.residual_norm;
  all.iterations += then.iterations;
  all.solve_seconds += then.solve_seconds;
  all.loop_seconds += then.loop_seconds;
  all.setup_seconds += then.setup_seconds;
}

/// What is left after a solve.
linear_solver_options left_of(linear_solver_options settings, const report_fields& so_far) {
  settings.max_iterations = std::max(index_type{0}, settings.max_iterations - so_far.iterations);
  settings.deadline -= so_far.solve_seconds;
  return settings;
}

}  // namespace

template <class T>
prepared_methods<T>::prepared_methods(std::unique_ptr<prepared_solve<T>> only)
    : chosen_(only.get()), running_(only.get()) {
  add({}, std::move(only));
}
template <class T>
prepared_methods<T>::prepared_methods(maker make, const method_choice& choice, std::string preconditioner)
    : make_(std::move(make)), preconditioner_(std::move(preconditioner)) {
  running_ = chosen_ = made({choice.method, preconditioner_});
  begin_with(chosen(), std::string(choice.method) + ", " + choice.why);
}
template <class T>
prepared_methods<T>::prepared_methods(maker make, matrix_hooks hooks, std::vector<solver_attempt> attempts)
    : make_(std::move(make)), hooks_(std::move(hooks)), attempts_(std::move(attempts)) {
  begin_with_attempt(0);
}

template <class T>
prepared_solve<T>* prepared_methods<T>::made(const solver_pair& pair) {
  for (std::size_t k = 0; k < count_; ++k)
    if (all_[k].pair == pair) return all_[k].solve.get();
  std::unique_ptr<prepared_solve<T>> solve = make_(pair);
  if (!solve) return nullptr;
  if (bound_values_) solve->bind_values(bound_values_);
  prepared_solve<T>* const there = solve.get();
  add(pair, std::move(solve));
  return there;
}

template <class T>
auto prepared_methods<T>::enter(std::string_view doing) const -> turns_of_all {
  turns_of_all all;
  for (std::size_t k = 0; k < count_; ++k) all[k] = all_[k].solve->enter(doing);
  return all;
}
template <class T>
void prepared_methods<T>::wait() const {
  for (std::size_t k = 0; k < count_; ++k) all_[k].solve->recorded().wait();
}

template <class T>
void prepared_methods<T>::begin_with(prepared_solve<T>& now, const std::string& why) {
  prepared_solve<T>& before = chosen();
  if (&before != &now) {
    before.recorded().wait();
    const auto monitor = before.desk().monitor();
    now.desk().set_monitor(monitor ? *monitor : iteration_monitor::callback());
    now.desk().count_from(0);
    now.set_settings(before.settings());
    running_ = chosen_ = &now;
  }
  // Once, before it is chosen for the first time: tickets that other threads hold read it. The reason does not change
  // with the values.
  std::string& noted = now.desk().common.choice;
  if (noted.empty()) noted = why;
}

template <class T>
void prepared_methods<T>::choose(const method_choice& choice) {
  begin_with(*made({choice.method, preconditioner_}), std::string(choice.method) + ", " + choice.why);
}
template <class T>
void prepared_methods<T>::choose(std::vector<solver_attempt> attempts) {
  const bool is_same = std::equal(attempts.begin(), attempts.end(), attempts_.begin(), attempts_.end(),
                                  [](const solver_attempt& a, const solver_attempt& b) { return a.pair == b.pair; });
  attempts_ = std::move(attempts);
  begin_with_attempt(is_same ? first_ : 0);
}

template <class T>
prepared_solve<T>* prepared_methods<T>::attempt(std::size_t& at, std::string& skipped) {
  for (; at < attempts_.size(); ++at) {
    const solver_pair& pair = attempts_[at].pair;
    try {
      prepared_solve<T>* const there = made(pair);
      const std::string words = hooks_.refresh(pair);
      if (!words.empty()) there->desk().note_preconditioner(words);
      return there;
    } catch (const std::exception& problem) {
      if (at + 1 == attempts_.size() && count_ == 0) throw;  // there is nothing to solve with
      skipped += "; not " + pair.method + " with " + pair.preconditioner + ": " + problem.what();
    }
  }
  return nullptr;
}
template <class T>
void prepared_methods<T>::begin_with_attempt(std::size_t first) {
  std::string skipped;
  std::size_t at = first;
  prepared_solve<T>* const now = attempt(at, skipped);
  if (!now) throw error("choosing a preconditioner", "none can be made" + skipped, "Name one");
  first_ = at;
  if (!chosen_) running_ = chosen_ = now;
  const solver_pair& pair = attempts_[at].pair;
  const std::string why = at == 0 ? attempts_[0].why : "the first that can be made or has converged";
  begin_with(*now, pair.method + " with " + pair.preconditioner + ", " + why + skipped);
}

template <class T>
void prepared_methods<T>::bind_values(const T* values) {
  for (std::size_t k = 0; k < count_; ++k) all_[k].solve->bind_values(values);
  bound_values_ = values;
}

template <class T>
void prepared_methods<T>::note_preconditioner(const std::string& made) {
  for (std::size_t k = 0; k < count_; ++k) all_[k].solve->desk().note_preconditioner(made);
}

template <class T>
std::string prepared_methods<T>::label_of(const report_fields& fields, std::size_t at) const {
  return attempts_.empty() ? fields.method : attempts_[at].pair.method + " with " + attempts_[at].pair.preconditioner;
}

template <class T>
std::shared_ptr<ticket::state> prepared_methods<T>::start(prepared_solve<T>& solve, const linear_solver_options& left,
                                                          std::size_t at, std::span<const T> b, std::span<T> x) {
  const linear_solver_options before = solve.settings();
  linear_solver_options now = left;
  const index_type own = at + 1 < attempts_.size() ? attempts_[at].most_iterations : 0;
  if (own > 0) now.max_iterations = std::min(own, left.max_iterations);
  if (now == before) return solve.solve(b, x);
  struct until_it_is_launched {
    prepared_solve<T>& solve;
    linear_solver_options before;
    ~until_it_is_launched() { solve.set_settings(before); }
  } const ends{solve, before};
  solve.set_settings(now);
  return solve.solve(b, x);
}

template <class T>
prepared_solve<T>* prepared_methods<T>::next(report_fields& so_far, const linear_solver_options& settings,
                                             std::size_t& at) {
  if (so_far.iterations >= settings.max_iterations || so_far.solve_seconds >= settings.deadline) return nullptr;
  prepared_solve<T>* then = nullptr;
  if (attempts_.empty()) {
    if (const char* const method = successor_of(so_far)) then = made({method, preconditioner_});
  } else if (goes_on_after(so_far, attempts_[at])) {
    std::size_t following = at + 1;
    then = attempt(following, so_far.choice);
    if (then) at = following;
  }
  if (!then) return nullptr;
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
void prepared_methods<T>::verify(report_fields& all, const linear_solver_options& settings, std::span<const T> b,
                                 std::span<T> x) {
  if (attempts_.empty() || !converged(all.reason) || all.rhs_norm == 0) return;
  // The last digit of a residual in T may be in doubt where it is just below the tolerance.
  const double tolerance = std::max(settings.rtol * all.rhs_norm, settings.atol), allowed = tolerance * (1 + 1e-6);
  constexpr int most_corrections = 3;
  std::vector<T> r, d;
  double least = HUGE_VAL;
  for (int k = 0;; ++k) {
    const std::optional<double> norm = hooks_.check(b, x, tolerance, r);
    if (!norm) return;
    all.residual_norm = *norm;
    if (*norm <= allowed) return;
    if (k == most_corrections || !(*norm < least) || all.iterations >= settings.max_iterations) break;
    least = *norm;
    linear_solver_options left = left_of(settings, all);
    left.rtol = 0.5 * tolerance / *norm;
    left.atol = 0;
    if (!(left.deadline > 0)) break;
    d.assign(x.size(), T(0));
    running().desk().count_from(all.iterations);
    const report_fields corrected = ticket(start(running(), left, attempts_.size(), r, d)).wait().fields();
    all.iterations += corrected.iterations;
    all.solve_seconds += corrected.solve_seconds;
    all.loop_seconds += corrected.loop_seconds;
    if (corrected.reason == reason::cancelled || corrected.reason == reason::deadline) {
      all.reason = corrected.reason;
      return;
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += d[i];
  }
  all.reason = reason::attainable_accuracy;
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
      of.chosen().desk().count_from(0);
    }
  } const ends{*this};
  std::size_t at = first_;
  std::shared_ptr<ticket::state> last = start(chosen(), settings, at, b, x);
  report_fields all = ticket(last).wait().fields();
  const auto next_if_any = [&]() -> prepared_solve<T>* {
    try {
      return next(all, settings, at);
    } catch (const std::exception& problem) {  // memory, mostly: what the last method found counts still
      all.choice += std::string("; then none: ") + problem.what();
      return nullptr;
    }
  };
  verify(all, settings, b, x);
  for (std::string label = label_of(all, at); prepared_solve<T>* const then = next_if_any();
       label = label_of(all, at)) {
    prepared_solve<T>& ended = running();
    then->desk().announce_launch(true);
    running_ = then;
    // Recording it may have taken a while, and nothing was running that a cancel could have stopped.
    if (ended.desk().is_cancelled(*last)) {
      all.reason = reason::cancelled;
      break;
    }
    last = start(*then, left_of(settings, all), at, b, x);
    const report_fields now = ticket(last).wait().fields();
    append(all, label, now, label_of(now, at), settings.history_capacity);
    verify(all, settings, b, x);
  }
  if (!attempts_.empty() && converged(all.reason) && at != first_) {
    first_ = at;
    begin_with(running(), label_of(all, at) + ", since it has converged before");
  }
  return report(std::move(all));
}

template <class T>
memory_table prepared_methods<T>::memory() const {
  memory_table all;
  for (std::size_t k = 0; k < count_; ++k) {
    const memory_table of_one = all_[k].solve->recorded().memory();
    all.items.insert(all.items.end(), of_one.items.begin(), of_one.items.end());
  }
  return all;
}
template <class T>
index_type prepared_methods<T>::bytes() const {
  index_type sum = 0;
  for (std::size_t k = 0; k < count_; ++k) sum += all_[k].solve->bytes();
  return sum;
}

template class prepared_methods<float>;
template class prepared_methods<double>;

}  // namespace whilst
