#pragma once

#include <functional>
#include <memory>
#include <string>

#include "whilst/engine/memory/memory_table.hpp"
#include "whilst/host/report.hpp"
#include "whilst/host/solve_outcome.hpp"

struct CUstream_st;

namespace whilst {

/// The same type as cudaStream_t, named here so that no CUDA header is needed.
using stream_handle = CUstream_st*;

/// How far a running solve is.
struct progress {
  index_type iteration = 0;
  double residual_norm = 0;  ///< infinite until the solve knows its first
  /// False once the loop has stopped.
  bool running = false;
};

/// A solve that was enqueued. Copies refer to the same solve. The solver must outlive its tickets.
class ticket {
 public:
  /// Reads how far the loop is, without stopping it. Costs a small copy beside the running loop.
  whilst::progress progress() const;
  /// Asks this solve to stop, whether it runs or waits for its turn; it does within 1 ms or two iterations of its own,
  /// with reason cancelled. Harmless once it has stopped, but for a solve in a captured graph, whose later launches are
  /// the same solve and are cancelled, too. Other solves of the solver are not concerned, nor are earlier requests for
  /// them, as long as they lie at most 16 solves apart; beyond, the last request stands alone.
  void cancel() const;
  /// True when the solve has completed: then wait() does not block. Of a solve in a captured graph: true from the end
  /// of the graph's first launch on, also while the graph runs again.
  bool done() const;
  /// Waits for the solve and tells how it ended. Throws whilst::error if the device failed meanwhile. Of a solve in a
  /// captured graph it does not wait: it tells of the latest launch, and throws whilst::error before the first has
  /// completed. Synchronize with the graph's stream first.
  report wait() const;
  /// Where the solve leaves how it ended: for kernels that come after it, on its stream or in its graph, and decide by
  /// it, with no word to the host. Memory of the solver's that the host and its GPU see, so reading it costs a kernel a
  /// way over the bus. Before the solve is done it means nothing. It is this solve's as long as a ticket of it is held,
  /// that of a solve in a captured graph as long as the solver lives, and then tells of the latest run.
  const solve_outcome* outcome() const;

  struct state;
  explicit ticket(std::shared_ptr<state> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<state> state_;
};

class prepared_program;

/// What solvers have in common that are recorded when they are made and replayed by each solve. One solve at a time: a
/// second one on another stream waits for the first.
///
/// Any thread may use a solver at any time. What solves or changes it waits until other threads have returned from the
/// like: from a solve() when it has ended, from an enqueue() at once, or under executors host and stream when its solve
/// has ended. cancel(), progress(), explain(), dot(), json(), memory(), executor() and all that tickets do wait for no
/// one. A callback or an operator that a solve calls may change settings, for the solves to come; asked by them for a
/// solve or for other values, the solver throws whilst::error. A solver is moved and destroyed by one thread, with no
/// other in it.
///
/// On the host an exception out of a callback or an operator comes out of solve() or enqueue(); of several in one step
/// that of the smallest index. x is undefined then, and the solver can be used again.
class replayed_solver {
 public:
  /// For the solves to come. Throw whilst::error on a negative limit, and on a deadline that is not above 0 seconds.
  void set_max_iterations(index_type limit);
  void set_deadline(double seconds);

  /// Stops, of the 17 solves enqueued last, the one in flight and those that wait for their turn, as ticket::cancel
  /// does; from any thread. Harmless when none is left, and for those to come.
  void cancel();
  /// Has `monitor` called with the number of iterations completed and the residual norm then (of a minimizer ||g||, of
  /// equations ||F||), in the solves to come; an empty function calls nobody.
  /// @code
  ///   solver.set_monitor([&](const whilst::progress& now) {
  ///     std::printf("%lld: %g\n", static_cast<long long>(now.iteration), now.residual_norm);
  ///     if (now.residual_norm < good_enough) solver.cancel();
  ///   });
  /// @endcode
  /// Under "host" and "stream" solve() and enqueue() call it after every iteration, which costs "stream" a small copy;
  /// with options.unroll above 1 after every trip of so many. Under "graph" and "resident" the host sees no iterations:
  /// solve() calls it with what it finds every millisecond, and enqueue() does not. In all cases on the thread that
  /// solves, with counts that never fall and never repeat. It changes no bit of the solution.
  ///
  /// What it throws cancels the solve, comes out of solve() or enqueue() once the loop has stopped, and leaves the
  /// solver as good as before; what x holds then is not specified. It may call cancel() and progress(), and nothing
  /// else of the solver. Not while a solve runs. To look from another thread: whilst::watch.
  void set_monitor(std::function<void(const whilst::progress&)> monitor);
  /// How far the solve in flight is, from any thread.
  whilst::progress progress() const;

  /// The program as a tree with node counts, for a person; as Graphviz DOT; and as JSON, with the bytes that a step
  /// moves where it says so.
  std::string explain() const;
  std::string dot() const;
  std::string json() const;
  /// What the program takes of memory, itemised.
  memory_table memory() const;
  /// The executor that "auto" chose, or the one asked for, or what it fell back to.
  const std::string& executor() const;

 protected:
  replayed_solver() = default;
  replayed_solver(replayed_solver&&) noexcept = default;
  replayed_solver& operator=(replayed_solver&&) noexcept = default;
  virtual ~replayed_solver() = default;

 private:
  virtual prepared_program& prepared() const = 0;
};

}  // namespace whilst
