#include "apps/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "apps/common/interrupts.hpp"
#include "whilst/watch.hpp"

namespace whilst::command {
status_line::status_line() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void status_line::show(const std::string& text) {
  if (!terminal_ || (text.empty() && !shown_)) return;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  shown_ = !text.empty();
}

void run_with_progress(replayed_solver& solver, const std::function<void()>& solve,
                       const std::function<std::string(const progress&)>& line, bool log) {
  using clock = std::chrono::steady_clock;
  // Short for a user waiting after Ctrl-C, long compared with the cost of a look.
  constexpr std::chrono::milliseconds between_looks(100);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto period = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(2000);
  const interrupt_watch interrupts;

  auto next_line = clock::now() + period;
  status_line on_terminal;
  bool stopping = false;
  watch watching(solver, between_looks, [&](const progress& now) {
    const bool stops_now = interrupts.interrupted() && !stopping;
    stopping = stopping || stops_now;
    if (stopping) solver.cancel();
    if (!(terminal || log) || !(stops_now || clock::now() >= next_line)) return;
    next_line = clock::now() + period;
    const char* const hint = stopping ? ", stopping" : terminal ? " (Ctrl-C stops)" : "";
    const std::string text = line(now) + hint;
    terminal ? on_terminal.show(text) : fmt::print(stderr, "{}\n", text);
  });
  solve();
  watching.stop();
}

}  // namespace whilst::command
