#include "kernels/engine/lowering.hpp"

#include <algorithm>

namespace whilst {
namespace {

bool holds_loop(const std::vector<program_node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const program_node& node) {
    bool found = node.what == program_node::kind::loop;
    node.each_list([&](const std::vector<program_node>& list) { found = found || holds_loop(list); });
    return found;
  });
}

/// A call that follows a finish in the same loop must not run after that finish's verdict, unless it is scratch only.
bool holds_guarded_call(const std::vector<program_node>& nodes, bool& finish_seen) {
  for (const program_node& node : nodes) {
    if (node.what == program_node::kind::call && finish_seen && !node.options.scratch_only) return true;
    if (node.step && node.step->facts().has_finish) finish_seen = true;
    bool found = false;
    if (node.what != program_node::kind::loop)  // a loop cannot be unrolled anyway
      node.each_list(
          [&](const std::vector<program_node>& list) { found = found || holds_guarded_call(list, finish_seen); });
    if (found) return true;
  }
  return false;
}

using node_list = std::vector<const program_node*>;

node_list pointers(const std::vector<program_node>& nodes, int copies = 1) {
  node_list list;
  for (int copy = 0; copy < copies; ++copy)
    for (const program_node& node : nodes) list.push_back(&node);
  return list;
}

class lowering {
 public:
  explicit lowering(const lowering_options& options) : options_(options) {}

  /// The context of the nodes of one body.
  struct surroundings {
    control* loop = nullptr;
    const control* root = nullptr;
    int loop_condition = 0;
    bool finish_seen = false;                   ///< a verdict may precede the current node in this loop
    const program_node* last_finish = nullptr;  ///< the body's last finish counts the trip
    bool in_body = false;                       ///< of the loop, which is armed and open: not in its start
    int depth = 0;
    /// Parallel to other steps of the same loop: guarded by it but unable to decide on it, since unordered threads must
    /// not set the same condition.
    bool in_parallel = false;

    control* loop_of_links() const { return in_parallel ? nullptr : loop; }
  };

