#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/host/batch_report.hpp"
#include "whilst/host/iteration_monitor.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/host/solve_outcome.hpp"

namespace whilst {

class launch_desk;

/// One enqueued solve, of a system or of a batch: what its tickets share.
struct ticket::state {
  launch_desk* desk = nullptr;
  std::uint64_t number = 0;
  bool in_capture = false;
  /// A solve_outcome in memory that the host sees: the whole one of a single system. Of a batch its `launch` only.
  shared_memory_block seen;
  /// A batch's outcomes stay on the place that solved it until somebody wants them: a million of them are 56 megabytes,
  /// which kernels would write to host memory in small scattered pieces, and which a copy on the caller's stream would
  /// charge to every solve, whether or not anybody looks.
  buffer<solve_outcome> of_systems;
  /// On the place, of a single system: what the solve's loop has recorded, also while later solves run.
  history_record* history = nullptr;
  buffer<history_record> own_history;  ///< of a launch beyond those that the desk is made with
  double seconds = 0;                  ///< on the host
#if WHILST_WITH_CUDA
  cuda::event begin, end;  ///< the first of a batch only
#endif

  /// Where the solve is to write.
  solve_outcome* target() const {
    return of_systems.size() ? of_systems.data() : static_cast<solve_outcome*>(seen.data());
  }
};

/// What the launches of one solver share, beside the recorded loop: where outcomes land, and the way to look at and
/// stop a loop that is running. Knows nothing of the scalar type or the method. begin and run are for the thread that
/// has the program's turn; all others are for any thread.
class launch_desk {
 public:
  using launch = ticket::state;

  /// recorded outlives the desk. outer: the root loop's control, one a system. inner: of a single system, null for a
  /// batch. Both on the program's place. history_capacity: records of each launch, an even number; 0 for none.
  launch_desk(program& recorded, index_type systems, control* outer, control* inner, index_type history_capacity);
  /// Waits for the runs in flight, which write outcomes.
  ~launch_desk();

  /// What is the same in every report.
  report_fields common;
  /// Fills that in, but for method, preconditioner and nonzeros, once the program has been prepared. began: when making
  /// the solver did.
  void describe(bool in_float, index_type rows, std::chrono::steady_clock::time_point began);

  const program& recorded() const { return recorded_; }

  /// Of the context that the desk and what it launches are in. Everything below that touches it throws whilst::error
  /// once that has ended.
  const cuda::context_life& life() const { return life_; }

  /// Throws whilst::error where that has ended, and where another context of the GPU is current.
  void require_context(std::string_view doing) const;

  /// A launch with a number and a target, to be told to the program and then run. One that no ticket refers to is used
  /// again even while it runs, since the next run waits for it; what is in a capture belongs to that graph.
  std::shared_ptr<launch> begin();
  /// A launch's settings of the loop that keeps its history.
  control_settings with_history(control_settings settings, const launch& of) const;
  /// Enqueues the program; `stream` as program::enqueue takes it.
  void run(launch& started, CUstream_st* stream);

  bool is_done(const launch& which) const;
  void wait(const launch& which) const;
  /// Has the monitor told of the iterations of the launches to come: by run() where the host sees them, and otherwise
  /// by wait_and_tell(), which looks every millisecond. Both throw what the monitor threw, once the launch has ended.
  void set_monitor(iteration_monitor::callback monitor);
  void wait_and_tell(const launch& which);
  /// Of a launch that is done.
  report report_of(const launch& which) const;
  batch_report batch_report_of(const launch& which) const;
  whilst::progress progress() const;
  void cancel(const launch& which);
  void cancel_all();

 private:
  std::shared_ptr<launch> make();
  void add_prepared_launches(int count);
  bool is_batch() const { return inner_ == nullptr; }
  void run_unmonitored(launch& started, CUstream_st* stream);
  void tell(const launch& of, const whilst::progress& now);
  void request_cancel(launch_set launches);
  /// How far which launch is.
  struct sight {
    std::uint64_t launch;
    whilst::progress far;
  };
  sight look() const;
  void copy_beside(std::string_view doing, void* target, const void* source, std::size_t bytes) const;

  program& recorded_;
  place where_;
  cuda::context_life life_;
  index_type systems_;
  control *outer_, *inner_;
  index_type history_capacity_;
  buffer<history_record> histories_;  ///< of the launches that the desk is made with, one after another
  std::vector<std::shared_ptr<launch>> prepared_;
  std::uint64_t latest_ = 0;
  launch_set cancelled_;
  iteration_monitor monitor_;
  /// Of a launch on the host, for other threads to see: what its trips have told.
  struct {
    std::atomic<index_type> iteration = 0;
    std::atomic<double> residual_norm = 0;
    std::atomic<bool> running = false;
  } on_host_;
  mutable std::mutex lock_;  ///< of all above but on_host_, and of what goes beside the loop
#if WHILST_WITH_CUDA
  cuda::stream beside_;         ///< for what must not wait for the loop
  shared_memory_block pinned_;  ///< and for what goes over it
#endif
};

/// What is behind a replayed_solver.
class prepared_program {
 public:
  virtual ~prepared_program() = default;
  virtual launch_desk& desk() = 0;
  /// For the launches to come.
  virtual void set_max_iterations(index_type limit) = 0;
  virtual void set_deadline(double seconds) = 0;
};

}  // namespace whilst
