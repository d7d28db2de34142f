#include "kernels/launch/program.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/launch/device_parts.hpp"
#include "kernels/launch/executors.hpp"

namespace whilst {

namespace {

constexpr int longest_unrolled_body = 256;
constexpr index small_step = index{1} << 20;

void visit_steps(const std::vector<program_node>& nodes, const std::function<void(const program_node&)>& visit) {
  for (const program_node& node : nodes) {
    if (node.step) visit(node);
    visit_steps(node.start, visit);
    visit_steps(node.body, visit);
  }
}

bool holds_call(const std::vector<program_node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const program_node& node) {
    return node.what == program_node::kind::call || holds_call(node.start) || holds_call(node.body);
  });
}

/// What a graph of these operations is made of, not counting what the bodies of its loops hold.
struct node_counts {
  index kernels = 0, loops = 0, branches = 0, calls = 0;
};
void count_nodes(const std::vector<operation>& operations, node_counts& counts, bool in_loops) {
  for (const operation& op : operations) {
    counts.kernels += op.what == operation::kind::step;
    counts.calls += op.what == operation::kind::call;
    counts.loops += op.what == operation::kind::loop;
    counts.branches += op.what == operation::kind::branch;
    if (op.what == operation::kind::branch || in_loops) count_nodes(op.body, counts, in_loops);
  }
}

}  // namespace

struct program::implementation {
  place where;
  std::vector<program_node> nodes;
  launch_values values;
  std::unique_ptr<recorded_step> publisher = make_publisher();
  run_settings settings;
  executor running_on = executor::host;
  std::string note;
  int unroll = 1;
  lowered_program lowered;
  bool prepared = false;

  implementation(place p, std::vector<program_node> recorded, launch_values declared)
      : where(p), nodes(std::move(recorded)), values(std::move(declared)) {}

  /// Iterations a trip: enough to make the trip's own cost small beside the steps', not more.
  int choose_unroll() const {
    if (settings.unroll > 0) return settings.unroll;
    if (running_on != executor::graph) return 1;
    index largest = 0;
    int steps = 0;
    visit_steps(nodes, [&](const program_node& node) {
      largest = std::max(largest, node.step->count());
      ++steps;
    });
    // Calls are not guarded against a verdict earlier in the trip if they write scratch only: keep that waste small.
    const int wanted = holds_call(nodes) ? 2 : largest <= small_step ? 16 : 4;
    return std::max(1, std::min(wanted, longest_unrolled_body / std::max(1, steps)));
  }

#if WHILST_WITH_CUDA
  raw_buffer step_memory;
  std::vector<raw_buffer> outgrown;  ///< step memory of former shapes, where a caller's graph may refer to it
  shared_memory_block flag_on_host;
  std::vector<cuda::stream> body_streams;
  cuda::stream capture_stream;
  made_graph graph;
  cuda::event last_run;
  unsigned long long last_stream = 0;  ///< the number of the stream that it was recorded on; 0 where that is not known
  bool has_run = false, was_captured = false;

  ~implementation() {
    // Nothing may be freed under a run in flight; an error here has been or will be reported by whoever waits.
    if (!has_run) return;
    const cuda::relaxed_capture_mode relaxed;
    cudaEventSynchronize(last_run.get());
  }

  void wait() const {
    if (!has_run) return;
    cuda::device_guard current(where.device());
    WHILST_CUDA("waiting for a program", cudaEventSynchronize(last_run.get()));
  }

