#pragma once

#include <string>

namespace whilst {

/// The commit that was built, followed by ", changed" if files differed from it: the environment variable WHILST_COMMIT
/// at build time, else git's answer for the source tree; "unknown" without either.
std::string source_commit();

/// The text of --version: "PROGRAM 0.1.0 (commit 0123...)", or less if the commit is not known.
std::string version_text(const std::string& program);

/// Where a result comes from, besides the machine.
struct measured_at {
  /// source_commit().
  std::string commit;
  /// UTC, as 2026-11-21T15:04:05Z.
  std::string date;
};
measured_at measured_now();

}  // namespace whilst
