#pragma once

#include <functional>
#include <memory>
#include <string>

#include "whilst/engine/memory/memory_table.hpp"
#include "whilst/host/report.hpp"
#include "whilst/host/solve_outcome.hpp"

struct CUstream_st;

namespace whilst {

/// The same type as cudaStream_t, declared here so that no CUDA header is needed.
using stream_handle = CUstream_st*;

/// How far a running solve has come.
struct progress {
  index_type iteration = 0;
  double residual_norm = 0;  ///< infinite until the first one is known
  /// False once the loop has stopped.
  bool running = false;
};

/// An enqueued solve. Copies refer to the same solve. Once its solver has been destroyed, all members but outcome()
/// throw whilst::error.
class ticket {
 public:
  /// Reads how far the loop has come, without stopping it. Costs a small copy alongside the running loop.
  whilst::progress progress() const;
  /// Asks this solve to stop, whether it is running or waiting for its turn; it stops within 1 ms or two of its own
  /// iterations, with reason cancelled. Harmless once it has stopped, except in a captured graph, whose later launches
  /// count as the same solve and are cancelled too. Other solves of the solver and earlier requests for them are
  /// unaffected as long as they lie at most 16 solves apart; beyond that, only the last request stands.
  void cancel() const;
  /// True once the solve has completed: then wait() does not block. b has been read and x written, though the last
  /// kernel may take some microseconds more to leave its stream. For a solve in a captured graph: true from the end of
  /// the graph's first launch on, even while the graph runs again.
  bool done() const;
  /// Waits for the solve and reports how it ended. Throws whilst::error if the device failed meanwhile. For a solve in
  /// a captured graph it does not wait: it reports on the latest launch, and throws whilst::error before the first has
  /// completed. Synchronize with the graph's stream first.
  report wait() const;
  /// Where the solve writes how it ended, so that later kernels on its stream or in its graph can branch on it without
  /// involving the host. The solver owns this memory, which the host and its GPU both see, so a kernel reads it over
  /// the bus. Meaningless until the solve is done. It belongs to this solve as long as a ticket for it is held; for a
  /// solve in a captured graph, as long as the solver lives, and then describes the latest run.
  const solve_outcome* outcome() const;

  struct state;
  explicit ticket(std::shared_ptr<state> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<state> state_;
};

class prepared_program;

/// The common part of solvers that are recorded when constructed and replayed by each solve, of one problem or of a
/// batch. One solve at a time: a second one on another stream waits for the first.
///
/// Any thread may use a solver at any time. Calls that solve or change it wait until other threads have returned from
/// such calls: from solve() when it has ended, from enqueue() at once, or under executors host and stream when its
/// solve has ended. cancel(), progress(), explain(), dot(), json(), memory(), executor() and all members of tickets
/// never wait for another thread. A callback or an operator that a solve calls may change settings for later solves; if
/// it asks for a solve or for other values, the solver throws whilst::error. Move or destroy a solver only while no
/// other thread uses it.
///
/// On the host, solve() or enqueue() rethrows an exception from a callback or an operator; if one step throws several,
/// that of the smallest index. x is undefined then, and the solver can be used again.
class recorded_solver {
 public:
  /// Apply to later solves. Throw whilst::error on a negative limit, and on a deadline that is not above 0 seconds.
  void set_max_iterations(index_type limit);
  void set_deadline(double seconds);

  /// Among the last 17 solves enqueued, stops the one in flight and those waiting for their turn, as ticket::cancel
  /// does; callable from any thread. Harmless when none is left; later solves are unaffected.
  void cancel();

  /// The program as a readable tree with node counts, as Graphviz DOT, and as JSON, with the bytes that a step moves if
  /// it declares them.
  std::string explain() const;
  std::string dot() const;
  std::string json() const;
  /// The program's memory use, itemised.
  memory_table memory() const;
  /// The executor in use: the one requested, the one "auto" chose, or the fallback.
  const std::string& executor() const;

 protected:
  recorded_solver() = default;
  recorded_solver(recorded_solver&&) noexcept = default;
  recorded_solver& operator=(recorded_solver&&) noexcept = default;
  virtual ~recorded_solver() = default;

  virtual prepared_program& prepared() const = 0;
  /// What a solve in flight runs, if a solver has several: for progress() and cancel().
  virtual prepared_program& running() const { return prepared(); }
};

/// The same for single problems, whose progress can be watched.
class replayed_solver : public recorded_solver {
 public:
  /// Makes later solves call `monitor` with the number of completed iterations and the residual norm at that point
  /// (||g|| for a minimizer, ||F|| for equations); an empty function turns this off.
  /// @code
  ///   solver.set_monitor([&](const whilst::progress& now) {
  ///     std::printf("%lld: %g\n", static_cast<long long>(now.iteration), now.residual_norm);
  ///     if (now.residual_norm < good_enough) solver.cancel();
  ///   });
  /// @endcode
  /// Under "host" and "stream" solve() and enqueue() call it after every trip of the loop, mostly an iteration, which
  /// costs "stream" a small copy; with options.unroll above 1, after every trip of that many. Under "graph" and
  /// "resident" the host sees no iterations: solve() polls about every millisecond and calls it with what it finds,
  /// and enqueue() does not call it. It always runs on the solving thread, with counts that never fall and never
  /// repeat. It changes no bit of the solution.
  ///
  /// An exception from it cancels the solve, leaves solve() or enqueue() once the loop has stopped, and does no harm to
  /// the solver; the content of x is then unspecified. It may call cancel(), progress() and set_monitor(), which takes
  /// effect from the next iteration on, and no other member of the solver. Otherwise do not set it while a solve runs.
  /// To watch from another thread: whilst::watch.
  void set_monitor(std::function<void(const whilst::progress&)> monitor);
  /// How far the solve in flight has come; callable from any thread.
  whilst::progress progress() const;
};

}  // namespace whilst
