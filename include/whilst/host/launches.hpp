#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/host/batch_report.hpp"
#include "whilst/host/iteration_monitor.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/host/solve_outcome.hpp"

namespace whilst {

class launch_desk;

/// One enqueued solve, of a system or of a batch: the state that its tickets share.
struct ticket::state {
  launch_desk* desk = nullptr;  ///< null once it has been destroyed
  std::uint64_t number = 0;
  bool in_capture = false;
  bool has_ended = false;  ///< seen to, by launch_desk::ends_soon
  /// A solve_outcome in memory that the host sees, and what else the solve leaves there: complete for a single system;
  /// for a batch, only its `launch`.
  shared_memory_block seen;
  /// On a GPU, for a single system with a history: room in the same memory for records_shown records. The first counts
  /// iterations from -1 until a launch has shown its history there.
  history_record* first_records = nullptr;
  /// A batch's outcomes stay on the place that solved it until they are requested: a million of them are 56 megabytes,
  /// which kernels would write to host memory in small scattered pieces, and which a copy on the caller's stream would
  /// charge to every solve, whether or not they are read.
  buffer<solve_outcome> of_systems;
  /// On the place, for a single system: what the solve's loop has recorded, even while later solves run. A history_end
  /// lies behind it.
  history_record* history = nullptr;
  buffer<history_record> own_history;  ///< for launches beyond those allocated with the desk
  double seconds = 0;                  ///< on the host
#if WHILST_WITH_CUDA
  cuda::event begin, end;  ///< begin: batches only
#endif

  /// Where the solve writes its outcome.
  solve_outcome* target() const {
    return of_systems.size() ? of_systems.data() : static_cast<solve_outcome*>(seen.data());
  }
};

/// What the launches of one solver share, besides the recorded loop: where outcomes land, and how to observe and stop a
/// running loop. Independent of the scalar type and the method. begin and run are for the thread that has the program's
/// turn; all other members are for any thread.
class launch_desk {
 public:
  using launch = ticket::state;

  /// recorded outlives the desk. outer: the root loop's control, one per system. inner: the inner loop's control for a
  /// single system, null for a batch. Both on the program's place. history_capacity: records per launch, an even
  /// number; 0 for none. outcome_bytes: of what a single system's launch writes to its target, a solve_outcome first.
  launch_desk(program& recorded, index_type systems, control* outer, control* inner, index_type history_capacity,
              std::size_t outcome_bytes = sizeof(solve_outcome));
  /// Waits for the runs in flight, which write outcomes. Tickets that are left then refuse what they are asked.
  ~launch_desk();

  /// The fields that are the same in every report.
  report_fields common;
  /// Fills in `common`, except method, preconditioner and nonzeros, once the program has been prepared. began: when
  /// construction of the solver began.
  void describe(bool in_float, index_type rows, std::chrono::steady_clock::time_point began);
  /// What reports tell from now on of a preconditioner that has been made anew.
  void note_preconditioner(std::string made);

  const program& recorded() const { return recorded_; }

  /// The life of the context that the desk and its launches are in. Once it has ended, every member below that touches
  /// it throws whilst::error.
  const cuda::context_life& life() const { return life_; }

  /// Throws whilst::error if that context has ended, or if another context of the GPU is current.
  void require_context(std::string_view doing) const;

  /// A launch with a number and a target, to be passed to the program and then run. One that no ticket refers to is
  /// reused even while it runs, since the next run waits for it; one in a capture belongs to that graph.
  std::shared_ptr<launch> begin();
  /// A launch is about to begin, or is not after all: until then cancel_all() counts it in.
  void announce_launch(bool is_to_come);
  /// Adds the launch's history to the settings of the loop that records it.
  control_settings with_history(control_settings settings, const launch& of) const;
  /// Enqueues the program; `stream` as in program::enqueue.
  void run(launch& started, CUstream_st* stream);

  /// A single system's solve is done when it has announced its outcome: then it has read b and written x. Its kernel
  /// ends, and its event tells the host, some microseconds later.
  bool is_done(const launch& which) const;
  void wait(const launch& which) const;
  /// Polls for a moment whether the solve of a single system has written x and its outcome, which is then done. Its
  /// event and its stream take some microseconds longer to tell the host. For x in memory of the library's own: the
  /// kernel may not have ended.
  bool ends_soon(launch& which) const;
  /// Reports the iterations of later launches to the monitor: from run() if the host sees them, otherwise from
  /// wait_and_tell(), which polls about every millisecond. Both rethrow the monitor's exception once the launch has
  /// ended.
  void set_monitor(iteration_monitor::callback monitor);
  void wait_and_tell(const launch& which);
  bool is_monitored() const { return static_cast<bool>(monitor_); }
  /// Null if there is none.
  std::shared_ptr<const iteration_monitor::callback> monitor() const { return monitor_.get(); }
  /// Makes progress of later launches, told or asked for, count on from here: for one that continues another's solve.
  void count_from(index_type iterations) { counted_before_ = iterations; }
  /// Both: of a launch that is done.
  report report_of(const launch& which) const;
  batch_report batch_report_of(const launch& which) const;
  /// The same of a batch, for a report of another kind.
  std::pair<report_fields, std::vector<system_outcome>> outcomes_of(const launch& which) const;
  whilst::progress progress() const;
  void cancel(const launch& which);
  void cancel_all();
  /// Whether a cancel has named this launch, even after it had ended.
  bool is_cancelled(const launch& which) const;
  /// The same of the launch begun last.
  bool is_last_cancelled() const;

 private:
  std::shared_ptr<launch> make();
  /// Gives each launch its own part of some memory for histories of as many launches.
  void divide(buffer<history_record>& histories, std::span<const std::shared_ptr<launch>> among) const;
  void add_prepared_launches(int count);
  bool is_batch() const { return inner_ == nullptr; }
  void run_unmonitored(launch& started, CUstream_st* stream);
  void tell(const launch& of, const whilst::progress& now);
  void request_cancel(launch_set launches);
  /// How far which launch has come.
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
  std::size_t outcome_bytes_;
  buffer<history_record> histories_;  ///< of the launches allocated with the desk, one after another
  std::vector<std::shared_ptr<launch>> prepared_;
  std::uint64_t latest_ = 0;
  bool is_announced_ = false;  ///< the next one
  launch_set cancelled_;
  std::atomic<index_type> counted_before_ = 0;
  iteration_monitor monitor_;
  /// Progress of a launch on the host, for other threads: as its trips reported it.
  struct {
    std::atomic<index_type> iteration = 0;
    std::atomic<double> residual_norm = 0;
    std::atomic<bool> running = false;
  } on_host_;
  mutable std::mutex lock_;  ///< guards all above but on_host_, and copies alongside the loop
#if WHILST_WITH_CUDA
  /// Whether a solve that has announced its outcome is done: not where the host must leave managed memory, as b and x
  /// may be, alone until the kernel has ended.
  bool heeds_announcements_ = false;
  cuda::stream beside_;         ///< for copies that must not wait for the loop
  shared_memory_block pinned_;  ///< their host side
#endif
};

}  // namespace whilst
