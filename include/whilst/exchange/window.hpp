#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/exchange/transports.hpp"
#include "whilst/group/group.hpp"

namespace whilst {

/// Memory of every rank that all ranks of a group can write while their loops run: a piece of each rank's, on its
/// place, zeroed. How ranks reach it is their transport: see docs/several-gpus.md. Copies share the memory, which lives
/// until the last copy in any thread of this process is gone: see there on when that may be.
class window {
 public:
  window() = default;
  /// Collective. transport: "auto" for the first of transport_names(), but for "nccl windows", that works on all ranks,
  /// or one of them. Throws whilst::error on all ranks where none works or the one that is asked for does not, where
  /// one rank runs on the host and another on a GPU, or where a rank is on another machine.
  window(const group& ranks, place where, std::size_t bytes, const std::string& transport = "auto");
  /// Other memory of the same ranks, by the same transport. Collective.
  window another(std::size_t bytes) const;

  /// Where a rank's piece is, as this rank's place sees it.
  void* of(int rank) const;
  /// What words travel by: "one rank", or one of transport_names().
  const std::string& transport() const;
  /// Which transports "auto" passed over for it, and why; empty if it took the first.
  const std::string& passed_over() const;
  /// Whether another rank of this process is on the same GPU as this one.
  bool shares_gpu() const;
  /// Copies from host memory to the start of this rank's piece.
  void put(const void* from, std::size_t bytes);
  /// Of this rank's piece.
  void set_to_zero();

 private:
  struct common;  // of all windows of one transport
  struct pieces;
  std::shared_ptr<pieces> pieces_;
};

}  // namespace whilst
