#include "apps/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "apps/common/interrupts.hpp"
#include "whilst/watch.hpp"

namespace whilst::command {
namespace {

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
  // Short for a user waiting after Ctrl-C, long compared with the cost of a look.
  constexpr std::chrono::milliseconds between_looks(100);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto period = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(2000);
  const interrupt_watch interrupts;

  auto next_line = clock::now() + period;
  rewritten_line on_terminal;
  bool stopping = false;
  watch watching(solver, between_looks, [&](const progress& now) {
    const bool stops_now = interrupts.interrupted() && !stopping;
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
