#include "apps/common/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace whilst::command {
namespace {

/// value with three significant digits and no exponent, for values from 1 to 9999.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string memory(double bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  bytes /= 1024;
  while (bytes >= 1023.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return three_digits(bytes) + " " + units[unit];
}

std::string counted(index_type count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string driver_line(const machine_description& machine) {
  std::string line = machine.driver_release;
  if (machine.driver_version > 0)
    line += (line.empty() ? "for CUDA up to " : ", for CUDA up to ") + cuda_version(machine.driver_version);
  return line.empty() ? "none found" : line;
}

std::string machine_line(const machine_description& machine, const std::string& executor) {
  if (executor == "host" || machine.device.empty()) {
    return fmt::format("{}, {}", machine.processor, counted(machine.threads, "thread"));
  }
  return fmt::format("{} (compute capability {}.{}), built with CUDA {}, driver {}", machine.device,
                     machine.compute_major, machine.compute_minor, cuda_version(machine.toolkit_version),
                     driver_line(machine));
}

}  // namespace whilst::command
