#include "apps/common/interrupts.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <stop_token>
#include <thread>

namespace whilst::command {
namespace {

// Everything a handler touches, on whatever thread it runs.
std::atomic<bool> watched = false, noted = false;
static_assert(std::atomic<bool>::is_always_lock_free);
char on_interrupt[128], on_terminate[128];

void handle(int signal) {
  if (watched && !noted.exchange(true)) return;
  const char* const message = signal == SIGINT ? on_interrupt : on_terminate;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, std::strlen(message));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void compose(char (&message)[128], const std::string& program, const char* what) {
  // The terminal has shown ^C, and perhaps a line of progress.
  const std::string line = (::isatty(STDERR_FILENO) == 1 ? "\n" : "") + program + ": " + what + "\n";
  std::strncpy(message, line.c_str(), sizeof message - 1);
}

}  // namespace

void tell_of_interrupts(const std::string& program) {
  compose(on_interrupt, program, "interrupted");
  compose(on_terminate, program, "terminated");
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {
    }, former{};
    if (sigaction(signal, nullptr, &former) == 0 && former.sa_handler == SIG_IGN) continue;
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

interrupt_watch::interrupt_watch() {
  noted = false;
  watched = true;
}
interrupt_watch::~interrupt_watch() { watched = false; }
bool interrupt_watch::interrupted() const { return noted; }

void cancel_on_interrupt(const interrupt_watch& interrupts, replayed_solver& solver,
                         const std::function<void()>& work) {
  // Short for a user waiting after Ctrl-C, and negligible compared with what is measured.
  constexpr std::chrono::milliseconds between_looks(50);
  std::mutex lock;
  std::condition_variable_any sleep;
  const std::jthread looks([&](const std::stop_token& ends) {
    std::unique_lock hold(lock);
    while (!ends.stop_requested()) {
      sleep.wait_for(hold, ends, between_looks, [] { return false; });
      if (interrupts.interrupted()) solver.cancel();
    }
  });
  work();
}

}  // namespace whilst::command
