#pragma once

#include <optional>

#include "whilst/engine/program.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst {

/// Runs a program of `where` once, on a stream of its own, and waits: for work outside of solves.
void run_now(program work, place where);

/// Work in stages, where the host has to know what one stage has found to record the next.
class recorded_stages {
 public:
  explicit recorded_stages(place where) : where_(where) { steps_.emplace(where_); }
  /// For the steps of the next run; the same object in all stages.
  program_recorder& steps() { return *steps_; }
  /// Runs what has been recorded since the last time, and waits.
  void run() {
    run_now(std::move(*steps_).finish(), where_);
    steps_.emplace(where_);
  }

 private:
  place where_;
  std::optional<program_recorder> steps_;
};

}  // namespace whilst
