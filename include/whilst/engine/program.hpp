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

/// Work that a library or a user enqueues; on the host the stream is null. For a graph it is made when the program is
/// prepared or captured, never when it runs: once to see whether a graph can hold it, then once for each copy. The
/// first resume of a loop and an update that changes a step's shape prepare, too.
using call_function = std::function<void(CUstream_st* stream)>;

struct call_options {
  /// The call writes nothing that anybody reads once the loop has stopped, so it may run after a verdict.
  bool scratch_only = false;
  /// The call can do nothing without a stream: it is refused when it is recorded for the host, whose stream is null.
  bool needs_stream = false;
  /// What the call writes, as far as it is declared: see recorder::parallel.
  std::vector<memory_range> writes{};
};

struct operation;
/// Runs one step or call of a program.
using operation_runner = std::function<void(const operation&)>;
struct program_view;

/// A node of a program: a step, a call, a loop, a branch, a choice among bodies, or bodies side by side.
struct program_node {
  enum class kind { step, call, loop, branch, select, parallel };
  kind what;
  std::string name{};
  std::unique_ptr<recorded_step> step{};
  std::vector<memory_range> writes{};  ///< of a step or a call: what it declares to write
  call_function call{};
  call_options options{};
  control* loop = nullptr;
  const int* flag = nullptr;  ///< of a branch: taken if it is not 0; of a select: says which body runs
  bool has_else = false;      ///< of a select: a branch of two bodies, the first of which is taken if *flag is not 0
  std::vector<program_node> start{};                ///< of a loop: steps run once, under the loop's guard
  std::vector<program_node> body{};                 ///< of a loop or a branch
  std::vector<std::vector<program_node>> bodies{};  ///< of a select or of bodies side by side

  /// "loop 'newton'": what it is and what it is called.
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

/// Throws whilst::error where two bodies of a parallel node declare to write the same memory.
void refuse_shared_writes(const program_node& parallel);

/// Refers to a step of a program, for program::update. Owns nothing.
template <class Map, class Finish, class Sequel = no_sequel>
struct step_handle {
  map_step<Map, Finish, Sequel>* step = nullptr;
  map_step<Sequel, no_finish>* sequel = nullptr;  ///< null where there is none
  std::uint64_t owner = 0;                        ///< the program's; 0 for none
};

/// How a program is to be run.
struct run_settings {
  executor how = executor::host;
  /// Iterations a trip; 0 chooses, no more than `usual_unroll` and no more than 16. After the verdict the rest of a
  /// trip runs for nothing, so who records a loop that usually ends after some tens of iterations says fewer.
  int unroll = 0;
  int usual_unroll = 16;
  /// Overlap steps by programmatic dependent launch, where code and device allow.
  bool programmatic_launch = true;
  /// Not 0: random delays in blocks, for tests of ordering.
  unsigned delay_seed = 0;
  /// On the host: most threads that a step runs on; 0 for what OpenMP's settings say. Results do not depend on it.
  int threads = 0;
  /// Look at what program::bind is given: one question to the driver, which knows memory of the host that a GPU cannot
  /// read, memory of another GPU, and what has been freed. Memory that a graph in capture takes for itself, the driver
  /// may not know yet. Null pointers are refused all the same.
  bool check_pointers = true;
  /// Make a select of IF nodes even where the driver has SWITCH nodes; for tests of what older drivers get.
  bool emulate_select = false;
};

/// A recorded loop on a place, replayed by every enqueue. Owns everything recorded, its arena and the instantiated
/// graph; what else its steps point to as memory() tells. One run at a time: a run enqueued on another stream waits for
/// the one before. Runs of a graph that captured the program are the business of that graph's owner: the program does
/// not know of them.
///
/// Any thread may call enqueue, resume, wait, yielded, prepare, set, bind, update, profile and check_strictly at any
/// time: each waits until the others have returned, under host and stream until their run has ended. What explain, dot,
/// json, memory and the like tell of is no other thread to prepare or update meanwhile. A callback or a finish may set
/// and bind for the runs to come, a map only where it is the run's own thread that maps; asked for anything else by
/// what it runs itself, the program throws whilst::error.
///
/// An exception from a callback, a map, an operator or a finish on the host comes out of enqueue and resume: of several
/// in one step that of the smallest index, as far as chunks of some hundred indices tell. What the run was to write is
/// undefined then, no loop runs any more, and the program can be run again.
class program {
 public:
  program(place where, std::vector<program_node> nodes, launch_values values);
  ~program();
  program(program&&) noexcept;
  program& operator=(program&&) noexcept;

