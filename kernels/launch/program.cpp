#include "kernels/launch/program.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "kernels/launch/device_parts.hpp"
#include "kernels/launch/doctor.hpp"
#include "kernels/launch/executors.hpp"
#include "kernels/launch/program_view.hpp"

namespace whilst {

namespace {

constexpr int longest_unrolled_body = 256;
constexpr index small_step = index{1} << 20;

void visit_steps(const std::vector<program_node>& nodes, const std::function<void(const program_node&)>& visit) {
  for (const program_node& node : nodes) {
    if (node.step) visit(node);
    node.each_list([&](const std::vector<program_node>& list) { visit_steps(list, visit); });
  }
}

bool holds_call(const std::vector<program_node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const program_node& node) {
    bool found = node.what == program_node::kind::call;
    node.each_list([&](const std::vector<program_node>& list) { found = found || holds_call(list); });
    return found;
  });
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
  std::function<step_resources(const recorded_step&)> resources_of;
  /// The nodes, or those from a loop on that yielded, in the form that runs.
  struct form {
    std::unique_ptr<recorded_step> reopener;
    lowered_program lowered;
#if WHILST_WITH_CUDA
    made_graph graph;
#endif
  };
  form whole;
  std::map<std::size_t, form> resumed;  ///< by the number of the loop's node
  bool prepared = false;
  std::vector<memory_item> memory;
  std::vector<std::shared_ptr<const void>> kept;
  std::size_t graph_memory = 0;

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
  std::map<const recorded_step*, step_resources> resources;
  shared_memory_block flag_on_host;
  std::vector<cuda::stream> body_streams;
  cuda::stream capture_stream;
  graph_means means{body_streams, false};
  cuda::event last_run;
  unsigned long long last_stream = 0;  ///< the number of the stream that it was recorded on; 0 where that is not known
  bool has_run = false, was_captured = false;

  const cuda::context_life& life() const { return last_run.get_deleter().life; }

  ~implementation() {
    // Nothing may be freed under a run in flight; an error here has been or will be reported by whoever waits.
    if (!has_run || life().ended()) return;
    const cuda::relaxed_capture_mode relaxed;
    cudaEventSynchronize(last_run.get());
  }

  void wait() const {
    if (!has_run) return;
    cuda::device_guard current(where.device());
    life().require("waiting for a program");
    WHILST_CUDA("waiting for a program", cudaEventSynchronize(last_run.get()));
  }

  void prepare_on_gpu() {
    require_life("preparing a program");
    cuda::device_guard current(where.device());
    const cuda::relaxed_capture_mode relaxed;
    wait();
    if (!was_captured) outgrown.clear();  // left there where the wait of give_up_step_memory failed
    load_write_words();
    whole = {};
    resumed.clear();
    graph_memory = 0;
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
    resources.clear();
    means.switch_nodes = !settings.emulate_select && cuda::switch_nodes();
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
    resources_of = [this](const recorded_step& step) {
      const auto found = resources.find(&step);
      // A step made later follows links only, as the publisher does, and never beside it.
      return found != resources.end() ? found->second : resources.at(publisher.get());
    };
    if (!flag_on_host.data()) flag_on_host = shared_memory_block(where, sizeof(int));
    if (!last_run) last_run = cuda::make_event();
    make_form(whole, {});
  }

  void set_delays(std::vector<operation>& operations) {
    for (operation& op : operations) {
      op.frame.delay_seed = settings.delay_seed;
      set_delays(op.body);
      for (std::vector<operation>& body : op.bodies) set_delays(body);
    }
  }

  void build_graph(form& made) {
    if (!capture_stream) capture_stream = cuda::make_stream();
    const std::size_t free_before = cuda::free_bytes();
    made.graph = make_graph(made.lowered, writes_its_parameters(made) ? values.words() : std::vector<word_write>(),
                            capture_stream.get(), means);
    WHILST_CUDA("uploading a program's graph", cudaGraphUpload(made.graph.exec.get(), capture_stream.get()));
    WHILST_CUDA("uploading a program's graph", cudaStreamSynchronize(capture_stream.get()));
    const std::size_t free_after = cuda::free_bytes();
    graph_memory += free_after > 0 && free_before > free_after ? free_before - free_after : 0;
  }

