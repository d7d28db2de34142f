#pragma once

#include <mutex>
#include <string_view>

namespace whilst {

/// Lets one thread at a time work with what a run uses, while others wait for their turn. A run may call user code,
/// which must not start or change the same object midway: on the run's thread that is refused.
class turns {
 public:
  /// A thread's turn, until it is destroyed. The same thread may take another within it.
  using turn = std::unique_lock<std::recursive_mutex>;

  /// Waits for a turn to change what later runs use; also for code that a run calls. Throws whilst::error on a thread
  /// that takes part in a step while another thread has its turn.
  [[nodiscard]] turn take();
  /// Waits for a turn to run or to change what a run uses. Throws whilst::error when called from code that a run calls:
  /// on that run's thread, and on a thread that takes part in a step while another thread has its turn. `doing` opens
  /// the message.
  [[nodiscard]] turn enter(std::string_view doing);

  /// While one lives, the thread whose turn it is may be running user code.
  class run {
   public:
    explicit run(turns& of) : of_(of) { ++of_.runs_; }
    ~run() { --of_.runs_; }
    run(const run&) = delete;
    run& operator=(const run&) = delete;

   private:
    turns& of_;
  };

 private:
  std::recursive_mutex mutex_;
  int runs_ = 0;  ///< nested runs of the thread that has its turn
};

}  // namespace whilst
