#pragma once

#include <string>
#include <vector>

namespace whilst {

/// Whether this build on this machine can run one executor; on a GPU, whether it has code that the GPU can load.
struct executor_availability {
  /// "host", "stream", "graph", "resident" or "batch".
  std::string name;
  bool available = false;
  /// One sentence for a person; empty where available.
  std::string why_not;
};

/// What there is to run on, as found by asking and trying rather than from tables.
struct machine_description {
  /// Name of the CPU.
  std::string processor;
  /// Threads that the host executor uses.
  int threads = 1;
  /// True where the library was built with CUDA.
  bool cuda_build = false;
  /// CUDA toolkit of the build, 1000 major + 10 minor: 13000 is 13.0. 0 without CUDA.
  int toolkit_version = 0;
  /// Newest CUDA version that the driver supports, coded likewise. 0 without a driver, and without CUDA.
  int driver_version = 0;
  /// The driver's own version, as "580.95.05"; empty where the system does not tell.
  std::string driver_release;
  /// CUDA devices visible to this process.
  int device_count = 0;
  /// Name of the device described; empty without one.
  std::string device;
  /// Its compute capability: 9 and 0 for 9.0.
  int compute_major = 0, compute_minor = 0;
  /// True where a graph with a WHILE node was run and did what it should.
  bool conditional_nodes = false;
  /// Where it was not: what failed.
  std::string conditional_nodes_note;
  /// Every executor the library knows, present or not.
  std::vector<executor_availability> executors;
};

/// Describes the CPU and CUDA device `device` (-1: the current one). Runs one small graph to find out about conditional
/// nodes, so the first call may take as long as CUDA needs to start. A machine without a GPU is described, not an
/// error; throws whilst::error where `device` names a device that is not there.
machine_description describe_machine(int device = -1);

}  // namespace whilst
