#pragma once

#include <cstddef>
#include <string_view>

namespace whilst::cuda {

/// The driver's handle of this thread's current context; null if there is none, the driver does not tell, or without
/// CUDA.
void* current_context() noexcept;
/// Makes a context current on this thread. Returns whether it is.
bool make_context_current(void* context) noexcept;

/// The life of the CUDA context that something was made in: a GPU's primary one, or one of the caller's own.
/// cudaDeviceReset() and cuCtxDestroy() end it and destroy its memory, streams, events and graphs; later objects may
/// get the same addresses and handles. A fault in a kernel ends it, too: every later call fails. In a forked child its
/// parent's lives have ended. So neither use nor release anything left of an ended life.
class context_life {
 public:
  /// For objects in no context: never ends.
  context_life() = default;
  /// Of this thread's current context; never ends if CUDA does not let it be watched, or without CUDA. Throws
  /// whilst::error if a fault has ended it.
  static context_life current();
  /// Notes that a fault has ended this thread's current context. how: the fault's name, for messages.
  static void end_current(std::string_view how);
  /// Costs one driver query and disturbs no capture.
  bool ended() const;
  /// Throws whilst::error if it has ended. `doing` opens the message.
  void require_alive(std::string_view doing) const;
  /// Throws whilst::error if it has ended, or if another context of its GPU is current, where nothing of this one is
  /// usable. If another GPU is current, the check needs a device_guard to select this one first.
  void require(std::string_view doing) const;
  bool operator==(const context_life&) const = default;

 private:
  context_life(void* context, std::size_t place, unsigned number) : context_(context), place_(place), number_(number) {}
  bool is_elsewhere() const;
  void* context_ = nullptr;
  std::size_t place_ = 0;  ///< in the list of watched contexts
  unsigned number_ = 0;    ///< of the life watched there, from 1; 0 for one that never ends
};

}  // namespace whilst::cuda
