#include "whilst/engine/recorder.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine/device_parts.hpp"
#include "kernels/engine/memory/copies.hpp"
#include "whilst/engine/group_decisions.hpp"

namespace whilst {

namespace {

program_node begun(program_node::kind what, const char* name) {
  require_name("a node of a program", name);
  return {.what = what, .name = name};
}

bool has_finish(const std::vector<program_node>& list) {
  for (const program_node& node : list)
    if (node.step && node.step->facts().has_finish) return true;
  return false;
}

}  // namespace

recorder::recorder(place where) : where_(where), values_(where) {}
recorder::~recorder() = default;

void recorder::check_step(const char* name, bool is_null, bool takes_loop) {
  writes_.clear();
  require_name("a node of a program", name);
  const std::string doing = "recording step '" + std::string(name) + "'";
  if (is_null) throw error(doing, "a pointer to a function is null", "Give a function");
  if (!takes_loop) return;
  if (!in_loop_)
    throw error(doing, "its finish takes the state of a loop, and it is in none", "Record it within run.loop");
  if (parallel_)
    throw error(doing,
                "its finish takes the state of the loop around parallel '" + std::string(parallel_) +
                    "', and so may the steps beside it",
                "Record it after the parallel bodies, or give the body a loop of its own");
  if (const auto* group = detail::group_decisions::of(*this)) group->check_verdict(doing);
}

void recorder::add_step(recorded_step* taken) {
  std::unique_ptr<recorded_step> step(taken);
  program_node node{.what = program_node::kind::step, .name = step->name()};
  node.step = std::move(step);
  if (auto* group = detail::group_decisions::of(*this); group && !group->is_step_of_group)
    group->note_of_rank(node.name, writes_);
  node.writes = std::exchange(writes_, {});
  current_->push_back(std::move(node));
}

void recorder::call(const char* name, call_function function, call_options options) {
  program_node node = begun(program_node::kind::call, name);
  if (!function) throw error("recording " + node.title(), "the function is empty", "Give what enqueues the work");
  if (options.needs_stream && where_.on_host())
    throw error("recording call '" + node.name + "'", "it needs a stream, and the host has none",
                "Record it on place::gpu(device), or leave it out of what is recorded for the host");
  node.call = std::move(function);
  node.writes = options.writes;
  node.options = options;
  current_->push_back(std::move(node));
}

void recorder::add_loop(const char* name, control* c, const body_reference& start, const body_reference& body) {
  program_node node = begun(program_node::kind::loop, name);
  require_usable("recording " + node.title(), where_, {{"the control", c}});
  node.loop = c;
  const detail::restored<bool> outer_in_loop(in_loop_, true);
  const detail::restored<const char*> outer_parallel(parallel_, nullptr);
  bool no_group = false;
  auto* const group = detail::group_decisions::of(*this);
  const detail::restored<bool> outer_of_group(group ? group->is_in_loop_of_group : no_group, false);
  record_into(node, node.start, start);
  const auto counted = [&](recorder& run) {
    body(run);
    // Iterations must be counted: a body without a finish gets one.
    if (has_finish(node.body)) return;
    writes_.clear();
    add_step(make_iteration_counter().release());
  };
  record_into(node, node.body, body_reference(counted));
  current_->push_back(std::move(node));
}

void recorder::add_branch(const char* name, const int* flag, const body_reference& body) {
  program_node node = begun(program_node::kind::branch, name);
  require_usable("recording " + node.title(), where_, {{"the flag", flag}});
  node.flag = flag;
  record_into(node, node.body, body);
  current_->push_back(std::move(node));
}

void recorder::add_select(const char* name, const int* flag, bool has_else, body_references bodies) {
  program_node node = begun(program_node::kind::select, name);
  node.has_else = has_else;
  require_usable("recording " + node.title(), where_, {{has_else ? "the flag" : "the choice", flag}});
  node.flag = flag;
  node.bodies.resize(bodies.size());
  std::size_t k = 0;
  for (const body_reference& body : bodies) record_into(node, node.bodies[k++], body);
  current_->push_back(std::move(node));
}

void recorder::add_parallel(const char* name, body_references bodies) {
  program_node node = begun(program_node::kind::parallel, name);
  node.bodies.resize(bodies.size());
  {
    const detail::restored<const char*> outer(parallel_, name);
    std::size_t k = 0;
    for (const body_reference& body : bodies) record_into(node, node.bodies[k++], body);
  }
  refuse_shared_writes(node);
  current_->push_back(std::move(node));
}

void recorder::record_into(const program_node& node, std::vector<program_node>& list, const body_reference& body) {
  const recorded_body named(node.title());
  const detail::restored<std::vector<program_node>*> outer(current_, &list);
  body(*this);
}

program_recorder::program_recorder(place where) : recorder(where) {}
program_recorder::~program_recorder() = default;

void program_recorder::check_arena() const {
  recorded_body::refuse("taking a program's arena");
  if (has_arena_)
    throw error("taking a program's arena", "it has one already", "Lay out all of it together, in one call");
}

std::shared_ptr<void> program_recorder::memory_for(const arena_layout& measured) const {
  const auto bytes = static_cast<std::size_t>(measured.used());
  if (void* const room = find_room_ ? find_room_(bytes) : nullptr) {
    set_to_zero(where_, room, bytes);
    return {room, [](void*) {}};
  }
  const auto owned = std::make_shared<raw_buffer>(where_, bytes);
  return {owned, owned->data()};
}

void program_recorder::keep_arena(const arena_layout& measured, const arena_layout& placed,
                                  std::shared_ptr<const void> memory) {
  if (placed.used() != measured.used())
    throw error("taking a program's arena",
                "its layout took " + std::to_string(measured.used()) + " bytes when it was measured, and " +
                    std::to_string(placed.used()) + " when it was placed",
                "Take the same pieces in both calls");
  memory_.push_back({itemised(measured, where_), std::move(memory)});
  has_arena_ = true;
}

void program_recorder::check_buffer(const char* name, std::optional<place> of) const {
  require_name("memory that a program uses", name);
  const std::string doing = "declaring memory '" + std::string(name) + "'";
  if (!of) throw error(doing, "the pointer is null", "Give a buffer");
  if (*of != where_)
    throw error(doing, "it is on " + name_of(*of) + ", and the program on " + name_of(where_), "Make the buffer there");
}

void program_recorder::uses(const char* name, const void* address, std::size_t bytes) {
  add(name, address, bytes, lifetime::borrowed, nullptr);
}

void program_recorder::add(const char* name, const void* address, std::size_t bytes, lifetime how,
                           std::shared_ptr<const void> memory) {
  require_name("memory that a program uses", name);
  const memory_item item{.name = name, .where = name_of(where_), .bytes = bytes, .address = address, .kept = how};
  memory_.push_back({{item}, std::move(memory)});
}

program program_recorder::finish() && {
  if (std::exchange(is_spent_, true))
    throw error("finishing a program", "its recorder has given it already", "Record another with a new recorder");
  program made(where_, std::move(nodes_), std::move(values_));
  for (auto& [items, memory] : memory_) made.keep(std::move(items), std::move(memory));
  return made;
}

}  // namespace whilst
