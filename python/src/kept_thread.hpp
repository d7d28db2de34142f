#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace whilst::python {

/// A thread that waits for work, one piece after another, and is never joined: while it has none it holds nothing, and
/// the process may end. A new thread for each piece would cost more than a small solve.
class kept_thread {
 public:
  kept_thread() {
    std::thread([this] { serve(); }).detach();
  }
  kept_thread(const kept_thread&) = delete;
  kept_thread& operator=(const kept_thread&) = delete;

  void begin(std::function<void()> work) {
    {
      const std::lock_guard hold(lock_);
      work_ = std::move(work);
    }
    changed_.notify_all();
  }
  /// Whether the work has ended, after this time at most.
  bool ends_within(std::chrono::milliseconds time) {
    std::unique_lock hold(lock_);
    return changed_.wait_for(hold, time, [this] { return !work_; });
  }

 private:
  void serve() {
    std::unique_lock hold(lock_);
    for (;;) {
      changed_.wait(hold, [this] { return static_cast<bool>(work_); });
      hold.unlock();
      work_();
      hold.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::function<void()> work_;  ///< empty between two pieces
};

/// Those that Python's main thread has at hand, and no other uses: a handler of signals may solve while a solve waits.
class kept_threads {
 public:
  static kept_thread* take() {
    std::vector<kept_thread*>& there = idle();
    if (there.empty()) return new kept_thread;  // never deleted: see there
    kept_thread* const last = there.back();
    there.pop_back();
    return last;
  }
  static void give_back(kept_thread* thread) { idle().push_back(thread); }

 private:
  static std::vector<kept_thread*>& idle() {
    static auto& there = *new std::vector<kept_thread*>;
    static pid_t process = getpid();
    if (process != getpid()) there.clear();  // threads do not survive a fork
    process = getpid();
    return there;
  }
};

/// What `call` returns, which a kept thread runs, while this one calls `check` every few milliseconds; if that throws,
/// `cancel` until the call has ended, and the exception passes.
template <class Call, class Check, class Cancel>
auto called_beside(const Call& call, Check&& check, const Cancel& cancel) {
  std::optional<decltype(call())> result;
  std::exception_ptr problem;
  kept_thread* const beside = kept_threads::take();
  beside->begin([&] {
    try {
      result.emplace(call());
    } catch (...) {
      problem = std::current_exception();
    }
  });
  try {
    while (!beside->ends_within(std::chrono::milliseconds(10))) check();
  } catch (...) {
    while (!beside->ends_within(std::chrono::milliseconds(1))) cancel();
    kept_threads::give_back(beside);
    throw;
  }
  kept_threads::give_back(beside);
  if (problem) std::rethrow_exception(problem);
  return std::move(*result);
}

}  // namespace whilst::python
