#include "whilst/host/watch.hpp"

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

  implementation(const replayed_solver& solver, std::chrono::milliseconds every, callback look)
      : solver(solver), every(every), look(std::move(look)) {}

  void run() {
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
    if (looking.joinable()) looking.join();
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
  implementation_->end();
  if (const std::exception_ptr thrown = std::exchange(implementation_->thrown, nullptr)) std::rethrow_exception(thrown);
}

}  // namespace whilst
