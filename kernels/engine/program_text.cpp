#include <cstdio>

#include "kernels/engine/program_view.hpp"

/// The text forms of a program: readable text, Graphviz, JSON.

namespace whilst {
namespace {

/// The node counts of a graph of these operations, without the bodies of its loops.
struct node_counts {
  index_type kernels = 0, loops = 0, branches = 0, selects = 0, calls = 0;
};
void count_nodes(const std::vector<operation>& operations, node_counts& counts, bool in_loops) {
  for (const operation& op : operations) {
    counts.kernels += op.what == operation::kind::step;
    counts.calls += op.what == operation::kind::call;
    counts.loops += op.what == operation::kind::loop;
    counts.branches += op.what == operation::kind::branch;
    counts.selects += op.what == operation::kind::select;
    if (op.what == operation::kind::branch || in_loops) count_nodes(op.body, counts, in_loops);
    for (const std::vector<operation>& body : op.bodies) count_nodes(body, counts, in_loops);
  }
}

std::string describe(const program_node& node) {
  std::string text = node.title();
  if (node.what == program_node::kind::call && node.options.scratch_only) text += " (scratch only)";
  if (node.what != program_node::kind::step) return text;
  if (node.step->count()) text += " over " + std::to_string(node.step->count());
  return text + (node.step->facts().has_finish ? ", with a finish" : "");
}

void explain_nodes(std::string& text, const std::vector<program_node>& nodes, int depth, int unroll) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const program_node& node : nodes) {
    text += indent + describe(node);
    if (node.what == program_node::kind::loop) {
      text += can_unroll(node) ? ", " + std::to_string(unroll) + " a trip" : ", 1 a trip";
      if (!node.start.empty()) {
        text += "\n" + indent + "  start:\n";
        explain_nodes(text, node.start, depth + 2, unroll);
        text += indent + "  body:\n";
        explain_nodes(text, node.body, depth + 2, unroll);
        continue;
      }
    }
    text += "\n";
    explain_nodes(text, node.body, depth + 1, unroll);
    for (std::size_t k = 0; k < node.bodies.size(); ++k) {
      const bool is_else = node.has_else && k == 1;
      text += indent + "  " + (node.has_else ? (is_else ? "else" : "then") : "body " + std::to_string(k)) + ":\n";
      explain_nodes(text, node.bodies[k], depth + 2, unroll);
    }
  }
}

std::string counted(const std::vector<operation>& operations, bool is_graph, bool in_loops = false) {
  node_counts counts;
  count_nodes(operations, counts, in_loops);
  std::string text;
  const auto add = [&](index_type count, const char* one, const char* many) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (count == 1 ? one : many);
  };
  add(counts.kernels, "kernel", "kernels");
  add(counts.loops, is_graph ? "WHILE node" : "loop", is_graph ? "WHILE nodes" : "loops");
  add(counts.branches, is_graph ? "IF node" : "branch", is_graph ? "IF nodes" : "branches");
  add(counts.selects, "select", "selects");
  add(counts.calls, "call", "calls");
  return text.empty() ? "nothing" : text;
}

void explain_trips(std::string& text, const std::vector<operation>& operations, bool is_graph) {
  for (const operation& op : operations) {
    if (op.what == operation::kind::loop)
      text += "loop '" + op.node->name + "': " + counted(op.body, is_graph) + " a trip\n";
    explain_trips(text, op.body, is_graph);
    for (const std::vector<operation>& body : op.bodies) explain_trips(text, body, is_graph);
  }
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Adds the nodes of a list in a chain; returns the last one's identifier.
std::string dot_nodes(std::string& text, const std::vector<program_node>& nodes, std::string before, int& next) {
  for (const program_node& node : nodes) {
    const std::string id = "n" + std::to_string(next++);
    const bool holds = !node.body.empty();
    const char* shape = node.what == program_node::kind::loop                                                ? "diamond"
                        : node.what == program_node::kind::branch || node.what == program_node::kind::select ? "hexagon"
                        : node.what == program_node::kind::call ? "component"
                                                                : "box";
    text += "  " + id + " [shape=" + shape + ", label=" + quoted(node.name) + "];\n";
    std::string previous = dot_nodes(text, node.start, before, next);
    if (!previous.empty()) text += "  " + previous + " -> " + id + ";\n";
    if (holds) {
      const std::string last = dot_nodes(text, node.body, id, next);
      if (node.what == program_node::kind::loop) text += "  " + last + " -> " + id + " [style=dashed];\n";
    }
    std::vector<std::string> ends;
    for (const std::vector<program_node>& list : node.bodies) ends.push_back(dot_nodes(text, list, id, next));
    if (!ends.empty()) {
      const std::string meeting = "n" + std::to_string(next++);
      text += "  " + meeting + " [shape=point];\n";
      for (const std::string& end : ends) text += "  " + end + " -> " + meeting + ";\n";
      before = meeting;
      continue;
    }
    before = id;
  }
  return before;
}

/// A string of JSON.
std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + "\"";
}
std::string json_counts(const std::vector<operation>& operations, bool in_loops = false) {
  node_counts counts;
  count_nodes(operations, counts, in_loops);
  return "{\"kernels\":" + std::to_string(counts.kernels) + ",\"loops\":" + std::to_string(counts.loops) +
         ",\"branches\":" + std::to_string(counts.branches) + ",\"selects\":" + std::to_string(counts.selects) +
         ",\"calls\":" + std::to_string(counts.calls) + "}";
}

