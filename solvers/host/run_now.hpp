#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/program.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst {

/// Runs a program of `where` once, on a stream of its own, and waits: for work outside of solves.
void run_now(program work, place where);

/// Work in stages, where the host has to know what one stage has found to record the next. All of it runs on one
/// stream. What is still running when this goes is waited for.
class recorded_stages {
 public:
  explicit recorded_stages(place where);
  /// For the steps of the next run; the same object in all stages.
  program_recorder& steps() { return *steps_; }
  /// Runs what has been recorded since the last time, and waits.
  void run() {
    start();
    wait();
  }
  /// The same without waiting.
  void start();
  /// Waits for what has been started, but for the last so many starts.
  void wait(std::size_t except_last = 0);

 private:
  place where_;
#if WHILST_WITH_CUDA
  cuda::stream own_;
#endif
  std::vector<program> started_;
  std::optional<program_recorder> steps_;
};

}  // namespace whilst
