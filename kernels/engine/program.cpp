#include "whilst/engine/program.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/engine/program_implementation.hpp"
#include "kernels/engine/program_view.hpp"
#include "whilst/engine/memory/pointer_check.hpp"

namespace whilst {

namespace {

constexpr int longest_unrolled_body = 256;
constexpr index_type small_step = index_type{1} << 20;

bool holds_call(const std::vector<program_node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const program_node& node) {
    bool found = node.what == program_node::kind::call;
    node.each_list([&](const std::vector<program_node>& list) { found = found || holds_call(list); });
    return found;
  });
}

}  // namespace

void visit_steps(const std::vector<program_node>& nodes, const std::function<void(const program_node&)>& visit) {
  for (const program_node& node : nodes) {
    if (node.step) visit(node);
    node.each_list([&](const std::vector<program_node>& list) { visit_steps(list, visit); });
  }
}

int program::implementation::choose_unroll() const {
  if (settings.unroll > 0) return settings.unroll;
  if (running_on != executor::graph) return 1;
  index_type largest = 0;
  int steps = 0;
  visit_steps(nodes, [&](const program_node& node) {
    largest = std::max(largest, node.step->count());
    ++steps;
  });
  // Calls are not guarded against a verdict earlier in the trip if they write scratch only: keep that waste small.
  const int wanted = std::min(settings.usual_unroll, holds_call(nodes) ? 2 : largest <= small_step ? 16 : 4);
  return std::max(1, std::min(wanted, longest_unrolled_body / std::max(1, steps)));
}

void program::implementation::give_up_step_memory() {
#if WHILST_WITH_CUDA
  if (where.on_host()) return;
  // Set aside before anything can fail: prepare() must allocate new memory even then.
  outgrown.push_back(std::exchange(step_memory, {}));
  if (was_captured) return;
  wait();
  outgrown.pop_back();
#endif
}

void program::implementation::update([[maybe_unused]] const recorded_step& step) {
#if WHILST_WITH_CUDA
  if (running_on != executor::graph) return;
  cuda::device_guard current(where.device());
  require_life("updating a step");
  whole.graph.update(step);
  for (const auto& [node, rest] : resumed) rest.graph.update(step);
#endif
}

void program::implementation::prepare_on_host() {
  running_on = executor::host;
  unroll = choose_unroll();
  whole = {};
  resumed.clear();
  resources_of = [](const recorded_step&) { return step_resources{}; };
  make_form(whole, {});
}

void program::implementation::make_form(form& made, std::optional<std::size_t> yielded) {
  lowering_options options{
      .unroll = unroll, .host_threads = settings.threads, .resources = resources_of, .publisher = publisher.get()};
  if (yielded) {
    made.reopener = make_reopener(nodes[*yielded].loop);
    options.first = *yielded;
    options.reopener = made.reopener.get();
  }
  made.lowered = lower(nodes, options);
#if WHILST_WITH_CUDA
  if (!where.on_host()) finish_form(made);
#endif
}

void program::implementation::enqueue_on_host(const form& what) {
  for (const word_write& word : values.words()) word.write();
  try {
    run_on_host(what.lowered.operations, run_one_on_host, listener);
  } catch (...) {
    stop_loops_on_host();
    throw;
  }
}

void program::implementation::stop_loops_on_host() {
  visit_nodes(nodes, [](const program_node& node, const std::string&) {
    if (node.what == program_node::kind::loop) std::atomic_ref(node.loop->running).store(0, std::memory_order_relaxed);
  });
}

std::optional<std::size_t> program::implementation::yielded_loop() const {
  for (std::size_t k = 0; k < nodes.size(); ++k)
    if (nodes[k].what == program_node::kind::loop && copy_of(*nodes[k].loop, where).why == reason::yielded) return k;
  return {};
}

void program::implementation::run_each_on_host(const operation_runner& run) {
  for (const word_write& word : values.words()) word.write();
  const auto nothing = [](const recorded_step&) { return step_resources{}; };
  const lowering_options options{
      .unroll = 1, .host_threads = settings.threads, .resources = nothing, .publisher = publisher.get()};
  try {
    run_on_host(lower(nodes, options).operations, run);
  } catch (...) {
    stop_loops_on_host();
    throw;
  }
}

std::size_t program::implementation::step_memory_bytes() const {
#if WHILST_WITH_CUDA
  return step_memory.bytes();
#else
  return 0;
#endif
}

program::program(place where, std::vector<program_node> nodes, launch_values values)
    : implementation_("program", std::make_unique<implementation>(where, std::move(nodes), std::move(values))) {}

program::~program() = default;
program::program(program&&) noexcept = default;
program& program::operator=(program&&) noexcept = default;

launch_values& program::values() { return implementation_->values; }
place program::where() const { return implementation_->where; }
executor program::running_on() const { return implementation_->running_on; }
const std::string& program::note() const { return implementation_->note; }

index_type program::device_bytes() const {
#if WHILST_WITH_CUDA
  std::size_t bytes = implementation_->step_memory.bytes() + implementation_->graph_memory;
  for (const memory_item& item : implementation_->memory)
    if (item.kept == lifetime::owned && !implementation_->where.on_host()) bytes += item.bytes;
  return static_cast<index_type>(bytes);
#else
  return 0;
#endif
}

turns::turn program::enter(std::string_view doing) const { return implementation_->taken.enter(doing); }
turns::turn program::take_turn() const { return implementation_->taken.take(); }
turns::run program::call_back() const { return turns::run(implementation_->taken); }

