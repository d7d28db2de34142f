#pragma once

#include <string>

namespace whilst {

/// The commit that was built, with ", changed" where files differed from it: the environment variable WHILST_COMMIT at
/// the build, else what git said of the source tree; "unknown" where neither did.
std::string source_commit();

/// What --version says: "PROGRAM 0.1.0 (commit 0123...)", or less where the commit is not known.
std::string version_text(const std::string& program);

/// What a result says of where it comes from, beside the machine.
struct measured_at {
  /// source_commit().
  std::string commit;
  /// UTC, as 2026-11-21T15:04:05Z.
  std::string date;
};
measured_at measured_now();

}  // namespace whilst