  void lower_nodes(std::vector<operation>& target, const node_list& nodes, surroundings& around) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const program_node& node = *nodes[k];
      switch (node.what) {
        case program_node::kind::step:
          add_step(target, node, around);
          if (node.step->facts().has_sequel && target.back().shape.form != step_form::large) {
            target.back().runs_sequel = target.back().shape.form == step_form::small;
            ++k;
            if (!target.back().runs_sequel) {
              keep_own_writes_older(target);
              add_finish(target, *nodes[k]);
            }
          }
          break;
        case program_node::kind::loop:
          add_loop(target, node, around);
          break;
        case program_node::kind::branch:
          add_branch(target, node, node.flag, around);
          break;
        case program_node::kind::select:
          add_select(target, node, around);
          break;
        case program_node::kind::parallel:
          add_parallel(target, node, around);
          break;
        case program_node::kind::call: {
          if (!(around.loop && around.finish_seen && !node.options.scratch_only)) {
            target.push_back({.what = operation::kind::call, .node = &node});
            break;
          }
          // Adjacent calls share the branch that holds them back.
          operation& branch = open_branch(target, node, &around.loop->running, around);
          for (; k < nodes.size() && nodes[k]->what == program_node::kind::call; ++k)
            branch.body.push_back({.what = operation::kind::call, .node = nodes[k]});
          --k;
          break;
        }
      }
    }
  }

  /// The list, starting at a loop that yielded.
  void resume_nodes(const std::vector<program_node>& nodes) {
    std::vector<operation>& target = result.operations;
    const program_node& yielded = nodes.at(options_.first);
    surroundings top;
    surroundings inside = within(yielded, top);
    operation& opener = append_step(target, nullptr, options_.reopener, top);
    add_trips(target, yielded, opener, inside);
    top.finish_seen = true;
    node_list rest = pointers(nodes);
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(options_.first) + 1);
    lower_nodes(target, rest, top);
  }

  lowered_program result;

 private:
  /// The step that can follow links: the last one, if it ends with its finish and lies in the same loop, otherwise a
  /// new one that does only this.
  operation& publisher(std::vector<operation>& target, const surroundings& around, bool any_loop = false) {
    if (!target.empty()) {
      operation& last = target.back();
      if (last.what == operation::kind::step && last.step->facts().has_finish && !last.step->facts().has_sequel &&
          (any_loop || last.frame.links.loop == around.loop_of_links())) {
        return last;
      }
    }
    return append_step(target, nullptr, options_.publisher, around);
  }

  operation& append_step(std::vector<operation>& target, const program_node* node, recorded_step* step,
                         const surroundings& around) {
    const bool after_step = !target.empty() && target.back().what == operation::kind::step;
    operation made{.what = operation::kind::step, .node = node, .step = step, .host_threads = options_.host_threads};
    const step_resources resources = options_.resources(*step);
    made.frame.partials = resources.partials;
    made.frame.ticket = resources.ticket;
    made.shape = resources.shape;
    made.overlaps = after_step && resources.may_overlap;
    if (made.overlaps) target.back().frame.next_may_start_early = step->facts().fetches_only_constants;
    if (around.loop) made.frame.guard = &around.loop->running;
    made.frame.guard_only_falls = around.in_body;
    made.frame.links.loop = around.loop_of_links();
    made.frame.links.root = around.root;
    made.loop_condition = around.in_parallel ? 0 : around.loop_condition;
    target.push_back(std::move(made));
    return target.back();
  }

  void add_step(std::vector<operation>& target, const program_node& node, surroundings& around) {
    operation& made = append_step(target, &node, node.step.get(), around);
    made.frame.links.counts_trip = &node == around.last_finish;
    if (node.step->facts().has_finish) around.finish_seen = true;
  }

  /// A step whose kernel only leaves sums may read ahead what its own map wrote, so its last run must be over. Hence at
  /// least one kernel in between starts only when everything before it is complete.
  static void keep_own_writes_older(std::vector<operation>& target) {
    const std::size_t count = target.size();
    if (count < 2 || !target.back().step->facts().reads_own_ahead) return;
    operation& before = target[count - 2];
    if (before.step == target.back().step) {
      before.frame.next_may_start_early = false;
    } else if (count >= 3 && before.frame.next_may_start_early) {
      target[count - 3].frame.next_may_start_early = false;
    }
  }

  /// For a step whose kernel only leaves sums: adds the kernel of its finish and sequel.
  void add_finish(std::vector<operation>& target, const program_node& sequel) {
    operation made = target.back();
    made.node = &sequel;
    made.shape.form = step_form::finish_sequel;
    made.overlaps = options_.resources(*made.step).may_overlap;
    if (made.overlaps) target.back().frame.next_may_start_early = sequel.step->facts().fetches_only_constants;
    target.push_back(std::move(made));
  }

  void add_loop(std::vector<operation>& target, const program_node& node, surroundings& around) {
    publisher(target, around).frame.links.arms = node.loop;
    surroundings inside = within(node, around);
    lower_nodes(target, pointers(node.start), inside);
    add_trips(target, node, publisher(target, inside, /*any_loop=*/true), inside);
    around.finish_seen = true;  // each loop has finishes, and a finish may stop any loop around it
  }

  static surroundings within(const program_node& loop, const surroundings& around) {
    return {.loop = loop.loop,
            .root = around.root ? around.root : loop.loop,
            .finish_seen = around.finish_seen,
            .depth = around.depth + 1};
  }

  /// The loop without what precedes its first trip; `opener` opens it.
  void add_trips(std::vector<operation>& target, const program_node& node, operation& opener, surroundings& inside) {
    operation made{.what = operation::kind::loop, .node = &node};
    made.condition = ++result.conditions;
    made.loop = node.loop;
    opener.frame.links.opens = node.loop;
    opener.opens_condition = made.condition;
    inside.loop_condition = made.condition;
    inside.finish_seen = false;
    inside.in_body = true;
    for (const program_node& inner : node.body)
      if (inner.step && inner.step->facts().has_finish) inside.last_finish = &inner;
    const int copies = can_unroll(node) ? std::max(1, options_.unroll) : 1;
    lower_nodes(made.body, pointers(node.body, copies), inside);
    target.push_back(std::move(made));
    result.depth = std::max(result.depth, inside.depth);
  }

  operation& open_branch(std::vector<operation>& target, const program_node& node, const int* flag,
                         const surroundings& around) {
    const int condition = ++result.conditions;
    operation& before = publisher(target, around);
    before.frame.links.branch = flag;
    before.branch_condition = condition;
    operation made{.what = operation::kind::branch, .node = &node};
    made.condition = condition;
    made.flag = flag;
    made.guard = around.loop ? &around.loop->running : nullptr;
    target.push_back(std::move(made));
    result.depth = std::max(result.depth, around.depth + 1);
    return target.back();
  }

  void add_branch(std::vector<operation>& target, const program_node& node, const int* flag, surroundings& around) {
    std::vector<operation>& body = open_branch(target, node, flag, around).body;
    surroundings inside = around;
    inside.depth = around.depth + 1;
    lower_nodes(body, pointers(node.body), inside);
    around.finish_seen = inside.finish_seen;
  }

  void add_select(std::vector<operation>& target, const program_node& node, surroundings& around) {
    operation made{.what = operation::kind::select, .node = &node};
    made.condition = result.conditions + 1;
    result.conditions += static_cast<int>(node.bodies.size());
    made.flag = node.flag;
    made.guard = around.loop ? &around.loop->running : nullptr;
    add_bodies(made, node, around, around.depth + 1);
    result.depth = std::max(result.depth, around.depth + 1);
    target.push_back(std::move(made));
  }

  void add_parallel(std::vector<operation>& target, const program_node& node, surroundings& around) {
    operation made{.what = operation::kind::parallel, .node = &node};
    surroundings beside = around;
    beside.in_parallel = true;
    add_bodies(made, node, beside, around.depth);
    around.finish_seen = beside.finish_seen;
    target.push_back(std::move(made));
  }

  void add_bodies(operation& made, const program_node& node, surroundings& around, int depth) {
    const surroundings before = around;
    for (const std::vector<program_node>& list : node.bodies) {
      surroundings inside = before;
      inside.depth = depth;
      lower_nodes(made.bodies.emplace_back(), pointers(list), inside);
      around.finish_seen = around.finish_seen || inside.finish_seen;
    }
  }

  const lowering_options& options_;
};

}  // namespace

bool can_unroll(const program_node& loop) {
  bool finish_seen = false;
  // Twice: a call at the head of the second copy follows the finishes of the first.
  return !holds_loop(loop.body) && !holds_guarded_call(loop.body, finish_seen) &&
         !holds_guarded_call(loop.body, finish_seen);
}

lowered_program lower(const std::vector<program_node>& nodes, const lowering_options& options) {
  lowering work(options);
  if (options.reopener) {
    work.resume_nodes(nodes);
  } else {
    lowering::surroundings top;
    work.lower_nodes(work.result.operations, pointers(nodes), top);
  }
  return std::move(work.result);
}

}  // namespace whilst
