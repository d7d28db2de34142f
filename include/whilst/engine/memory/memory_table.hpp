#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace whilst {

/// Who keeps memory for as long as a program needs it.
enum class lifetime {
  owned,     ///< the program
  shared,    ///< the program and others: the last of them releases it
  borrowed,  ///< somebody else, who must keep it until the program is gone
};

/// A piece of memory that somebody takes.
struct memory_item {
  std::string name;
  std::string where;  ///< "the host", "GPU 0", "the host, pinned"
  std::size_t bytes = 0;
  const void* address = nullptr;  ///< null where there is no one place
  bool estimated = false;
  lifetime kept = lifetime::owned;
};

/// What something takes of memory, item by item.
struct memory_table {
  std::vector<memory_item> items;

  /// The sum over the items that lie there: "the host", "GPU 0".
  std::size_t bytes(const std::string& where) const;
  /// A line an item and one for each sum, for a person.
  std::string text() const;
};

}  // namespace whilst