  /// Makes the program ready to run: lowers the tree and, for a graph, instantiates it. May be called again with other
  /// settings once earlier runs are done. Where the driver has no conditional nodes, graph falls back to stream: see
  /// running_on() and note().
  void prepare(const run_settings& settings);

  /// Writes the parameters, then runs the program on `stream` (not looked at on the host; on a GPU null is the legacy
  /// default stream). Under graph this returns at once, with nothing allocated and nothing synchronised; under host and
  /// stream the run has completed. If `stream` is being captured, the program becomes part of that graph with the
  /// parameters of now, and must outlive it.
  void enqueue(CUstream_st* stream);

  /// Whether a loop that is directly in the program, in no other loop nor body, has yielded in the last run: see
  /// loop_state::yield. Waits for the run.
  bool yielded() const;

  /// Goes on with the loop that yielded, after the host has repaired what it yielded for: the body runs again from its
  /// start, the loop's start and what was before the loop do not. Iterations, history and tolerances are as they
  /// were; limits and the other parameters are those of now, and a deadline counts anew. What follows the loop runs
  /// again, too. Waits for the last run, then enqueues as enqueue() does; records and instantiates on its first
  /// call. Throws whilst::error where no loop has yielded, or `stream` is being captured.
  void resume(CUstream_st* stream);

  /// Makes `stream` wait for the run before, as enqueue does by itself: for who wants to mark when a run begins.
  void follow_run_before(CUstream_st* stream);

  /// Waits for the runs enqueued so far.
  void wait() const;

  /// Has `tell` called after each trip through `loop`, one of the program's, with what its state then is; on the thread
  /// that enqueues, in the runs to come. Only where the host decides whether a trip is made, under host and stream;
  /// nothing is done for it elsewhere. An empty function: nobody is told.
  void tell_of_trips(const control* loop, std::function<void(const loop_state& after_trip)> tell);

  /// Sets a parameter for the launches to come; those that are enqueued keep what they were enqueued with. No CUDA call
  /// is made. By name, the type must be the one that it was declared with. Throws whilst::error on a handle of another
  /// program, an unknown name and another type.
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

  /// Binds a slot for the launches to come, as set does: memory of the program's place, borrowed. Throws whilst::error
  /// on a null pointer, on memory that the place cannot use (run_settings::check_pointers), and as set does.
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

  /// Gives a recorded step another map, of the same type with other members, and perhaps another finish, for the
  /// launches to come. Under graph the kernels of the instantiated graph get new arguments, as many as the step has
  /// copies in unrolled bodies: nothing is recorded, nothing waited for, and launches in flight keep what they had, as
  /// cudaGraphExecKernelNodeSetParams promises. Graphs that have captured the program are out of reach: they keep what
  /// was captured.
  ///
  /// Where the change needs another launch shape, that is another count, other lanes, threads or shared memory, a
  /// prepared program waits for its runs and is prepared anew, by itself, with all that this costs. What a map declares
  /// to write is looked at when it is recorded, and not here. So loop bounds and sizes can be changed, if not quickly.
  /// Throws whilst::error on a handle of another program; after a CUDA call has failed, prepare the program again.
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

  /// Until the turn is destroyed, other threads wait in the functions above: for who calls several of them, or changes
  /// what runs use. Throws whilst::error as they do, from within a run. `doing` opens the message.
  [[nodiscard]] turns::turn enter(std::string_view doing) const;
  /// The same for who changes what later runs use; from within a run, too.
  [[nodiscard]] turns::turn take_turn() const;
  /// For who has a turn and calls code of the user's beside a run: asked by that, the program throws as from within.
  [[nodiscard]] turns::run call_back() const;

