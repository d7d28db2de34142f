#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/engine/executor.hpp"
#include "whilst/engine/launch_values.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/memory/memory_table.hpp"
#include "whilst/engine/program_profile.hpp"
#include "whilst/engine/steps/step.hpp"
#include "whilst/engine/strict_check.hpp"
#include "whilst/engine/turns.hpp"

namespace whilst {

/// Work that a library or a user enqueues; on the host the stream is null. For a graph it is called when the program is
/// prepared or captured, never when it runs: once to test whether a graph can hold it, then once per copy. The first
/// resume of a loop and an update that changes a step's shape also prepare.
using call_function = std::function<void(CUstream_st* stream)>;

struct call_options {
  /// Nobody reads what the call writes once the loop has stopped, so it may run after a verdict.
  bool scratch_only = false;
  /// The call needs a stream: recording it for the host, whose stream is null, is refused.
  bool needs_stream = false;
  /// What the call declares to write: see recorder::parallel.
  std::vector<memory_range> writes{};
};

struct operation;
/// Runs one step or call of a program.
using operation_runner = std::function<void(const operation&)>;
struct program_view;

/// A node of a program: a step, a call, a loop, a branch, a choice among bodies, or parallel bodies.
struct program_node {
  enum class kind { step, call, loop, branch, select, parallel };
  kind what;
  std::string name{};
  std::unique_ptr<recorded_step> step{};
  std::vector<memory_range> writes{};  ///< of a step or a call: what it declares to write
  call_function call{};
  call_options options{};
  control* loop = nullptr;
  const int* flag = nullptr;  ///< of a branch: taken if it is not 0; of a select: which body runs
  bool has_else = false;      ///< of a select: a branch of two bodies, the first of which is taken if *flag is not 0
  std::vector<program_node> start{};                ///< of a loop: steps run once, under the loop's guard
  std::vector<program_node> body{};                 ///< of a loop or a branch
  std::vector<std::vector<program_node>> bodies{};  ///< of a select or of parallel bodies

  /// Kind and name: "loop 'newton'".
  std::string title() const;
  /// Calls visit(list) for each list of nodes that this one holds.
  template <class Visit>
  void each_list(const Visit& visit) const {
    visit(start);
    visit(body);
    for (const std::vector<program_node>& list : bodies) visit(list);
  }
};

/// Most bodies of a select.
inline constexpr std::size_t most_choices = 32;

/// Throws whilst::error if two bodies of a parallel node declare to write the same memory.
void refuse_shared_writes(const program_node& parallel);

/// Refers to a step of a program, for program::update. Owns nothing.
template <class Map, class Finish, class Sequel = no_sequel, bool has_kernels = by_nvcc>
struct step_handle {
  map_step<Map, Finish, Sequel, has_kernels>* step = nullptr;
  map_step<Sequel, no_finish, no_sequel, has_kernels>* sequel = nullptr;  ///< null if there is none
  std::uint64_t owner = 0;                                                ///< the program's; 0 for none
};

/// How to run a program.
struct run_settings {
  executor how = executor::host;
  /// Iterations per trip; 0 chooses, at most `usual_unroll` and at most 16. After the verdict the rest of a trip is
  /// wasted, so ask for fewer if a loop usually ends after some tens of iterations.
  int unroll = 0;
  int usual_unroll = 16;
  /// Overlap steps by programmatic dependent launch, where code and device allow.
  bool programmatic_launch = true;
  /// Not 0: random delays in blocks, for tests of ordering.
  unsigned delay_seed = 0;
  /// On the host: most threads per step; 0 takes OpenMP's settings. Does not affect results.
  int threads = 0;
  /// Check pointers given to program::bind by one driver query, which detects host memory that a GPU cannot read,
  /// memory of another GPU, and freed memory. The driver may not yet know memory that a graph in capture allocates.
  /// Null pointers are refused either way.
  bool check_pointers = true;
  /// Build a select from IF nodes even if the driver has SWITCH nodes; to test the path of older drivers.
  bool emulate_select = false;
};

/// A recorded loop on a place, replayed by every enqueue. Owns everything recorded, its arena and the instantiated
/// graph; memory() tells who owns what else its steps point to. One run at a time: a run enqueued on another stream
/// waits for the previous one. The program does not track runs of a graph that captured it: they are up to that graph's
/// owner.
///
/// Any thread may call enqueue, resume, wait, yielded, prepare, set, bind, update, profile and check_strictly at any
/// time: each waits until the others return, under host and stream until their run ends. While explain, dot, json,
/// memory and the like run, no other thread may prepare or update. A callback or a finish may set and bind for later
/// runs, a map only on the run's own thread; any other request from code that a run calls throws whilst::error.
///
/// enqueue and resume rethrow an exception from a callback, a map, an operator or a finish on the host: of several in
/// one step, that of the smallest index, to within chunks of a few hundred indices. Then what the run was to write is
/// undefined, no loop is running, and the program can run again.
class program {
 public:
  program(place where, std::vector<program_node> nodes, launch_values values);
  ~program();
  program(program&&) noexcept;
  program& operator=(program&&) noexcept;

