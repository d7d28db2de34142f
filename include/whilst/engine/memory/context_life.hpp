#pragma once

#include <cstddef>
#include <string_view>

namespace whilst::cuda {

/// The driver's handle of the context that is current on this thread; null for none, where the driver does not tell,
/// and without CUDA.
void* current_context() noexcept;
/// Makes a context current on this thread. Returns whether it is.
bool make_context_current(void* context) noexcept;

/// The life of the CUDA context that something was made in: a GPU's primary one, or one of the caller's own.
/// cudaDeviceReset() and cuCtxDestroy() end it and take memory, streams, events and graphs along; what is made next may
/// get the same addresses and handles. A fault in a kernel ends it, too: every later call fails. So what is left of an
/// ended life must neither be used nor released.
class context_life {
 public:
  /// Of what is in no context: it never ends.
  context_life() = default;
  /// Of the context that is current on this thread; one that never ends where CUDA does not let it be watched, and
  /// without CUDA. Throws whilst::error where a fault has ended it.
  static context_life current();
  /// Notes that a fault has ended the context that is current on this thread. how: its name, for messages.
  static void end_current(std::string_view how);
  /// Costs one question to the driver, and disturbs no capture.
  bool ended() const;
  /// Throws whilst::error where it has ended. `doing` opens the message.
  void require_alive(std::string_view doing) const;
  /// Throws whilst::error where it has ended, and where another context of its GPU is current, in which nothing of this
  /// one can be used. Where another GPU is current, that is seen once a device_guard has chosen this one.
  void require(std::string_view doing) const;
  bool operator==(const context_life&) const = default;

 private:
  context_life(void* context, std::size_t place, unsigned number) : context_(context), place_(place), number_(number) {}
  bool is_elsewhere() const;
  void* context_ = nullptr;
  std::size_t place_ = 0;  ///< in the list of contexts that are watched
  unsigned number_ = 0;    ///< of the lives that have been watched there, counted from 1; 0 for one that never ends
};

}  // namespace whilst::cuda
