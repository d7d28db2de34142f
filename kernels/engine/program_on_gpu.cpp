#include "kernels/engine/program_implementation.hpp"

#if WHILST_WITH_CUDA

#include <algorithm>
#include <utility>

#include "kernels/engine/doctor.hpp"
#include "kernels/engine/memory/copies.hpp"
#include "kernels/engine/memory/spare_buffers.hpp"

/// Prepares, enqueues, resumes and waits for a program on a GPU.

namespace whilst {

program::implementation::~implementation() {
  // Nothing may be freed under a run in flight; an error here has been or will be reported to whoever waits.
  if (has_run && !life().ended()) {
    const cuda::relaxed_capture_mode relaxed;
    if (cudaEventSynchronize(last_run.get()) != cudaSuccess) return;
  }
  // Not what a graph refers to, though that should be gone by now.
  if (!was_captured && !may_run_unmarked) leave_spare(std::move(step_memory));
}

void program::implementation::wait() const {
  if (has_run) wait_for_last_run();
}

void program::implementation::wait_for_last_run() const {
  cuda::device_guard current(where.device());
  life().require_alive("waiting for a program");  // this works for events of any context
  WHILST_CUDA("waiting for a program", cudaEventSynchronize(last_run.get()));
}

void program::implementation::prepare_on_gpu() {
  cuda::device_guard current(where.device());
  require_life("preparing a program");
  const cuda::relaxed_capture_mode relaxed;
  wait();
  if (!was_captured) outgrown.clear();  // not empty if the wait in give_up_step_memory failed
  load_write_words(values.words());
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
  const device_traits device = traits_of_current(where.device());

  // Partial sums and tickets: one piece per step.
  resources.clear();
  means.switch_nodes = !settings.emulate_select && cuda::switch_nodes();
  for (const bool measuring : {true, false}) {
    workspace memory(measuring ? nullptr : step_memory.data());
    const auto provide = [&](const recorded_step& step) {
      step_resources& made = resources[&step];
      if (measuring) {
        made.shape = step.shape(device);
        step.load(device, made.shape);
        made.may_overlap = settings.programmatic_launch && step.waits_for_previous(device, made.shape);
      }
      made.ticket = memory.take<unsigned>(1);
      std::size_t sums = step.facts().bytes_of_sums * made.shape.blocks;
      if (made.shape.form == step_form::sums) sums = aligned_for_wish(sums) + sizeof(outside_wish);
      made.partials = memory.take<std::byte>(static_cast<index_type>(sums));
    };
    provide(*publisher);
    visit_steps(nodes, [&](const program_node& node) { provide(*node.step); });
    // Kept once allocated: a graph that captured the program refers to it.
    if (measuring && step_memory.bytes() == 0) {
      step_memory = take_spare(where, static_cast<std::size_t>(memory.used()));
      is_step_memory_unset = true;
    }
  }
  resources_of = [this](const recorded_step& step) {
    const auto found = resources.find(&step);
    // A step made later only follows links, as the publisher does, and never runs beside it.
    return found != resources.end() ? found->second : resources.at(publisher.get());
  };
  if (!flag_on_host.data()) flag_on_host = shared_memory_block(where, sizeof(int));
  if (!last_run) last_run = cuda::make_event();
  if (is_step_memory_unset) {  // as if by a run, so that nobody waits for it here
    begin_zeroing(where, step_memory.data(), step_memory.bytes(), last_run.get());
    last_stream = 0;
    has_run = is_being_zeroed = true;
    is_step_memory_unset = false;
  }
  make_form(whole, {});
}

void program::implementation::set_delays(std::vector<operation>& operations) {
  for (operation& op : operations) {
    op.frame.delay_seed = settings.delay_seed;
    set_delays(op.body);
    for (std::vector<operation>& body : op.bodies) set_delays(body);
  }
}

/// An upper bound for any graph of these operations: a larger drop in the device's free memory is another process's
/// doing.
static std::size_t most_graph_memory(const std::vector<operation>& operations) {
  constexpr std::size_t once = 32 << 20, each = 256 << 10;
  std::size_t most = once;
  for (const operation& op : operations) {
    most += each;
    if (!op.body.empty()) most += most_graph_memory(op.body);
    for (const std::vector<operation>& body : op.bodies) most += most_graph_memory(body);
  }
  return most;
}

void program::implementation::build_graph(form& made) {
  if (!capture_stream) capture_stream = cuda::make_stream();
  const std::size_t free_before = cuda::free_bytes();
  made.graph = make_graph(made.lowered, writes_its_parameters(made) ? values.words() : std::vector<word_write>(),
                          capture_stream.get(), means);
  WHILST_CUDA("uploading a program's graph", cudaGraphUpload(made.graph.exec.get(), capture_stream.get()));
  WHILST_CUDA("uploading a program's graph", cudaStreamSynchronize(capture_stream.get()));
  const std::size_t free_after = cuda::free_bytes();
  const std::size_t taken = free_after > 0 && free_before > free_after ? free_before - free_after : 0;
  graph_memory += std::min(taken, most_graph_memory(made.lowered.operations));
}

void program::implementation::finish_form(form& made) {
  set_delays(made.lowered.operations);
  while (static_cast<int>(body_streams.size()) < made.lowered.depth) body_streams.push_back(cuda::make_stream());
  if (running_on == executor::graph) build_graph(made);
}

bool program::implementation::writes_its_parameters(const form& made) const {
  return running_on == executor::graph && made.lowered.conditions == 0;
}

unsigned long long program::implementation::number_of(cudaStream_t stream) {
  unsigned long long number = 0;
  // The per-thread default stream is a different stream in each thread, under one handle.
  if (stream == cudaStreamPerThread) return 0;
  return WHILST_CUDA_ATTEMPT(cudaStreamGetId(stream, &number)) == cudaSuccess ? number : 0;
}

void program::implementation::follow_run_before(cudaStream_t stream, unsigned long long number) {
  if (has_run && number && number == last_stream) return;  // a stream follows itself
  require_own_stream(stream);
  if (has_run) WHILST_CUDA("waiting for the run before", cudaStreamWaitEvent(stream, last_run.get(), 0));
}

void program::implementation::require_life(const char* doing) const {
  if (last_run) life().require(doing);
}

/// Before anything is launched there: the runtime may have a kernel run on the stream's GPU, where it faults. Not of a
/// stream that is capturing, whose capture the question breaks.
void program::implementation::require_own_stream([[maybe_unused]] cudaStream_t stream) const {
#if CUDART_VERSION >= 12080
  int device = where.device();
  if (WHILST_CUDA_ATTEMPT(cudaStreamGetDevice(stream, &device)) != cudaSuccess || device == where.device()) return;
  throw error("running a program",
              "the stream is of " + name_of(place::gpu(device)) + ", and the program is on " + name_of(where),
              "Give a stream of the GPU that the solver or program is on");
#endif
}

void program::implementation::enqueue_on_gpu(cudaStream_t stream) {
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
    if (is_being_zeroed) {  // what launches that graph does not know of it
      const cuda::relaxed_capture_mode relaxed;
      wait_for_last_run();
      is_being_zeroed = false;
    }
    write_words(stream, values.words());
    capture_into(whole.lowered, stream, means);
    return;
  }
  run_after_the_one_before(stream, [&] { launch(whole, stream); });
}

