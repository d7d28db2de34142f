#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/group/group.hpp"

namespace whilst {

/// Memory of every rank that all ranks of a group can write while their loops run: a piece of each rank's, on its
/// place, zeroed. Ranks of one process share it directly; those of several processes of a machine map one another's, on
/// the host by POSIX shared memory, on GPUs by cudaIpc handles. Copies share the memory, which lives until the last
/// copy in any thread of this process is gone: see docs/several-gpus.md on when that may be.
class window {
 public:
  window() = default;
  /// Collective. Throws whilst::error on all ranks where one runs on the host and another on a GPU, where a rank is on
  /// another machine, or a GPU cannot reach another's memory.
  window(const group& ranks, place where, std::size_t bytes);

  /// Where a rank's piece is, as this rank's place sees it.
  void* of(int rank) const;
  /// What words travel by: "one rank", "threads", "shared memory", "peer memory".
  const std::string& transport() const;
  /// Of this rank's piece.
  void set_to_zero();

 private:
  struct pieces;
  std::shared_ptr<pieces> pieces_;
};

}  // namespace whilst