void program::prepare(const run_settings& settings) {
  implementation& self = *implementation_;
  const turns::turn mine = enter("preparing a program");
  const turns::run now(self.taken);
  check_host_threads("preparing a program", settings.threads);
  self.prepared = false;
  self.settings = settings;
  if (self.where.on_host()) {
    if (settings.how != executor::host)
      throw error("preparing a program",
                  "it was recorded for the host, and executor " + std::string(name(settings.how)) + " runs on a GPU",
                  "Record it on place::gpu(device)");
    self.prepare_on_host();
    self.prepared = true;
    return;
  }
#if WHILST_WITH_CUDA
  if (settings.how != executor::stream && settings.how != executor::graph)
    throw error("preparing a program",
                "it was recorded for a GPU, where executor " + std::string(name(settings.how)) + " cannot run it",
                "Use stream or graph");
  self.prepare_on_gpu();
  self.prepared = true;
#endif
}

void program::check_pointer(const void* pointer) const {
  require_usable("binding a slot", where(), {{"the pointer", pointer}}, {implementation_->settings.check_pointers});
}

void program::check_handle(std::uint64_t owner) const { implementation_->values.check_owner(owner, "updating a step"); }

void program::renew(const recorded_step& step, const recorded_step* sequel, bool same_shape) {
  implementation& self = *implementation_;
  const bool was_prepared = std::exchange(self.prepared, false);  // stays false if something fails here
  if (!same_shape) self.give_up_step_memory();
  if (!was_prepared) return;
  if (same_shape) {
    self.update(step);
    if (sequel) self.update(*sequel);
    self.prepared = true;
  } else {
    prepare(run_settings(self.settings));
  }
}

void program::enqueue([[maybe_unused]] CUstream_st* stream) {
  const turns::turn mine = enter("enqueueing a program");
  const turns::run now(implementation_->taken);
  if (!implementation_->prepared)
    throw error("enqueueing a program", "it is not prepared, or preparing it failed", "Call prepare() first");
  implementation_->values.check_slots();
  if (implementation_->where.on_host()) {
    implementation_->enqueue_on_host(implementation_->whole);
    return;
  }
#if WHILST_WITH_CUDA
  // Callbacks take a null stream for the host, so pass the default stream by its other name.
  implementation_->enqueue_on_gpu(stream ? stream : cudaStreamLegacy);
#endif
}

bool program::yielded() const {
  const turns::turn mine = enter("asking whether a loop has yielded");
  wait();
  return implementation_->yielded_loop().has_value();
}

void program::resume([[maybe_unused]] CUstream_st* stream) {
  implementation& self = *implementation_;
  const turns::turn mine = enter("resuming a program");
  const turns::run now(self.taken);
  if (!self.prepared)
    throw error("resuming a program", "it is not prepared, or preparing it failed", "Call prepare() and run it first");
  self.values.check_slots();
#if WHILST_WITH_CUDA
  std::optional<cuda::device_guard> current;
  if (!self.where.on_host()) {
    current.emplace(self.where.device());
    self.require_life("resuming a program");
    self.refuse_to_resume_in_capture(stream ? stream : cudaStreamLegacy);
  }
#endif
  wait();
  const std::optional<std::size_t> loop = self.yielded_loop();
  if (!loop)
    throw error("resuming a program",
                "none of the loops that are directly in it, in no other body, has yielded in its last run",
                "Ask yielded() first; a loop yields by loop_state::yield, and one around it must pass that on");
  if (!self.resumed.contains(*loop)) {
    implementation::form made;
    self.make_form(made, loop);
    self.resumed[*loop] = std::move(made);
  }
  implementation::form& rest = self.resumed[*loop];
  if (self.where.on_host()) {
    self.enqueue_on_host(rest);
    return;
  }
#if WHILST_WITH_CUDA
  self.resume_on_gpu(rest, stream ? stream : cudaStreamLegacy);
#endif
}

void program::run_each([[maybe_unused]] CUstream_st* stream, const operation_runner& run) {
  const turns::turn mine = enter("running a program step by step");
  const turns::run now(implementation_->taken);
  if (!implementation_->prepared)
    throw error("running a program step by step", "it is not prepared, or preparing it failed", "Call prepare() first");
  implementation_->values.check_slots();
  if (implementation_->where.on_host()) {
    implementation_->run_each_on_host(run);
    return;
  }
#if WHILST_WITH_CUDA
  implementation_->run_each_on_gpu(stream ? stream : cudaStreamLegacy, run);
#endif
}

void program::follow_run_before([[maybe_unused]] CUstream_st* stream) {
#if WHILST_WITH_CUDA
  if (where().on_host()) return;
  const turns::turn mine = take_turn();
  cuda::device_guard current(where().device());
  implementation_->follow_run_before(stream);
#endif
}

void program::wait() const {
#if WHILST_WITH_CUDA
  {
    // Others may enqueue while this waits for the runs enqueued so far.
    const turns::turn mine = take_turn();
    if (!implementation_->has_run) return;
  }
  implementation_->wait_for_last_run();
#endif
}

void program::tell_of_trips(const control* loop, std::function<void(const loop_state&)> tell) {
  implementation_->listener = {tell ? loop : nullptr, std::move(tell)};
}

void program::keep(std::vector<memory_item> items, std::shared_ptr<const void> memory) {
  implementation& self = *implementation_;
  self.memory.insert(self.memory.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  if (memory) self.kept.push_back(std::move(memory));
}

program_view program::view() const {
  const implementation& self = *implementation_;
  return {.where = self.where,
          .running_on = self.running_on,
          .prepared = self.prepared,
          .unroll = self.unroll,
          .note = self.note,
          .nodes = self.nodes,
          .lowered = self.whole.lowered,
          .words = self.values.words().size(),
          .memory = self.memory,
          .step_memory = self.step_memory_bytes(),
          .graph = self.graph_memory};
}

}  // namespace whilst