void program::implementation::refuse_to_resume_in_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus capturing{};
  WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &capturing));
  if (capturing != cudaStreamCaptureStatusNone)
    throw error("resuming a program", "the stream is being captured, and only the host knows which loop has yielded",
                "Resume on a stream that is not capturing");
}

void program::implementation::resume_on_gpu(form& rest, cudaStream_t stream) {
  run_after_the_one_before(stream, [&] { launch(rest, stream); });
}

template <class Launch>
void program::implementation::run_after_the_one_before(cudaStream_t stream, const Launch& launch) {
  const unsigned long long number = number_of(stream);
  follow_run_before(stream, number);
  const auto mark = [&] {
    has_run = true;
    last_stream = number;
    is_being_zeroed = false;
  };
  try {
    launch();
    WHILST_CUDA("marking the end of a run", cudaEventRecord(last_run.get(), stream));
  } catch (...) {
    // Work launched before the failure must still be waited for.
    if (WHILST_CUDA_ATTEMPT(cudaEventRecord(last_run.get(), stream)) == cudaSuccess) {
      mark();
    } else {
      may_run_unmarked = true;
    }
    throw;
  }
  mark();
}

void program::implementation::run_each_on_gpu(cudaStream_t stream, const operation_runner& run) {
  const cuda::device_guard current(where.device());
  require_life("running a program step by step");
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

void program::implementation::launch(form& what, cudaStream_t stream) {
  if (writes_its_parameters(what)) {
    what.graph.set_words(values.words());
  } else {
    write_words(stream, values.words());
  }
  if (running_on == executor::graph) {
    WHILST_CUDA("launching a program's graph", cudaGraphLaunch(what.graph.exec.get(), stream));
    return;
  }
  run_on_stream(
      what.lowered.operations, stream, static_cast<int*>(flag_on_host.data()),
      [&](const operation& op) { run_one_on_stream(op, stream); }, listener);
  // A loop decided on the host is waited for at every trip; so is what follows it. A program without one (resident,
  // batch) stays asynchronous.
  if (what.lowered.conditions > 0)
    WHILST_CUDA("waiting for the end of a program under stream", cudaStreamSynchronize(stream));
}

}  // namespace whilst

#endif