  /// Makes the program ready to run: lowers the tree and, for a graph, instantiates it. May be called again with other
  /// settings once earlier runs are done. If the driver lacks conditional nodes, graph falls back to stream: see
  /// running_on() and note().
  void prepare(const run_settings& settings);

  /// Writes the parameters, then runs the program on `stream` (ignored on the host; on a GPU null is the legacy default
  /// stream). Under graph this returns at once, without allocating or synchronising; under host and stream it returns
  /// when the run has completed. If `stream` is being captured, the program becomes part of that graph with the current
  /// parameters and must outlive it.
  void enqueue(CUstream_st* stream);

  /// Whether a top-level loop, in no other loop or body, yielded in the last run: see loop_state::yield. Waits for the
  /// run.
  bool yielded() const;

  /// Resumes the loop that yielded, after the host has repaired what it yielded for: the body runs again from its
  /// beginning; the loop's start and what precedes the loop do not. Iterations, history and tolerances stay; limits and
  /// other parameters take their current values, and a deadline restarts. What follows the loop runs again, too. Waits
  /// for the last run, then enqueues as enqueue() does; the first call records and instantiates. Throws whilst::error
  /// if no loop has yielded or `stream` is being captured.
  void resume(CUstream_st* stream);

  /// Makes `stream` wait for the previous run, as enqueue does by itself: use it to mark when a run begins.
  void follow_run_before(CUstream_st* stream);

  /// Waits for the runs enqueued so far.
  void wait() const;

  /// Calls `tell` in later runs after each trip through `loop`, one of the program's, with the loop's state, on the
  /// enqueuing thread. Only where the host decides on each trip, under host and stream; no effect elsewhere. An empty
  /// function turns this off.
  void tell_of_trips(const control* loop, std::function<void(const loop_state& after_trip)> tell);

  /// Sets a parameter for later launches; those already enqueued keep their values. Makes no CUDA call. By name, the
  /// type must be the declared one. Throws whilst::error on another program's handle, an unknown name or a wrong type.
  template <launch_value T>
  void set(const parameter<T>& which, const std::type_identity_t<T>& value) {
    const turns::turn mine = take_turn();
    values().set(which, value);
  }
  template <launch_value T>
  void set(std::string_view name, const T& value) {
    const turns::turn mine = take_turn();
    values().set(values().find<T>(name), value);
  }

  /// Binds a slot for later launches, as set does: memory of the program's place, borrowed. Throws whilst::error on a
  /// null pointer, on memory that the place cannot use (run_settings::check_pointers), and as set does.
  template <class T>
  void bind(const declared_slot<T>& which, std::type_identity_t<T>* pointer) {
    check_pointer(pointer);
    set(which.pointer, pointer);
  }
  template <class T>
  void bind(std::string_view name, T* pointer) {
    check_pointer(pointer);
    if (values().holds<const T*>(name)) return set<const T*>(name, pointer);
    set(name, pointer);
  }

  /// Gives a recorded step another map of the same type, and perhaps another finish, for later launches. Under graph
  /// the instantiated graph's kernels get new arguments, one kernel per copy of the step in unrolled bodies: this
  /// records nothing and waits for nothing, and launches in flight keep their arguments, as
  /// cudaGraphExecKernelNodeSetParams promises. Graphs that captured the program keep what they captured.
  ///
  /// If the change needs another launch shape (count, lanes, threads or shared memory), a prepared program waits for
  /// its runs and prepares itself again, at full cost. So you can change loop bounds and sizes, though not quickly.
  /// What a map declares to write is checked at recording only, not here. Throws whilst::error on another program's
  /// handle; after a failed CUDA call, prepare the program again.
  template <class Map, class Finish>
  void update(const step_handle<Map, Finish>& which, const std::type_identity_t<Map>& map) {
    const turns::turn mine = enter("updating a step");
    check_handle(which.owner);
    update(which, map, which.step->finish());
  }
  template <class Map, class Finish>
  void update(const step_handle<Map, Finish>& which, const std::type_identity_t<Map>& map,
              const std::type_identity_t<Finish>& finish) {
    const turns::turn mine = enter("updating a step");
    check_handle(which.owner);
    update(which, which.step->count(), map, finish);
  }
  template <class Map, class Finish>
  void update(const step_handle<Map, Finish>& which, index_type count, const std::type_identity_t<Map>& map) {
    const turns::turn mine = enter("updating a step");
    check_handle(which.owner);
    update(which, count, map, which.step->finish());
  }
  template <class Map, class Finish>
  void update(const step_handle<Map, Finish>& which, index_type count, const std::type_identity_t<Map>& map,
              const std::type_identity_t<Finish>& finish) {
    const turns::turn mine = enter("updating a step");
    check_handle(which.owner);
    const bool same_shape = which.step->replace(count, map, finish, no_sequel{});
    renew(*which.step, nullptr, same_shape);
  }
  /// Of a step that is only a finish.
  template <class Finish>
  void update(const step_handle<detail::no_map, Finish>& which, const std::type_identity_t<Finish>& finish) {
    update(which, detail::no_map{}, finish);
  }
  /// Of a step and its sequel.
  template <class Map, class Finish, class Sequel>
  requires(!std::is_same_v<Sequel, no_sequel>) void update(const step_handle<Map, Finish, Sequel>& which,
                                                           const std::type_identity_t<Map>& map,
                                                           const std::type_identity_t<Finish>& finish,
                                                           const std::type_identity_t<Sequel>& sequel) {
    const turns::turn mine = enter("updating a step");
    check_handle(which.owner);
    const index_type count = which.step->count();
    const bool same_shape = which.step->replace(count, map, finish, sequel);
    const bool both_same = which.sequel->replace(count, sequel, no_finish{}, no_sequel{}) && same_shape;
    renew(*which.step, which.sequel, both_same);
  }

