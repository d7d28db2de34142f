#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "solvers/linear/choose_method.hpp"
#include "whilst/linear/prepared_solve.hpp"

namespace whilst {

/// What a linear_solver has recorded: one solve where its method is named; under "auto" one for each method that was
/// chosen or went on, each made when it is first needed and then kept, so that values which change the choice back and
/// forth record nothing anew.
///
/// A solve that goes on starts from the x that the last one returned, with what is left of its iterations and its
/// deadline, and the same tolerances. The host decides that, so an enqueued solve does not go on.
template <class T>
class prepared_methods {
 public:
  /// Records a solve by a method; null if the executor cannot run it.
  using maker = std::function<std::unique_ptr<prepared_solve<T>>(const char* method)>;

  /// For one method, named by the user.
  explicit prepared_methods(std::unique_ptr<prepared_solve<T>> only);
  /// For method "auto".
  prepared_methods(maker make, const method_choice& choice);

  /// The one that the next solve begins with, and the one that runs.
  prepared_solve<T>& chosen() const { return *chosen_; }
  prepared_solve<T>& running() const { return *running_; }

  /// Turns for all of them: see program::enter.
  using turns_of_all = std::array<turns::turn, 4>;
  [[nodiscard]] turns_of_all enter(std::string_view doing) const;
  /// Waits for what is enqueued.
  void wait() const;

  bool is_automatic() const { return static_cast<bool>(make_); }
  /// The matrix has other values.
  void choose(const method_choice& choice);
  void bind_values(const T* values);
  /// What preconditioner reports tell of from now on. Nothing runs.
  void note_preconditioner(const std::string& made);

  report solve(std::span<const T> b, std::span<T> x);

  memory_table memory() const;
  index_type bytes() const;

 private:
  prepared_solve<T>* made(const char* method);
  void add(std::unique_ptr<prepared_solve<T>> solve) {
    all_[count_] = std::move(solve);
    ++count_;  // only now: other threads look at those that count
  }
  void note(const method_choice& choice);
  /// The one that goes on after a solve that ended so; null if there is none.
  prepared_solve<T>* next(const report_fields& so_far, const linear_solver_options& settings);

  maker make_;  ///< empty unless automatic
  const T* bound_values_ = nullptr;
  /// Four at most, the first of which exists as long as this does; other threads may look at them.
  std::array<std::unique_ptr<prepared_solve<T>>, std::tuple_size_v<turns_of_all>> all_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<prepared_solve<T>*> chosen_, running_;
};

extern template class prepared_methods<float>;
extern template class prepared_methods<double>;

}  // namespace whilst
