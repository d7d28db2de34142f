#include "solvers/linear/automatic/prepared_methods.hpp"

#include <exception>

namespace whilst {

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
    : make_(std::move(make)), hooks_(std::move(hooks)), chosen_(nullptr), running_(nullptr) {
  attempts_.replace(std::move(attempts));
  begin_with_attempt();
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
void prepared_methods<T>::add(solver_pair pair, std::unique_ptr<prepared_solve<T>> solve) {
  if (count_ == all_.size())
    throw error("making a linear solver",
                "it has " + std::to_string(count_) + " pairs of a method and a preconditioner",
                "Make a new one for matrices of another kind");
  all_[count_] = {std::move(pair), std::move(solve)};
  ++count_;  // only now: other threads look at those that count
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
  attempts_.replace(std::move(attempts));
  begin_with_attempt();
}
template <class T>
void prepared_methods<T>::choose_again() {
  attempts_.forget();
  begin_with_attempt();
}

template <class T>
prepared_solve<T>* prepared_methods<T>::attempt(std::size_t k, std::string& skipped) {
  const solver_pair& pair = attempts_[k].pair;
  try {
    prepared_solve<T>* const there = made(pair);
    const std::string words = hooks_.refresh(pair);
    if (!words.empty()) there->desk().note_preconditioner(words);
    return there;
  } catch (const std::exception& problem) {
    const bool is_late = hooks_.until && clock::now() > *hooks_.until;  // another time it may be made
    if (!is_late) attempts_.note_refused(k);
    skipped += "; not " + pair.method + " with " + pair.preconditioner + ": " + problem.what();
    return nullptr;
  }
}
template <class T>
void prepared_methods<T>::begin_with_attempt() {
  std::string skipped;
  for (const std::size_t k : attempts_.order()) {
    prepared_solve<T>* const now = attempt(k, skipped);
    if (!now) continue;
    const std::string why = attempts_.first() == 0 ? attempts_[0].why : "since it has done most before";
    attempts_.begin_with(k);
    if (!chosen_) running_ = chosen_ = now;
    const solver_pair& pair = attempts_[k].pair;
    begin_with(*now, pair.method + " with " + pair.preconditioner + ", " + why + skipped);
    return;
  }
  throw error("choosing a preconditioner", "none can be made" + skipped, "Name one");
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