  void prepare_on_gpu() {
    cuda::device_guard current(where.device());
    const cuda::relaxed_capture_mode relaxed;
    wait();
    load_write_words();
    graph = {};
    running_on = settings.how;
    note.clear();
    if (running_on == executor::graph) {
      if (const auto answer = cuda::conditional_nodes(where.device()); !answer.work) {
        running_on = executor::stream;
        note = "ran under stream instead of graph: " + answer.note;
      }
    }
    unroll = choose_unroll();
    const device_traits& device = traits_of_device(where.device());

    // Partial sums and tickets: one piece a step.
    std::map<const recorded_step*, step_resources> resources;
    for (const bool measuring : {true, false}) {
      workspace memory(measuring ? nullptr : step_memory.data());
      const auto provide = [&](const recorded_step& step) {
        step_resources& made = resources[&step];
        if (measuring) {
          made.shape = step.shape(device);
          made.may_overlap = settings.programmatic_launch && step.waits_for_previous(device);
        }
        made.ticket = memory.take<unsigned>(1);
        made.partials = memory.take<std::byte>(static_cast<index>(step.partial_bytes() * made.shape.blocks));
      };
      provide(*publisher);
      visit_steps(nodes, [&](const program_node& node) { provide(*node.step); });
      // Kept once made: a graph that captured the program refers to it.
      if (measuring && step_memory.bytes() == 0)
        step_memory = raw_buffer(where, static_cast<std::size_t>(memory.used()));
    }
    lowered = lower(nodes, {.unroll = unroll,
                            .resources = [&](const recorded_step& step) { return resources.at(&step); },
                            .publisher = publisher.get()});
    set_delays(lowered.operations);
    while (static_cast<int>(body_streams.size()) < lowered.depth) body_streams.push_back(cuda::make_stream());
    if (!flag_on_host.data()) flag_on_host = shared_memory_block(where, sizeof(int));
    if (!last_run) last_run = cuda::make_event();
    if (running_on == executor::graph) build_graph();
  }

  void set_delays(std::vector<operation>& operations) {
    for (operation& op : operations) {
      op.frame.delay_seed = settings.delay_seed;
      set_delays(op.body);
    }
  }

  void build_graph() {
    if (!capture_stream) capture_stream = cuda::make_stream();
    graph = make_graph(lowered, writes_its_parameters() ? values.words() : std::vector<word_write>(),
                       capture_stream.get(), body_streams);
    WHILST_CUDA("uploading a program's graph", cudaGraphUpload(graph.exec.get(), capture_stream.get()));
    WHILST_CUDA("uploading a program's graph", cudaStreamSynchronize(capture_stream.get()));
  }

  /// Whether the graph's first nodes write the parameters, and not a kernel before it. New arguments for a node cost
  /// the host less than a launch. A graph with conditional nodes stays as it was instantiated, launch for launch.
  bool writes_its_parameters() const { return running_on == executor::graph && lowered.conditions == 0; }

  /// Tells streams apart, also one from another that had its handle before; 0 where that cannot be told.
  static unsigned long long number_of(cudaStream_t stream) {
    unsigned long long number = 0;
    // The default stream of a thread is another one in each thread, under one handle.
    if (stream == cudaStreamPerThread) return 0;
    return WHILST_CUDA_ATTEMPT(cudaStreamGetId(stream, &number)) == cudaSuccess ? number : 0;
  }

  void follow_run_before(cudaStream_t stream) { follow_run_before(stream, number_of(stream)); }
  void follow_run_before(cudaStream_t stream, unsigned long long number) {
    if (!has_run || (number && number == last_stream)) return;  // a stream follows itself
    WHILST_CUDA("waiting for the run before", cudaStreamWaitEvent(stream, last_run.get(), 0));
  }

  void enqueue_on_gpu(cudaStream_t stream) {
    cuda::device_guard current(where.device());
    cudaStreamCaptureStatus capturing{};
    WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone) {
      if (running_on == executor::stream && lowered.conditions > 0)
        throw error("enqueueing a program into a stream's capture",
                    "a loop in a graph needs conditional nodes, and this program runs under stream" +
                        (note.empty() ? std::string() : " (" + note + ")"),
                    "prepare it for executor graph, on a driver of version 12.4 or later");
      was_captured = true;
      write_words(stream, values.words());
      capture_into(lowered, stream, body_streams);
      return;
    }
    const unsigned long long number = number_of(stream);
    follow_run_before(stream, number);
    const auto mark = [&] {
      has_run = true;
      last_stream = number;
    };
    try {
      launch(stream);
      WHILST_CUDA("marking the end of a run", cudaEventRecord(last_run.get(), stream));
    } catch (...) {
      // What was launched before the failure is still to be waited for.
      if (WHILST_CUDA_ATTEMPT(cudaEventRecord(last_run.get(), stream)) == cudaSuccess) mark();
      throw;
    }
    mark();
  }

  void launch(cudaStream_t stream) {
    if (writes_its_parameters()) {
      graph.set_words(values.words());
    } else {
      write_words(stream, values.words());
    }
    if (running_on == executor::graph) {
      WHILST_CUDA("launching a program's graph", cudaGraphLaunch(graph.exec.get(), stream));
      return;
    }
    run_on_stream(lowered.operations, stream, static_cast<int*>(flag_on_host.data()));
    // A loop that was decided on the host has been waited for all along; what follows it is, too. A program without one
    // (resident, batch) stays asynchronous.
    if (lowered.conditions > 0)
      WHILST_CUDA("waiting for the end of a program under stream", cudaStreamSynchronize(stream));
  }
