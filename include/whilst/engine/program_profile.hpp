#pragma once

#include <optional>
#include <string>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// What a step or a call cost in one run of a program. On a GPU its time is that between the events around it, with the
/// launch already queued: a microsecond or two of each run is event overhead.
struct profile_row {
  std::string name;
  std::string loops;  ///< the enclosing loops, outermost first, as in "outer > inner"; empty outside
  bool is_call = false;
  index_type runs = 0;              ///< launches; on a GPU, also those skipped by their loop's verdict
  double microseconds = 0;          ///< of all runs together
  std::optional<index_type> bytes;  ///< of one run, if the step's map tells: see below

  /// Memory bandwidth; 0 if unknown.
  double gigabytes_per_second() const;
};

/// The profile of one run: a row per step or call, in program order. Steps that the library adds (to arm and open
/// loops, to publish flags) share the last row.
///
/// A map states its traffic in a member `index_type bytes(index_type n) const`: the bytes that must move between memory
/// and the processor for all n indices, each array counted once, as if caches served repeated reads.
struct program_profile {
  std::string executor;  ///< "stream" or "host": what ran it
  std::vector<profile_row> rows;

  double microseconds() const;
  /// A table for a person: step, runs, microseconds in total and per run, share, bytes per run, GB/s.
  std::string text() const;
};

}  // namespace whilst
