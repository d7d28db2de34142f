#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/automatic/extended_residual.hpp"
#include "solvers/linear/automatic/solve_vectors.hpp"
#include "solvers/linear/automatic/solver_pairs.hpp"
#include "whilst/linear/prepared_solve.hpp"

namespace whilst {

/// What a linear_solver has recorded: one solve where its method and its preconditioner are named; under "auto" one for
/// each pair of them that was chosen or went on, each made when it is first needed and then kept, so that values which
/// change the choice back and forth record nothing anew.
///
/// A solve that goes on starts from the best x so far, with what is left of its iterations and its deadline, of which
/// making a pair takes its part, and the same tolerances. The host decides that, so a solve that is only enqueued does
/// not go on.
/// Under preconditioner "auto" the pair that has taken most digits off the residual begins the next solve.
template <class T>
class prepared_methods {
 public:
  /// Records a solve by a pair; null if the executor cannot run it.
  using maker = std::function<std::unique_ptr<prepared_solve<T>>(const solver_pair& pair)>;
  /// What preconditioner "auto" needs of the solver, beside that.
  struct matrix_hooks {
    /// Makes a pair's preconditioner anew if the values have changed since it was made; then returns what it is, in
    /// words, else nothing.
    std::function<std::string(const solver_pair& pair)> refresh;
    /// Whether b - A x may be above the tolerance where the residual in T is not; and b - A x and its norm in extended
    /// precision.
    std::function<bool(std::span<const T> x, double tolerance)> may_be_hidden;
    std::function<checked_residual(std::span<const T> b, std::span<const T> x, std::vector<T>& r)> check;
    /// When a solve has to end, for what is made meanwhile; see matrix_to_precondition.
    std::chrono::steady_clock::time_point* until = nullptr;
  };

  /// For a method and a preconditioner that the user has named.
  explicit prepared_methods(std::unique_ptr<prepared_solve<T>> only);
  /// For method "auto", and this preconditioner.
  prepared_methods(maker make, const method_choice& choice, std::string preconditioner);
  /// For preconditioner "auto". Throws what the last attempt throws if none can be made.
  prepared_methods(maker make, matrix_hooks hooks, std::vector<solver_attempt> attempts);

  /// The one that the next solve begins with, and the one that runs.
  prepared_solve<T>& chosen() const { return *chosen_; }
  prepared_solve<T>& running() const { return *running_; }

  /// Turns for all of them: see program::enter.
  using turns_of_all = std::array<turns::turn, 16>;
  [[nodiscard]] turns_of_all enter(std::string_view doing) const;
  /// Waits for what is enqueued.
  void wait() const;

  bool is_automatic() const { return static_cast<bool>(make_); }
  /// The matrix has other values.
  void choose(const method_choice& choice);
  /// The same under preconditioner "auto". If the attempts are what they were, the one that begins remains.
  void choose(std::vector<solver_attempt> attempts);
  /// The same if they are not known: those that there are remain.
  void choose_again();
  void bind_values(const T* values);
  /// What preconditioner reports tell of from now on. Nothing runs.
  void note_preconditioner(const std::string& made);

  report solve(std::span<const T> b, std::span<T> x);
  /// With b and x on the place, after earlier work on the stream.
  report solve(CUstream_st* stream, const T* b, T* x);

  memory_table memory() const;
  index_type bytes() const;

 private:
  using clock = std::chrono::steady_clock;
  struct kept_solve {
    solver_pair pair;
    std::unique_ptr<prepared_solve<T>> solve;
  };
  class course;  ///< of a solve that may go on
  prepared_solve<T>* made(const solver_pair& pair);
  void add(solver_pair pair, std::unique_ptr<prepared_solve<T>> solve);
  /// Has the next solve begin with it.
  void begin_with(prepared_solve<T>& now, const std::string& why);
  /// Makes an attempt; null, and why in `skipped`, where that is impossible.
  prepared_solve<T>* attempt(std::size_t k, std::string& skipped);
  /// The first attempt in turn that can be made begins.
  void begin_with_attempt();

  maker make_;  ///< empty unless automatic
  matrix_hooks hooks_;
  std::string preconditioner_;  ///< the named one
  attempts_in_turn attempts_;   ///< under preconditioner "auto"
  const T* bound_values_ = nullptr;
  /// The first exists as long as this does; other threads may look at them.
  std::array<kept_solve, std::tuple_size_v<turns_of_all>> all_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<prepared_solve<T>*> chosen_, running_;
};

extern template class prepared_methods<float>;
extern template class prepared_methods<double>;

}  // namespace whilst
