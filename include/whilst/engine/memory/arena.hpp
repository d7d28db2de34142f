#pragma once

#include <string>
#include <utility>
#include <vector>

#include "whilst/basics/views.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/memory/memory_table.hpp"

namespace whilst {

/// A workspace that knows what its pieces are for.
class arena_layout : public workspace {
 public:
  using workspace::workspace;

  /// Memory taken from here on appears under this name in program::memory().
  void item(std::string name) { items_.push_back({std::move(name), used()}); }

  /// Where the items begin, in bytes.
  const std::vector<std::pair<std::string, index_type>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, index_type>> items_;
};

/// The lines of memory() for an arena with this layout.
std::vector<memory_item> itemised(const arena_layout& layout, place where);

}  // namespace whilst
