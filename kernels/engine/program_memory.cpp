#include <algorithm>
#include <cstdio>

#include "kernels/engine/program_view.hpp"
#include "whilst/engine/memory/memory_table.hpp"

namespace whilst {
namespace {

std::string memory_line(const std::string& name, std::size_t name_width, std::size_t bytes, const std::string& where) {
  char line[64];
  std::snprintf(line, sizeof line, "%15zu bytes  ", bytes);
  return name + std::string(name_width - name.size(), ' ') + line + where + "\n";
}

}  // namespace

std::size_t memory_table::bytes(const std::string& where) const {
  std::size_t sum = 0;
  for (const memory_item& item : items) sum += item.where == where ? item.bytes : 0;
  return sum;
}

std::string memory_table::text() const {
  std::size_t width = 6;
  std::vector<std::string> places;
  for (const memory_item& item : items) {
    width = std::max(width, item.name.size());
    if (std::find(places.begin(), places.end(), item.where) == places.end()) places.push_back(item.where);
  }
  std::string text;
  for (const memory_item& item : items) {
    const char* const kept = item.kept == lifetime::borrowed ? ", borrowed"
                             : item.kept == lifetime::shared ? ", shared"
                                                             : "";
    text += memory_line(item.name, width, item.bytes, item.where + kept + (item.estimated ? " (estimated)" : ""));
  }
  for (const std::string& where : places) text += memory_line("in all", width, bytes(where), where);
  return text;
}

memory_table program::memory() const {
  const program_view self = view();
  const std::string host = name_of(place::host());
  memory_table table{self.memory};
  std::size_t host_sums = 0;
  visit_nodes(self.nodes, [&](const program_node& node, const std::string&) {
    if (node.step) host_sums += node.step->host_bytes();
  });
  table.items.push_back({.name = "partial sums on the host", .where = host, .bytes = host_sums});
  table.items.push_back(
      {.name = "parameters and their addresses", .where = host, .bytes = sizeof(word_write) * self.words});
  if (self.where.on_host() || !self.prepared) return table;
  const std::string gpu = name_of(self.where);
  table.items.push_back({.name = "partial sums and tickets", .where = gpu, .bytes = self.step_memory});
  table.items.push_back({.name = "flag of loops and branches", .where = host + ", pinned", .bytes = sizeof(int)});
  if (self.running_on == executor::graph)
    table.items.push_back({.name = "instantiated graph", .where = gpu, .bytes = self.graph, .estimated = true});
  return table;
}

}  // namespace whilst