  void finish_form(form& made) {
    set_delays(made.lowered.operations);
    while (static_cast<int>(body_streams.size()) < made.lowered.depth) body_streams.push_back(cuda::make_stream());
    if (running_on == executor::graph) build_graph(made);
  }

  /// Whether the graph's first nodes write the parameters, and not a kernel before it. New arguments for a node cost
  /// the host less than a launch. A graph with conditional nodes stays as it was instantiated, launch for launch.
  bool writes_its_parameters(const form& made) const {
    return running_on == executor::graph && made.lowered.conditions == 0;
  }

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

  /// Throws whilst::error where the context that the program was prepared in is gone, and all it has with it.
  void require_life(const char* doing) const {
    if (last_run) life().require(doing);
  }

  void enqueue_on_gpu(cudaStream_t stream) {
    cuda::device_guard current(where.device());
    require_life("enqueueing a program");
    cudaStreamCaptureStatus capturing{};
    WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &capturing));
    if (capturing == cudaStreamCaptureStatusInvalidated)
      throw error("enqueueing a program into a stream's capture", "an earlier error has broken that capture",
                  "End it by cudaStreamEndCapture, and look at the status of each CUDA call before");
    if (capturing != cudaStreamCaptureStatusNone) {
      if (running_on == executor::stream && whole.lowered.conditions > 0)
        throw error("enqueueing a program into a stream's capture",
                    "a loop in a graph needs conditional nodes, and this program runs under stream" +
                        (note.empty() ? std::string() : " (" + note + ")"),
                    "Prepare it for executor graph, on a driver of version 12.4 or later");
      was_captured = true;
      write_words(stream, values.words());
      capture_into(whole.lowered, stream, means);
      return;
    }
    run_after_the_one_before(stream, [&] { launch(whole, stream); });
  }

  static void refuse_to_resume_in_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus capturing{};
    WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &capturing));
    if (capturing != cudaStreamCaptureStatusNone)
      throw error("resuming a program", "the stream is being captured, and only the host knows which loop has yielded",
                  "Resume on a stream that is not capturing");
  }

  void resume_on_gpu(form& rest, cudaStream_t stream) {
    run_after_the_one_before(stream, [&] { launch(rest, stream); });
  }

  template <class Launch>
  void run_after_the_one_before(cudaStream_t stream, const Launch& launch) {
    const unsigned long long number = number_of(stream);
    follow_run_before(stream, number);
    const auto mark = [&] {
      has_run = true;
      last_stream = number;
    };
    try {
      launch();
      WHILST_CUDA("marking the end of a run", cudaEventRecord(last_run.get(), stream));
    } catch (...) {
      // What was launched before the failure is still to be waited for.
      if (WHILST_CUDA_ATTEMPT(cudaEventRecord(last_run.get(), stream)) == cudaSuccess) mark();
      throw;
    }
    mark();
  }

  void run_each_on_gpu(cudaStream_t stream, const operation_runner& run) {
    require_life("running a program step by step");
    const cuda::device_guard current(where.device());
    require_no_capture(stream);
    const auto in_turn = [&](const recorded_step& step) {
      step_resources alone = resources.at(&step);
      alone.may_overlap = false;
      return alone;
    };
    lowered_program single = lower(nodes, {.unroll = 1, .resources = in_turn, .publisher = publisher.get()});
    set_delays(single.operations);
    run_after_the_one_before(stream, [&] {
      write_words(stream, values.words());
      run_on_stream(single.operations, stream, static_cast<int*>(flag_on_host.data()), run);
    });
    WHILST_CUDA("waiting for the end of a program run step by step", cudaStreamSynchronize(stream));
  }

  void launch(form& what, cudaStream_t stream) {
    if (writes_its_parameters(what)) {
      what.graph.set_words(values.words());
    } else {
      write_words(stream, values.words());
    }
    if (running_on == executor::graph) {
      WHILST_CUDA("launching a program's graph", cudaGraphLaunch(what.graph.exec.get(), stream));
      return;
    }
    run_on_stream(what.lowered.operations, stream, static_cast<int*>(flag_on_host.data()),
                  [&](const operation& op) { run_one_on_stream(op, stream); });
    // A loop that was decided on the host has been waited for all along; what follows it is, too. A program without one
    // (resident, batch) stays asynchronous.
    if (what.lowered.conditions > 0)
      WHILST_CUDA("waiting for the end of a program under stream", cudaStreamSynchronize(stream));
  }
