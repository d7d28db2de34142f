#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whilst {

/// Who keeps memory alive while a program needs it.
enum class lifetime {
  owned,     ///< the program
  shared,    ///< the program and others: the last one releases it
  borrowed,  ///< another owner, who must keep it until the program is gone
};

/// A piece of memory in use.
struct memory_item {
  std::string name;
  std::string where;  ///< "the host", "GPU 0", "the host, pinned"
  std::size_t bytes = 0;
  const void* address = nullptr;  ///< null if it has no single address
  bool estimated = false;
  lifetime kept = lifetime::owned;
};

/// Memory use, item by item.
struct memory_table {
  std::vector<memory_item> items;

  /// The sum over the items on one place: "the host", "GPU 0".
  std::size_t bytes(const std::string& where) const;
  /// Readable text: a line per item and one per sum.
  std::string text() const;
};

}  // namespace whilst
