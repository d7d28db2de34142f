#pragma once

#include <initializer_list>
#include <string_view>

#include "whilst/engine/memory/memory.hpp"

struct CUstream_st;

namespace whilst {

/// A pointer that a caller has given, by the name that the caller knows it by.
struct given_pointer {
  std::string_view name;
  const void* address;
};

struct pointer_check {
  /// Ask the driver about memory; otherwise only null pointers are refused.
  bool look = true;
  /// What the memory is for, where that is known. While it is captured, memory that the driver does not know is let
  /// pass: it may be the graph's own, taken when the graph runs.
  CUstream_st* stream = nullptr;
};

/// Throws whilst::error where kernels on `where` cannot use what the pointers lead to: null, and on a GPU memory of the
/// host that it does not see, memory of another GPU out of its reach, and what has been freed. Managed memory, pinned
/// and mapped memory of the host and, where the GPU has it, all memory of the host will do. `doing` opens the message.
/// One question to the driver a pointer, which waits for nothing and disturbs no capture.
void require_usable(std::string_view doing, place where, std::initializer_list<given_pointer> given,
                    const pointer_check& how = {});

/// Throws whilst::error where a name is null. what: "a loop".
void require_name(std::string_view what, const char* name);

}  // namespace whilst