/// The operation that a node became; null if none. A loop always becomes one.
const operation* find_operation(const std::vector<operation>& operations, const program_node& node) {
  for (const operation& op : operations) {
    if (op.node == &node && op.what == operation::kind::loop) return &op;
    if (const operation* const found = find_operation(op.body, node)) return found;
    for (const std::vector<operation>& body : op.bodies)
      if (const operation* const found = find_operation(body, node)) return found;
  }
  return nullptr;
}

std::string json_nodes(const program_view& program, const std::vector<program_node>& nodes) {
  std::string text;
  for (const program_node& node : nodes) {
    text += text.empty() ? "" : ",";
    switch (node.what) {
      case program_node::kind::step:
        text += "{\"kind\":\"step\",\"name\":" + json_string(node.name) +
                ",\"count\":" + std::to_string(node.step->count()) +
                ",\"finish\":" + (node.step->facts().has_finish ? "true" : "false");
        if (const auto bytes = node.step->bytes()) text += ",\"bytes\":" + std::to_string(*bytes);
        break;
      case program_node::kind::call:
        text += "{\"kind\":\"call\",\"name\":" + json_string(node.name) +
                ",\"scratch_only\":" + (node.options.scratch_only ? "true" : "false");
        break;
      case program_node::kind::loop:
        text += "{\"kind\":\"loop\",\"name\":" + json_string(node.name) +
                ",\"iterations_a_trip\":" + std::to_string(can_unroll(node) ? program.unroll : 1);
        if (program.prepared) {
          const operation* const lowered = find_operation(program.lowered.operations, node);
          if (lowered) text += ",\"a_trip\":" + json_counts(lowered->body);
        }
        text +=
            ",\"start\":[" + json_nodes(program, node.start) + "],\"body\":[" + json_nodes(program, node.body) + "]";
        break;
      case program_node::kind::branch:
        text += "{\"kind\":\"branch\",\"name\":" + json_string(node.name) + ",\"body\":[" +
                json_nodes(program, node.body) + "]";
        break;
      case program_node::kind::select:
      case program_node::kind::parallel: {
        const char* const kind = node.what == program_node::kind::parallel ? "parallel" : "select";
        text += std::string("{\"kind\":\"") + kind + "\",\"name\":" + json_string(node.name) +
                (node.what == program_node::kind::select
                     ? std::string(",\"has_else\":") + (node.has_else ? "true" : "false")
                     : "") +
                ",\"bodies\":[";
        for (std::size_t k = 0; k < node.bodies.size(); ++k)
          text += (k > 0 ? ",[" : "[") + json_nodes(program, node.bodies[k]) + "]";
        text += "]";
        break;
      }
    }
    text += "}";
  }
  return text;
}

}  // namespace

std::string title(const operation& op) {
  if (!op.node) return "(arm, open, publish)";
  return op.runs_sequel ? op.node->name + "; " + (op.node + 1)->name : op.node->name;
}

std::string program_node::title() const {
  constexpr const char* kinds[] = {"step", "call", "loop", "branch", "select", "parallel"};
  return (has_else ? "branch" : kinds[static_cast<int>(what)]) + (" '" + name + "'");
}

void visit_nodes(const std::vector<program_node>& nodes,
                 const std::function<void(const program_node& node, const std::string& loops)>& visit,
                 const std::string& loops) {
  for (const program_node& node : nodes) {
    visit(node, loops);
    const bool is_loop = node.what == program_node::kind::loop;
    const std::string inside = !is_loop ? loops : loops.empty() ? node.name : loops + " > " + node.name;
    node.each_list([&](const std::vector<program_node>& list) { visit_nodes(list, visit, inside); });
  }
}

std::string program::explain() const {
  const program_view self = view();
  std::string text = "program on " + name_of(self.where) +
                     (self.prepared ? ", executor " + std::string(name(self.running_on)) : ", not prepared") + ", " +
                     std::to_string(self.words) + " words of parameters\n";
  explain_nodes(text, self.nodes, 1, self.unroll);
  if (!self.prepared) return text;
  const std::vector<operation>& operations = self.lowered.operations;
  const bool is_graph = self.running_on == executor::graph;
  explain_trips(text, operations, is_graph);
  text += "outside loops: " + counted(operations, is_graph) + "\n";
  text += "in all: " + counted(operations, is_graph, /*in_loops=*/true) + "\n";
  return text;
}

std::string program::dot() const {
  std::string text = "digraph program {\n  node [fontname=\"sans-serif\"];\n";
  int next = 0;
  dot_nodes(text, view().nodes, "", next);
  return text + "}\n";
}

std::string program::json() const {
  const program_view self = view();
  std::string text = "{\"place\":" + json_string(name_of(self.where)) +
                     ",\"prepared\":" + (self.prepared ? "true" : "false") +
                     ",\"parameter_words\":" + std::to_string(self.words);
  if (self.prepared)
    text += ",\"executor\":" + json_string(std::string(name(self.running_on))) + ",\"note\":" + json_string(self.note) +
            ",\"outside_loops\":" + json_counts(self.lowered.operations) +
            ",\"in_all\":" + json_counts(self.lowered.operations, /*in_loops=*/true);
  return text + ",\"nodes\":[" + json_nodes(self, self.nodes) + "]}";
}

}  // namespace whilst
