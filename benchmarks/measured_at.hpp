#pragma once

#include <string>

namespace whilst {

/// What a result says of where it comes from, beside the machine.
struct measured_at {
  /// WHILST_COMMIT from the environment; else what git says of the source tree, with ", changed" where files differ
  /// from it; else "unknown".
  std::string commit;
  /// UTC, as 2026-11-21T15:04:05Z.
  std::string date;
};
measured_at measured_now();

}  // namespace whilst
