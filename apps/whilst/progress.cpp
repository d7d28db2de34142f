#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
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

template <class T>
double norm(const std::vector<T>& vector) {
  double squares = 0;
  for (const double entry : vector) squares += entry * entry;
  return std::sqrt(squares);
}

}  // namespace

template <class T>
report solve_with_progress(linear_solver<T>& solver, const std::vector<T>& b, std::vector<T>& x, bool log) {
  using clock = std::chrono::steady_clock;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto period = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(2000);
  const double rhs_norm = norm(b);
  const interrupt_watch watch;
  std::future<report> result = std::async(std::launch::async, [&] { return solver.solve(b, x); });

  auto next_line = clock::now() + period;
  bool line_open = false;
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    // Asked for again each time: a first request may come before the loop has started, and then does nothing.
    if (interrupted != 0) solver.cancel();
    if (!(terminal || log) || clock::now() < next_line) continue;
    next_line += period;
    const progress now = solver.progress();
    if (!now.running) continue;
    fmt::print(stderr, "{}iteration {}, relative residual {:.3e}{}", terminal ? "\r\033[K" : "", now.iteration,
               rhs_norm > 0 ? now.residual_norm / rhs_norm : now.residual_norm,
               terminal ? (interrupted != 0 ? ", stopping" : " (Ctrl-C stops)") : "\n");
    std::fflush(stderr);
    line_open = terminal;
  }
  if (line_open) fmt::print(stderr, "\r\033[K");
  return result.get();
}

template report solve_with_progress<float>(linear_solver<float>&, const std::vector<float>&, std::vector<float>&, bool);
template report solve_with_progress<double>(linear_solver<double>&, const std::vector<double>&, std::vector<double>&,
                                            bool);

}  // namespace whilst::command
