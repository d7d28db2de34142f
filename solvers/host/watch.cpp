#include "whilst/host/watch.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

struct watch::implementation {
  const replayed_solver& solver;
  std::chrono::milliseconds every;
  callback look;
  std::mutex lock;
  std::condition_variable changed;
  bool ending = false;
  std::exception_ptr thrown;
  std::thread looking;
  std::atomic<std::thread::id> looker;  // looking's own, known before the constructor has the thread

  implementation(const replayed_solver& solver, std::chrono::milliseconds every, callback look)
      : solver(solver), every(every), look(std::move(look)) {}

  void run() {
    looker = std::this_thread::get_id();
    std::unique_lock hold(lock);
    while (!changed.wait_for(hold, every, [&] { return ending; })) {
      hold.unlock();
      try {
        if (const progress now = solver.progress(); now.running) look(now);
      } catch (...) {
        thrown = std::current_exception();
        return;
      }
      hold.lock();
    }
  }
  void end() {
    {
      const std::lock_guard hold(lock);
      ending = true;
    }
    changed.notify_all();
    if (!looking.joinable()) return;
    looking.join();
    looker = std::thread::id();  // its number may be another thread's from now on
  }
};

watch::watch(const replayed_solver& solver, std::chrono::milliseconds every, callback look) {
  if (every.count() <= 0 || !look)
    throw error("watching a solver", every.count() <= 0 ? "the period is not above 0" : "there is no callback",
                "Give a period in milliseconds, as 100, and what to call");
  implementation_ = std::make_unique<implementation>(solver, every, std::move(look));
  implementation_->looking = std::thread([self = implementation_.get()] { self->run(); });
}

watch::~watch() { implementation_->end(); }

void watch::stop() {
  if (std::this_thread::get_id() == implementation_->looker)
    throw error("stopping a watch", "its own callback asks for it, and would wait for itself",
                "End the watch from there by throwing an exception, which a later stop() rethrows");
  implementation_->end();
  if (const std::exception_ptr thrown = std::exchange(implementation_->thrown, nullptr)) std::rethrow_exception(thrown);
}

}  // namespace whilst
