#pragma once

#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/machine.hpp"

namespace whilst::command {

/// A duration with three digits and a suitable unit: "12.3 us".
std::string duration(double seconds);
/// An amount of memory: "20.1 MiB".
std::string memory(double bytes);
/// "1 point", "2 points".
std::string counted(index_type count, const char* what);
/// 13000 as "13.0".
std::string cuda_version(int version);
/// The driver's own version and the newest CUDA that it supports, if known: "580.95.05, for CUDA up to 13.0".
std::string driver_line(const machine_description& machine);
/// CPU or GPU in one line.
std::string machine_line(const machine_description& machine, const std::string& executor);

}  // namespace whilst::command
