#pragma once

#include <initializer_list>
#include <string_view>

#include "whilst/engine/memory/memory.hpp"

struct CUstream_st;

namespace whilst {

/// A pointer passed by a caller, with the name that the caller knows it by.
struct given_pointer {
  std::string_view name;
  const void* address;
};

struct pointer_check {
  /// Query the driver; otherwise only null pointers are refused.
  bool look = true;
  /// The stream that will use the memory, if known. While it is captured, memory unknown to the driver passes: the
  /// graph may allocate it when it runs.
  CUstream_st* stream = nullptr;
};

/// Throws whilst::error if kernels on `where` cannot use what a pointer points to: null, and on a GPU host memory that
/// it cannot access, memory of another GPU out of its reach, and freed memory. Managed memory, pinned and mapped host
/// memory and, if the GPU can access it, all host memory will do. `doing` opens the message. Costs one driver query per
/// pointer, which waits for nothing and disturbs no capture.
void require_usable(std::string_view doing, place where, std::initializer_list<given_pointer> given,
                    const pointer_check& how = {});

/// Throws whilst::error if a name is null. what: "a loop".
void require_name(std::string_view what, const char* name);

}  // namespace whilst