  /// Until the turn is destroyed, other threads wait in the functions above: take one to call several of them or to
  /// change what runs use. Throws whilst::error as they do, from within a run. `doing` opens the message.
  [[nodiscard]] turns::turn enter(std::string_view doing) const;
  /// The same for changing what later runs use; works from within a run, too.
  [[nodiscard]] turns::turn take_turn() const;
  /// Hold this while calling user code beside a run, with a turn: requests from that code throw as from within a run.
  [[nodiscard]] turns::run call_back() const;

  place where() const;
  executor running_on() const;
  const std::string& note() const;
  /// Bytes of GPU memory that the prepared program owns: arena, partial sums, and an estimate of the instantiated
  /// graph, namely by how much free memory shrank while it was made and uploaded. CUDA does not tell: the estimate
  /// includes what others allocated meanwhile and misses what the driver had in reserve. 0 on the host.
  index_type device_bytes() const;
  /// The tree as readable text, one line per node; for the prepared form also the number of kernels, WHILE nodes and IF
  /// nodes per trip of each loop, outside loops and in total. A call counts as one, whatever it enqueues, and so does a
  /// select (in a graph, a kernel and a SWITCH node or one IF node per body); kernels that write parameters do not
  /// count. Without a graph, loops and branches stand for the nodes.
  std::string explain() const;
  /// The tree as a Graphviz digraph.
  std::string dot() const;
  /// The tree and the counts of explain() as JSON: nodes with kind, name, a step's count, finish and, if its map tells,
  /// bytes; a loop's iterations and nodes per trip, its start and body; a branch's body.
  std::string json() const;

  /// Runs the program once with its parameters, as under stream (on the host, as under host) but step by step, without
  /// unrolling or overlap, and reports how long each step and call took and how often it ran: by CUDA events, or by the
  /// steady clock. Needs no more preparation than a run and leaves what a run leaves; the result matches a run's bit
  /// for bit. Limits, deadlines and cancels hold; a deadline strikes after fewer iterations, since this waits for each
  /// step. Returns when the run is done. `stream` as for enqueue, but not one being captured.
  program_profile profile(CUstream_st* stream = nullptr);

  /// Looks for state frozen by recording (a host value that a call captured, a counter on the host, a pointer swap) and
  /// for steps whose results are not reproducible. Runs the program three times, each from the initial contents of
  /// `watched`: step by step on the stream; step by step, recording each step and call as its own graph when first
  /// reached and replaying that from then on; and as prepared. Compares `watched` with the first run bit for bit, after
  /// each step of the second and at the end of the third. On the host the second run is like the first: it finds state
  /// carried from run to run.
  ///
  /// Watch all memory that the program reads before it writes, else the runs differ from the start; watch no controls
  /// and no times, which always differ. Keeps a copy of what each run of a step changed: throws whilst::error beyond
  /// `most_bytes`. A tool for tests: meanwhile other threads must not use the legacy default stream, and each call must
  /// be complete in itself, not joined by a later one. Leaves `watched` as a run leaves it.
  strict_report check_strictly(const std::vector<watched_memory>& watched, CUstream_st* stream = nullptr,
                               std::size_t most_bytes = std::size_t{1} << 30);

  /// The program's memory, itemised: its arena and the declared buffers, with their owners (program_recorder::arena,
  /// program_recorder::uses); sums, parameters, graph. The graph's size is an estimate: by how much the device's free
  /// memory shrank at instantiation. That happens in steps of megabytes, so it is 0 if the graph fitted into reserved
  /// memory, and wrong if others allocated or freed memory meanwhile.
  memory_table memory() const;
  /// Adds lines to memory(); the program keeps the memory given with them for its lifetime. See program_recorder::uses.
  void keep(std::vector<memory_item> items, std::shared_ptr<const void> memory);

  /// For files that describe programs.
  program_view view() const;

 private:
  /// Runs the program once, trip by trip, each step and call by `run`; returns when it is done.
  void run_each(CUstream_st* stream, const operation_runner& run);
  launch_values& values();
  void check_pointer(const void* pointer) const;
  void check_handle(std::uint64_t owner) const;
  /// Transfers the current members of a step, and perhaps of its sequel, to the prepared form.
  void renew(const recorded_step& step, const recorded_step* sequel, bool same_shape);
  struct implementation;
  detail::held<implementation> implementation_;
};

}  // namespace whilst
