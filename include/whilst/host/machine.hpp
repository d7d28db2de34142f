#pragma once

#include <string>
#include <vector>

#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// Whether this build can run one executor on this machine; for a GPU, whether it contains code that the GPU can load.
/// Or whether the ranks of a group can exchange by a transport.
struct executor_availability {
  /// "host", "stream", "graph", "resident" or "batch"; or one of transport_names().
  std::string name;
  bool available = false;
  /// One readable sentence; empty if available.
  std::string why_not;
};

/// What this machine can run on, found by querying and trying rather than from tables.
struct machine_description {
  /// Name of the CPU.
  std::string processor;
  /// Threads that the host executor uses.
  int threads = 1;
  /// True if the library was built with CUDA.
  bool cuda_build = false;
  /// CUDA toolkit of the build, as 1000 major + 10 minor: 13000 is 13.0. 0 without CUDA.
  int toolkit_version = 0;
  /// Newest CUDA version that the driver supports, encoded likewise. 0 without a driver or without CUDA.
  int driver_version = 0;
  /// The driver's own version, such as "580.95.05"; empty if the system does not report it.
  std::string driver_release;
  /// CUDA devices visible to this process.
  int device_count = 0;
  /// Name of the device described; empty without one.
  std::string device;
  /// Its universally unique identifier, as nvidia-smi -L shows it: "GPU-" and 32 digits with dashes.
  std::string device_uuid;
  /// Its compute capability: 9 and 0 for 9.0.
  int compute_major = 0, compute_minor = 0;
  /// True if a graph with a WHILE node ran and did what it should.
  bool conditional_nodes = false;
  /// If it did not: what failed.
  std::string conditional_nodes_note;
  /// Every executor the library knows, present or not.
  std::vector<executor_availability> executors;
  /// For each visible GPU the others whose memory its kernels can reach.
  std::vector<std::vector<int>> peers;
  /// What the ranks of a group can exchange by: see distributed_linear_solver::transport. Those of GPUs are available
  /// where all visible ones can use them.
  std::vector<executor_availability> transports;
};

/// Describes the CPU and CUDA device `device` (-1: the current one). Runs one small graph to test conditional nodes, so
/// the first call may take as long as CUDA needs to start. A machine without a GPU is not an error; throws
/// whilst::error if `device` does not exist.
machine_description describe_machine(int device = -1);

/// Name of the CPU, or of a GPU. The first call for each asks the system, later ones do not.
std::string name_of_processor(place where);

}  // namespace whilst