#endif

  /// Steps are about to have other shapes: other partial sums and tickets elsewhere, which must be zero at first.
  void give_up_step_memory() {
#if WHILST_WITH_CUDA
    if (where.on_host()) return;
    if (was_captured) {
      outgrown.push_back(std::move(step_memory));
    } else {
      wait();
    }
    step_memory = {};
#endif
  }

  /// The step's kernels in the prepared graph get the arguments of now; others read the step itself when they run.
  void update([[maybe_unused]] const recorded_step& step) {
#if WHILST_WITH_CUDA
    if (running_on != executor::graph) return;
    cuda::device_guard current(where.device());
    graph.update(step);
#endif
  }

  void prepare_on_host() {
    running_on = executor::host;
    unroll = choose_unroll();
    lowered = lower(nodes, {.unroll = unroll,
                            .resources = [](const recorded_step&) { return step_resources{}; },
                            .publisher = publisher.get()});
  }

  void enqueue_on_host() {
    for (const word_write& word : values.words()) word.write();
    run_on_host(lowered.operations);
  }
};

program::program(place where, std::vector<program_node> nodes, launch_values values)
    : implementation_(std::make_unique<implementation>(where, std::move(nodes), std::move(values))) {}

program::~program() = default;
program::program(program&&) noexcept = default;
program& program::operator=(program&&) noexcept = default;

launch_values& program::values() { return implementation_->values; }
place program::where() const { return implementation_->where; }
executor program::running_on() const { return implementation_->running_on; }
const std::string& program::note() const { return implementation_->note; }

void program::prepare(const run_settings& settings) {
  implementation& self = *implementation_;
  self.prepared = false;
  self.settings = settings;
  if (self.where.on_host()) {
    if (settings.how != executor::host)
      throw error("preparing a program",
                  "it was recorded for the host, and executor " + std::string(name(settings.how)) + " runs on a GPU",
                  "record it on place::gpu(device)");
    self.prepare_on_host();
    self.prepared = true;
    return;
  }
#if WHILST_WITH_CUDA
  if (settings.how != executor::stream && settings.how != executor::graph)
    throw error("preparing a program",
                "it was recorded for a GPU, where executor " + std::string(name(settings.how)) + " cannot run it",
                "use stream or graph");
  self.prepare_on_gpu();
  self.prepared = true;
#endif
}

void program::check_pointer(const void* pointer) {
  if (!pointer) throw error("binding a slot", "the pointer is null", "Give memory of the program's place");
}

void program::check_handle(std::uint64_t owner) const { implementation_->values.check_owner(owner, "updating a step"); }

void program::renew(const recorded_step& step, const recorded_step* sequel, bool same_shape) {
  implementation& self = *implementation_;
  if (!same_shape) self.give_up_step_memory();
  if (!std::exchange(self.prepared, false)) return;
  if (same_shape) {
    self.update(step);
    if (sequel) self.update(*sequel);
    self.prepared = true;
  } else {
    prepare(run_settings(self.settings));
  }
}

