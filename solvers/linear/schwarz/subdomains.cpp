#include "solvers/linear/schwarz/subdomains.hpp"

#include <algorithm>

namespace whilst::schwarz {
namespace {

constexpr std::int64_t longest_row = 1024;
/// Least weight of an edge that a layer follows. Across weaker ones there is little to be gained from an overlap, and
/// dense matrices grow with the square of it.
constexpr float strong = 0.1F;

/// Grows sets of nodes; a node is unknowns_a_node consecutive rows.
class set_grower {
 public:
  set_grower(const matrix_graph& graph, const growth& settings)
      : graph_(graph),
        settings_(settings),
        nodes_(static_cast<std::int32_t>(graph.rows() / settings.unknowns_a_node)),
        facts_(static_cast<std::size_t>(nodes_)) {}

  subdomains grow() {
    subdomains made;
    for (std::int32_t root = next_root(); root < nodes_; root = next_root()) {
      ++sets_;
      set_.clear();
      grow_own(root);
      const std::size_t own = set_.size();
      append(made, 0);
      for (int layer = 0; layer < settings_.overlap; ++layer) grow_layer();
      append(made, own);
      made.own.push_back(static_cast<int>(own) * settings_.unknowns_a_node);
      made.offsets.push_back(static_cast<std::int64_t>(made.rows.size()));
    }
    return made;
  }

 private:
  struct node_facts {
    std::uint32_t set = 0;   ///< the last one that has it
    std::uint32_t list = 0;  ///< the last list of neighbours that has it
    std::int32_t at = 0;     ///< where in that list
    bool is_owned = false;
  };
  struct neighbour {
    std::int32_t node;
    float weight;  ///< of all edges from the set to it
  };
  /// Nodes beside sets, some of which have been taken since.
  struct frontier {
    std::vector<std::int32_t> nodes;
    std::size_t next = 0;
  };
  node_facts& of(std::int32_t node) { return facts_[static_cast<std::size_t>(node)]; }

  /// One beside earlier sets, strongly joined if there are such, and the first of these found; else the least node.
  std::int32_t next_root() {
    for (frontier& beside : frontiers_)
      for (; beside.next < beside.nodes.size(); ++beside.next)
        if (!of(beside.nodes[beside.next]).is_owned) return beside.nodes[beside.next];
    while (least_ < nodes_ && of(least_).is_owned) ++least_;
    return least_;
  }

  void take(std::int32_t node) {
    of(node).set = sets_;
    set_.push_back(node);
  }
  void begin_list() {
    ++lists_;
    list_.clear();
  }
  /// Puts a node's neighbours outside of the set into the list: for a layer those that it is strongly joined to, else
  /// those that no set owns.
  void list_neighbours(std::int32_t node, bool for_layer) {
    const std::int32_t unknowns = settings_.unknowns_a_node;
    for (std::int32_t i = node * unknowns; i < (node + 1) * unknowns; ++i) {
      const std::int64_t begin = graph_.offsets[static_cast<std::size_t>(i)],
                         end = graph_.offsets[static_cast<std::size_t>(i) + 1];
      if (end - begin > longest_row) continue;
      for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
        const std::int32_t other = graph_.columns[e] / unknowns;
        node_facts& facts = of(other);
        if (facts.set == sets_ || (for_layer ? graph_.weights[e] < strong : facts.is_owned)) continue;
        if (facts.list != lists_) {
          facts.list = lists_;
          facts.at = static_cast<std::int32_t>(list_.size());
          list_.push_back({other, 0});
        }
        list_[static_cast<std::size_t>(facts.at)].weight += graph_.weights[e];
      }
    }
  }

  /// Of neighbours that are joined equally, the first one found is next.
  void grow_own(std::int32_t root) {
    begin_list();
    for (std::int32_t node = root; node >= 0; node = joined_most()) {
      take(node);
      of(node).is_owned = true;
      list_neighbours(node, false);
      if (static_cast<std::int32_t>(set_.size()) == settings_.rows / settings_.unknowns_a_node) break;
    }
    for (const neighbour& one : list_)
      if (!of(one.node).is_owned) frontiers_[one.weight < strong].nodes.push_back(one.node);
  }
  /// -1 if there is none.
  std::int32_t joined_most() {
    neighbour most{-1, -1};
    for (const neighbour& one : list_)
      if (one.weight > most.weight && !of(one.node).is_owned) most = one;
    return most.node;
  }
  /// Of neighbours that do not all fit, those that are joined most do.
  void grow_layer() {
    begin_list();
    for (std::size_t k = 0, inner = set_.size(); k < inner; ++k) list_neighbours(set_[k], true);
    std::stable_sort(list_.begin(), list_.end(),
                     [](const neighbour& one, const neighbour& other) { return one.weight > other.weight; });
    for (const neighbour& one : list_)
      if (static_cast<std::int32_t>(set_.size()) < settings_.most / settings_.unknowns_a_node) take(one.node);
  }

  /// The rows of the set's nodes from `first` on.
  void append(subdomains& made, std::size_t first) {
    std::sort(set_.begin() + static_cast<std::ptrdiff_t>(first), set_.end());
    for (std::size_t k = first; k < set_.size(); ++k)
      for (std::int32_t u = 0; u < settings_.unknowns_a_node; ++u)
        made.rows.push_back(set_[k] * settings_.unknowns_a_node + u);
  }

  const matrix_graph& graph_;
  growth settings_;
  std::int32_t nodes_;
  std::vector<node_facts> facts_;
  std::vector<std::int32_t> set_;
  std::vector<neighbour> list_;
  frontier frontiers_[2];   ///< strongly joined, and not
  std::int32_t least_ = 0;  ///< nodes below it are owned
  std::uint32_t sets_ = 0, lists_ = 0;
};

}  // namespace

subdomains grow_subdomains(const matrix_graph& graph, const growth& settings) {
  return set_grower(graph, settings).grow();
}

}  // namespace whilst::schwarz
