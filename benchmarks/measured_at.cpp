#include "benchmarks/measured_at.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace whilst {
namespace {

/// The first line that a command prints; empty where it fails.
std::string output_of(const std::string& command) {
  std::string line;
  if (std::FILE* pipe = ::popen(command.c_str(), "r")) {
    for (int c = std::fgetc(pipe); c != EOF && c != '\n'; c = std::fgetc(pipe)) line += static_cast<char>(c);
    if (::pclose(pipe) != 0) line.clear();
  }
  return line;
}

std::string commit_here() {
  if (const char* const given = std::getenv("WHILST_COMMIT"); given && *given) return given;
  const std::string git = "git -C '" WHILST_SOURCE_DIRECTORY "' ";
  const std::string commit = output_of(git + "rev-parse HEAD 2>/dev/null");
  if (commit.empty()) return "unknown";
  return output_of(git + "status --porcelain 2>/dev/null").empty() ? commit : commit + ", changed";
}

}  // namespace

measured_at measured_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {commit_here(), text};
}

}  // namespace whilst
