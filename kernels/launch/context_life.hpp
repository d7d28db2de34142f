#pragma once

#include <string_view>

namespace whilst::cuda {

/// The life of the CUDA context that something was made in. cudaDeviceReset() ends it and takes memory, streams, events
/// and graphs along; what is made next may get the same addresses and handles. So what is left of an ended life must
/// neither be used nor released.
class context_life {
 public:
  /// Of what is in no context: it never ends.
  context_life() = default;
  /// Of the context that is current on this thread; one that never ends where CUDA does not let it be watched, and
  /// without CUDA.
  static context_life current();
  /// Costs one question to the driver, and disturbs no capture.
  bool ended() const;
  /// Throws whilst::error where it has ended. `doing` opens the message.
  void require(std::string_view doing) const;
  bool operator==(const context_life&) const = default;

 private:
  context_life(int device, unsigned number) : device_(device), number_(number) {}
  int device_ = -1;
  unsigned number_ = 0;  ///< of the lives of the device's contexts, counted from 1
};

}  // namespace whilst::cuda