#endif

  /// Steps are about to have other shapes: other partial sums and tickets elsewhere, which must be zero at first.
  void give_up_step_memory() {
#if WHILST_WITH_CUDA
    if (where.on_host()) return;
    // Out of the way before anything can fail: prepare() is to take new memory even then.
    outgrown.push_back(std::exchange(step_memory, {}));
    if (was_captured) return;
    wait();
    outgrown.pop_back();
#endif
  }

  /// The step's kernels in the prepared graph get the arguments of now; others read the step itself when they run.
  void update([[maybe_unused]] const recorded_step& step) {
#if WHILST_WITH_CUDA
    if (running_on != executor::graph) return;
    require_life("updating a step");
    cuda::device_guard current(where.device());
    whole.graph.update(step);
    for (const auto& [node, rest] : resumed) rest.graph.update(step);
#endif
  }

  void prepare_on_host() {
    running_on = executor::host;
    unroll = choose_unroll();
    whole = {};
    resumed.clear();
    resources_of = [](const recorded_step&) { return step_resources{}; };
    make_form(whole, {});
  }

  /// Lowers the nodes, or those from a loop on that yielded; for a graph, instantiates them.
  void make_form(form& made, std::optional<std::size_t> yielded) {
    lowering_options options{.unroll = unroll, .resources = resources_of, .publisher = publisher.get()};
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

  void enqueue_on_host(const form& what) {
    for (const word_write& word : values.words()) word.write();
    run_on_host(what.lowered.operations);
  }

  /// The first loop, of those that are in no other, that yielded in the last run.
  std::optional<std::size_t> yielded_loop() const {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (nodes[k].what == program_node::kind::loop && copy_of(*nodes[k].loop, where).why == reason::yielded) return k;
    return {};
  }

  void run_each_on_host(const operation_runner& run) {
    for (const word_write& word : values.words()) word.write();
    const auto nothing = [](const recorded_step&) { return step_resources{}; };
    run_on_host(lower(nodes, {.unroll = 1, .resources = nothing, .publisher = publisher.get()}).operations, run);
  }

  std::size_t step_memory_bytes() const {
#if WHILST_WITH_CUDA
    return step_memory.bytes();
#else
    return 0;
#endif
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

index program::device_bytes() const {
#if WHILST_WITH_CUDA
  std::size_t bytes = implementation_->step_memory.bytes() + implementation_->graph_memory;
  for (const memory_item& item : implementation_->memory)
    if (item.kept == lifetime::owned && !implementation_->where.on_host()) bytes += item.bytes;
  return static_cast<index>(bytes);
#else
  return 0;
#endif
}

void program::prepare(const run_settings& settings) {
  implementation& self = *implementation_;
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

void program::check_pointer(const void* pointer) {
  if (!pointer) throw error("binding a slot", "the pointer is null", "Give memory of the program's place");
}

void program::check_handle(std::uint64_t owner) const { implementation_->values.check_owner(owner, "updating a step"); }

void program::renew(const recorded_step& step, const recorded_step* sequel, bool same_shape) {
  implementation& self = *implementation_;
  const bool was_prepared = std::exchange(self.prepared, false);  // nor is it if something fails here
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
  if (!implementation_->prepared)
    throw error("enqueueing a program", "it is not prepared, or preparing it failed", "Call prepare() first");
  implementation_->values.check_slots();
  if (implementation_->where.on_host()) {
    implementation_->enqueue_on_host(implementation_->whole);
    return;
  }
#if WHILST_WITH_CUDA
  // Callbacks take a null stream for the host, so the default stream goes by its other name.
  implementation_->enqueue_on_gpu(stream ? stream : cudaStreamLegacy);
#endif
}

bool program::yielded() const {
  wait();
  return implementation_->yielded_loop().has_value();
}

void program::resume([[maybe_unused]] CUstream_st* stream) {
  implementation& self = *implementation_;
  if (!self.prepared)
    throw error("resuming a program", "it is not prepared, or preparing it failed", "Call prepare() and run it first");
  self.values.check_slots();
#if WHILST_WITH_CUDA
  std::optional<cuda::device_guard> current;
  if (!self.where.on_host()) {
    current.emplace(self.where.device());
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
  cuda::device_guard current(where().device());
  implementation_->follow_run_before(stream);
#endif
}

void program::wait() const {
#if WHILST_WITH_CUDA
  implementation_->wait();
#endif
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
