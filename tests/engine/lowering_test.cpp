#include "kernels/engine/lowering.hpp"

#include <string>

#include "tests/catch.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::operation;
using whilst::program_node;

namespace {

struct handed_over {
  double value;
};
struct reads_own {
  template <class Team>
  double read_own(index_type, const Team&) const {
    return 0;
  }
  template <class Team, class Fetched>
  double read(index_type, const Team&, const Fetched&, double own) const {
    return own;
  }
  auto operator()(index_type, double own) const { return whilst::sums{own}; }
};
struct finish {
  handed_over* handed;
  void operator()(const whilst::sums<double, 1>&, whilst::loop_state&) const {}
};
struct sequel {
  const handed_over* handed;
  void operator()(index_type) const {}
};
struct fetches_nothing {
  void operator()(index_type) const {}
};
struct fetches_results {
  template <class Team>
  double fetch(index_type, const Team&) const {
    return 0;
  }
  void operator()(index_type, double) const {}
};
struct follows_links {
  void operator()() const {}
};

template <class... Parts>
program_node step(const char* name, const Parts&... parts) {
  program_node node{.what = program_node::kind::step, .name = name};
  node.step = std::make_unique<whilst::map_step<Parts...>>(name, 9000, parts...);
  return node;
}

/// The body of a loop as it runs, three iterations a trip. s: a step that is split; n: one that fetches nothing, and so
/// may start early; r: one that fetches results; b: n in a branch.
std::vector<operation> lowered(const std::string& text, std::vector<program_node>& nodes) {
  static whilst::control loop;
  static const int flag = 1;
  nodes.resize(1);
  nodes[0].what = program_node::kind::loop;
  nodes[0].loop = &loop;
  std::vector<program_node>& body = nodes[0].body;
  for (const char what : text) {
    if (what == 's') {
      body.push_back(step("split", reads_own{}, finish{}, sequel{}));
      body.push_back(step("sequel", sequel{}, whilst::no_finish{}));
    } else if (what == 'n') {
      body.push_back(step("fetches nothing", fetches_nothing{}, whilst::no_finish{}));
    } else if (what == 'r') {
      body.push_back(step("fetches results", fetches_results{}, whilst::no_finish{}));
    } else {
      program_node branch{.what = program_node::kind::branch, .name = "branch"};
      branch.flag = &flag;
      branch.body.push_back(step("fetches nothing", fetches_nothing{}, whilst::no_finish{}));
      body.push_back(std::move(branch));
    }
  }
  static whilst::map_step<whilst::detail::no_map, follows_links> publisher("publisher", 0, {}, {});
  const auto resources = [](const whilst::recorded_step& of) {
    whilst::step_resources made;
    made.may_overlap = true;
    if (of.facts().has_sequel) made.shape.form = whilst::step_form::sums;
    return made;
  };
  const auto all = whilst::lower(nodes, {.unroll = 3, .resources = resources, .publisher = &publisher});
  return all.operations.back().body;
}

bool leaves_sums(const operation& op) {
  return op.what == operation::kind::step && op.shape.form == whilst::step_form::sums;
}

/// Whether the operation after this one starts only once all before this one is complete.
bool holds_back_next(const std::vector<operation>& body, std::size_t k) {
  return body[k].what != operation::kind::step || !body[k + 1].overlaps || !body[k].frame.next_may_start_early;
}

}  // namespace

TEST_CASE("a split step is two kernels, of which the first one reads ahead only what is complete", "[lowering]") {
  for (const std::string text : {"s", "sn", "ns", "snn", "nns", "nsn", "sr", "srn", "snr", "ss", "snsn", "sb", "sbn"}) {
    INFO(text);
    std::vector<program_node> nodes;
    const std::vector<operation> body = lowered(text, nodes);
    std::size_t split = 0;
    for (std::size_t first = 0; first < body.size(); ++first) {
      if (!leaves_sums(body[first])) continue;
      ++split;
      REQUIRE(first + 1 < body.size());
      CHECK(body[first + 1].step == body[first].step);
      CHECK(body[first + 1].shape.form == whilst::step_form::finish_sequel);
      CHECK(body[first + 1].node->name == "sequel");
      CHECK(body[first].frame.guard_only_falls);
      // Its next run.
      std::size_t next = first + 1;
      while (next < body.size() && !(leaves_sums(body[next]) && body[next].step == body[first].step)) ++next;
      if (next == body.size()) continue;
      bool is_over = false;
      for (std::size_t k = first + 1; k < next; ++k) is_over = is_over || holds_back_next(body, k);
      CHECK(is_over);
    }
    CHECK(split == 3 * static_cast<std::size_t>(std::count(text.begin(), text.end(), 's')));
  }
}

TEST_CASE("one of the kernels between two runs of a split step waits for what is before it, the others need not",
          "[lowering]") {
  const auto early = [](const std::string& text) {
    std::vector<program_node> nodes;
    std::string flags;
    for (const operation& op : lowered(text, nodes)) flags += op.frame.next_may_start_early ? '1' : '0';
    return flags;
  };
  // Flags of a trip's kernels: whether the next one may start early. The sums and the finish of s have one each.
  CHECK(early("n") == "110");
  CHECK(early("r") == "000");
  CHECK(early("s") == "101010");
  CHECK(early("nns") == "011101110110");
  CHECK(early("rs") == "110110110");
}

}  // namespace whilst_test
