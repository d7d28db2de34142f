#pragma once

#include <optional>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// What a step or a call cost in one run of a program. Its time on a GPU is that from one event to the next around it,
/// with the launch waiting in the queue: a microsecond or two of each run are the events' own.
struct profile_row {
  std::string name;
  std::string loops;  ///< those around it, outermost first, as in "outer > inner"; empty outside
  bool is_call = false;
  index_type runs = 0;              ///< launches; on a GPU one that its loop's verdict held back counts, too
  double microseconds = 0;          ///< of all runs together
  std::optional<index_type> bytes;  ///< of one run, where the step's map says: see below

  /// Memory bandwidth; 0 where nothing is known.
  double gigabytes_per_second() const;
};

/// The profile of one run: a row a step or call, in the order of the program. Those that the library adds (to arm and
/// to open loops, to publish flags) share one row, the last.
///
/// A map says what it moves by a member `index_type bytes(index_type n) const`: the bytes that must go between memory
/// and the processor for all of its n indexes, each array counted once, as if there were caches for what is read again.
struct program_profile {
  std::string executor;  ///< "stream" or "host": what ran it
  std::vector<profile_row> rows;

  double microseconds() const;
  /// A table for a person: step, runs, microseconds in all and a run, share, bytes a run, GB/s.
  std::string text() const;
};

}  // namespace whilst