void program::enqueue([[maybe_unused]] CUstream_st* stream) {
  if (!implementation_->prepared)
    throw error("enqueueing a program", "it is not prepared, or preparing it failed", "Call prepare() first");
  implementation_->values.check_slots();
  if (implementation_->where.on_host()) {
    implementation_->enqueue_on_host();
    return;
  }
#if WHILST_WITH_CUDA
  // Callbacks take a null stream for the host, so the default stream goes by its other name.
  implementation_->enqueue_on_gpu(stream ? stream : cudaStreamLegacy);
#endif
}

void program::follow_run_before([[maybe_unused]] CUstream_st* stream) {
#if WHILST_WITH_CUDA
  if (where().on_host()) return;
  cuda::device_guard current(where().device());
  implementation_->follow_run_before(stream);
#endif
}

void program::wait() const {
#if WHILST_WITH_CUDA
  implementation_->wait();
#endif
}

namespace {

std::string describe(const program_node& node) {
  switch (node.what) {
    case program_node::kind::step:
      return "step '" + node.name + "'" + (node.step->count() ? " over " + std::to_string(node.step->count()) : "") +
             (node.step->has_finish() ? ", with a finish" : "");
    case program_node::kind::call:
      return "call '" + node.name + "'" + (node.options.scratch_only ? " (scratch only)" : "");
    case program_node::kind::loop:
      return "loop '" + node.name + "'";
    case program_node::kind::branch:
      return "branch '" + node.name + "'";
  }
  return {};
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
  }
}

std::string counted(const std::vector<operation>& operations, bool is_graph, bool in_loops = false) {
  node_counts counts;
  count_nodes(operations, counts, in_loops);
  std::string text;
  const auto add = [&](index count, const char* one, const char* many) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (count == 1 ? one : many);
  };
  add(counts.kernels, "kernel", "kernels");
  add(counts.loops, is_graph ? "WHILE node" : "loop", is_graph ? "WHILE nodes" : "loops");
  add(counts.branches, is_graph ? "IF node" : "branch", is_graph ? "IF nodes" : "branches");
  add(counts.calls, "call", "calls");
  return text.empty() ? "nothing" : text;
}

void explain_trips(std::string& text, const std::vector<operation>& operations, bool is_graph) {
  for (const operation& op : operations) {
    if (op.what == operation::kind::loop)
      text += "loop '" + op.node->name + "': " + counted(op.body, is_graph) + " a trip\n";
    explain_trips(text, op.body, is_graph);
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
    const char* shape = node.what == program_node::kind::loop     ? "diamond"
                        : node.what == program_node::kind::branch ? "hexagon"
                        : node.what == program_node::kind::call   ? "component"
                                                                  : "box";
    text += "  " + id + " [shape=" + shape + ", label=" + quoted(node.name) + "];\n";
    std::string previous = dot_nodes(text, node.start, before, next);
    if (!previous.empty()) text += "  " + previous + " -> " + id + ";\n";
    if (holds) {
      const std::string last = dot_nodes(text, node.body, id, next);
      if (node.what == program_node::kind::loop) text += "  " + last + " -> " + id + " [style=dashed];\n";
    }
    before = id;
  }
  return before;
}

}  // namespace

std::string program::explain() const {
  std::string text = "program on " + (where().on_host() ? "the host" : "GPU " + std::to_string(where().device())) +
                     (implementation_->prepared ? ", executor " + std::string(name(running_on())) : ", not prepared") +
                     ", " + std::to_string(implementation_->values.words().size()) + " words of parameters\n";
  explain_nodes(text, implementation_->nodes, 1, implementation_->unroll);
  if (!implementation_->prepared) return text;
  const std::vector<operation>& operations = implementation_->lowered.operations;
  const bool is_graph = running_on() == executor::graph;
  explain_trips(text, operations, is_graph);
  text += "outside loops: " + counted(operations, is_graph) + "\n";
  text += "in all: " + counted(operations, is_graph, /*in_loops=*/true) + "\n";
  return text;
}

std::string program::dot() const {
  std::string text = "digraph program {\n  node [fontname=\"sans-serif\"];\n";
  int next = 0;
  dot_nodes(text, implementation_->nodes, "", next);
  return text + "}\n";
}

}  // namespace whilst
