#include "apps/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <future>

namespace whilst::command {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// While it lives, the first interrupt is noted and the second has its usual effect.
class interrupt_watch {
 public:
  interrupt_watch() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &former_interrupt_);
    sigaction(SIGTERM, &action, &former_terminate_);
  }
  ~interrupt_watch() {
    sigaction(SIGINT, &former_interrupt_, nullptr);
    sigaction(SIGTERM, &former_terminate_, nullptr);
  }
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

 private:
  struct sigaction former_interrupt_ {
  }, former_terminate_{};
};

}  // namespace

void run_with_progress(const std::function<void()>& solve, const std::function<void()>& cancel,
                       const std::function<std::string()>& line, bool log) {
  using clock = std::chrono::steady_clock;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto period = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(2000);
  const interrupt_watch watch;
  std::future<void> solved = std::async(std::launch::async, solve);

  auto next_line = clock::now() + period;
  bool line_open = false;
  while (solved.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    // Asked for again each time: a first request may come before the loop has started, and then does nothing.
    if (interrupted != 0) cancel();
    if (!(terminal || log) || clock::now() < next_line) continue;
    next_line += period;
    const std::string now = line();
    if (now.empty()) continue;
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", now,
               terminal ? (interrupted != 0 ? ", stopping" : " (Ctrl-C stops)") : "\n");
    std::fflush(stderr);
    line_open = terminal;
  }
  if (line_open) fmt::print(stderr, "\r\033[K");
  solved.get();
}

}  // namespace whilst::command
