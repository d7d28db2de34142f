#pragma once

#include "whilst/engine/program.hpp"

namespace whilst {

/// Runs a program of `where` once, on a stream of its own, and waits: for work outside of solves.
void run_now(program work, place where);

}  // namespace whilst
