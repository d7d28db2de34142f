#include <functional>

#include "whilst/basics/error.hpp"
#include "whilst/engine/program.hpp"

namespace whilst {

void refuse_shared_writes(const program_node& parallel) {
  struct write {
    std::size_t body;
    const std::string* name;
    memory_range range;
  };
  std::vector<write> writes;
  const std::function<void(const std::vector<program_node>&, std::size_t)> collect =
      [&](const std::vector<program_node>& nodes, std::size_t body) {
        for (const program_node& node : nodes) {
          for (const memory_range& range : node.writes) writes.push_back({body, &node.name, range});
          node.each_list([&](const std::vector<program_node>& list) { collect(list, body); });
        }
      };
  for (std::size_t k = 0; k < parallel.bodies.size(); ++k) collect(parallel.bodies[k], k);
  for (const write& one : writes)
    for (const write& other : writes)
      if (one.body < other.body && one.range.overlaps(other.range))
        throw error("recording parallel '" + parallel.name + "'",
                    "'" + *one.name + "' in body " + std::to_string(one.body) + " and '" + *other.name + "' in body " +
                        std::to_string(other.body) + " declare to write the same memory, in no order",
                    "Have one of them write elsewhere, or record them one after the other");
}

}  // namespace whilst