  place where() const;
  executor running_on() const;
  const std::string& note() const;
  /// Bytes of the GPU's memory that the prepared program owns: arena, partial sums, and the instantiated graph by an
  /// estimate, namely what free memory there was less after it had been made and uploaded. CUDA does not tell; what
  /// others took meanwhile is counted, too, and what the driver had in store is not. 0 on the host.
  index_type device_bytes() const;
  /// The tree for a person: a line a node; and of the prepared form how many kernels, WHILE nodes and IF nodes there
  /// are in a trip of each loop, outside loops and in all. A call is counted as one, whatever it enqueues, and so is
  /// a select, in a graph a kernel and a SWITCH node or an IF node a body; kernels that write parameters are not
  /// counted. Without a graph, loops and branches stand for the nodes.
  std::string explain() const;
  /// The tree as a Graphviz digraph.
  std::string dot() const;
  /// The tree and the counts of explain() as JSON, for programs: nodes with kind, name, a step's count, finish and,
  /// where its map says, bytes; a loop's iterations and nodes a trip, its start and body; a branch's body.
  std::string json() const;

  /// Runs the program once with its parameters, as under stream (on the host, as under host) but step by step, no loop
  /// unrolled and nothing overlapping, and tells how long each step and call took and how often it ran: between CUDA
  /// events, or by the steady clock. Needs no other preparation than a run, and leaves what a run leaves; the result is
  /// that of a run, to the bit. Limits, deadlines and cancels hold, and a deadline comes earlier in the loop, as this
  /// takes longer: it waits for each step. Returns when the run is done. `stream` as enqueue takes it, but not one that
  /// is being captured.
  program_profile profile(CUstream_st* stream = nullptr);

  /// Looks for state that a recording has frozen: a value of the host's that a call captured, a counter on the host, a
  /// swap of pointers; and for steps that give other bits each time. Runs the program three times, each time with
  /// `watched` as it was at first: step by step on the stream; step by step with each step and call recorded as a graph
  /// of its own when it is first reached, and that graph run from then on; and as prepared. After each step all that is
  /// watched is compared to the bit with the first run, after the third at the end. On the host the second run is like
  /// the first: it finds state that the program carries from run to run.
  ///
  /// Watch all memory that the program reads before it writes it, else the runs differ from the start; no controls and
  /// no times, which differ between any runs. A copy of what a step has changed is kept for each time that the step
  /// ran: throws whilst::error beyond `most_bytes`. A tool for tests: meanwhile other threads may not use the legacy
  /// default stream, and a call must be complete by itself, not joined by a later one. What is watched is left as a run
  /// leaves it.
  strict_report check_strictly(const std::vector<watched_memory>& watched, CUstream_st* stream = nullptr,
                               std::size_t most_bytes = std::size_t{1} << 30);

  /// What the program takes, itemised: its arena and what it was told that it works on, and whose that is
  /// (program_recorder::arena, program_recorder::uses); sums, parameters, graph. The graph's is
  /// an estimate: by how much the device's free memory shrank when it was instantiated, which happens in pieces of
  /// megabytes, 0 where it found room, and wrong where others took or freed memory meanwhile.
  memory_table memory() const;
  /// Adds lines to memory(); the memory that is given with them, the program keeps until it is gone. See
  /// program_recorder::uses.
  void keep(std::vector<memory_item> items, std::shared_ptr<const void> memory);

  /// For files that tell of programs.
  program_view view() const;

 private:
  /// Runs the program once, trip by trip, each step and call by `run`; returns when it is done.
  void run_each(CUstream_st* stream, const operation_runner& run);
  launch_values& values();
  void check_pointer(const void* pointer) const;
  void check_handle(std::uint64_t owner) const;
  /// Brings what a step, and perhaps its sequel, hold now into what is prepared.
  void renew(const recorded_step& step, const recorded_step* sequel, bool same_shape);
  struct implementation;
  detail::held<implementation> implementation_;
};

}  // namespace whilst
