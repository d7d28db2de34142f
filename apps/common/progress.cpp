#include "apps/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "whilst/watch.hpp"

namespace whilst::command {
namespace {

/// Set by a handler, on whatever thread that runs.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// While it lives, the first interrupt is noted and the second has its usual effect.
class interrupt_watch {
 public:
  interrupt_watch() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
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

/// The line on a terminal, cleared when this ends.
struct rewritten_line {
  bool shown = false;
  ~rewritten_line() {
    if (shown) std::fputs("\r\033[K", stderr);
  }
};

}  // namespace

void run_with_progress(replayed_solver& solver, const std::function<void()>& solve,
                       const std::function<std::string(const progress&)>& line, bool log) {
  using clock = std::chrono::steady_clock;
  // Short for who waits after Ctrl-C, long beside what a look costs.
  constexpr std::chrono::milliseconds between_looks(100);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto period = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(2000);
  const interrupt_watch interrupts;

  auto next_line = clock::now() + period;
  rewritten_line on_terminal;
  bool stopping = false;
  watch watching(solver, between_looks, [&](const progress& now) {
    const bool stops_now = interrupted && !stopping;
    stopping = stopping || stops_now;
    if (stopping) solver.cancel();
    if (!(terminal || log) || !(stops_now || clock::now() >= next_line)) return;
    next_line = clock::now() + period;
    const char* const hint = stopping ? ", stopping" : terminal ? " (Ctrl-C stops)" : "";
    fmt::print(stderr, "{}{}{}{}", terminal ? "\r\033[K" : "", line(now), hint, terminal ? "" : "\n");
    std::fflush(stderr);
    on_terminal.shown = terminal;
  });
  solve();
  watching.stop();
}

}  // namespace whilst::command
