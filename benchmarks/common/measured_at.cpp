#include "benchmarks/common/measured_at.hpp"

#include <ctime>

#include "whilst/version.hpp"
#include "whilst_commit.hpp"  // cmake/commit.cmake makes it

namespace whilst {

std::string source_commit() { return WHILST_COMMIT; }

std::string version_text(const std::string& program) {
  const std::string commit = source_commit();
  return program + " " + version + (commit == "unknown" ? "" : " (commit " + commit + ")");
}

measured_at measured_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {source_commit(), text};
}

}  // namespace whilst
