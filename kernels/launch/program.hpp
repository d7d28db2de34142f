#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/launch/memory.hpp"
#include "kernels/launch/step.hpp"
#include "whilst/executor.hpp"
#include "whilst/memory_table.hpp"
#include "whilst/program_profile.hpp"
#include "whilst/strict_check.hpp"

namespace whilst {

/// Work that a library or a user enqueues; on the host the stream is null. For a graph it is made when the program is
/// prepared or captured, never when it runs: once to see whether a graph can hold it, then once for each copy.
using call_function = std::function<void(CUstream_st* stream)>;

struct call_options {
  /// The call writes nothing that anybody reads once the loop has stopped, so it may run after a verdict.
  bool scratch_only = false;
  /// The call can do nothing without a stream: it is refused when it is recorded for the host, whose stream is null.
  bool needs_stream = false;
};

struct operation;
/// Runs one step or call of a program.
using operation_runner = std::function<void(const operation&)>;
struct program_view;

/// A node of a program: a step, a call, a loop or a branch.
struct program_node {
  enum class kind { step, call, loop, branch };
  kind what;
  std::string name{};
  std::unique_ptr<recorded_step> step{};
  call_function call{};
  call_options options{};
  control* loop = nullptr;
  const int* flag = nullptr;
  std::vector<program_node> start{};  ///< of a loop: steps run once, under the loop's guard
  std::vector<program_node> body{};   ///< of a loop or a branch
};

/// Refers to a value in device memory that each launch writes anew.
template <class T>
struct parameter {
  std::size_t first_word = 0;
};

/// How a program is to be run.
struct run_settings {
  executor how = executor::host;
  /// Iterations a trip; 0 chooses.
  int unroll = 0;
  /// Overlap steps by programmatic dependent launch, where code and device allow.
  bool programmatic_launch = true;
  /// Not 0: random delays in blocks, for tests of ordering.
  unsigned delay_seed = 0;
};

/// A recorded loop on a place, replayed by every enqueue. Owns everything recorded and the instantiated graph, not the
/// memory that the steps point to. One run at a time: a run enqueued on another stream waits for the one before. Runs
/// of a graph that captured the program are the business of that graph's owner: the program does not know of them.
class program {
 public:
  program(place where, std::vector<program_node> nodes, std::vector<std::uint64_t*> word_addresses,
          std::vector<std::uint64_t> words);
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

  /// Makes `stream` wait for the run before, as enqueue does by itself: for who wants to mark when a run begins.
  void follow_run_before(CUstream_st* stream);

  /// Waits for the runs enqueued so far.
  void wait() const;

  /// Sets a parameter for the launches to come.
  template <class T>
  void set(parameter<T> which, const T& value) {
    std::memcpy(words() + which.first_word, &value, sizeof(T));
  }

  place where() const;
  executor running_on() const;
  const std::string& note() const;
  /// The tree for a person: a line a node; and of the prepared form how many kernels, WHILE nodes and IF nodes there
  /// are in a trip of each loop, outside loops and in all. A call is counted as one, whatever it enqueues. Without a
  /// graph, loops and branches stand for the nodes.
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

  /// What the program takes, itemised: what it was told that it works on (recorder::uses), and its own. The graph's is
  /// an estimate: by how much the device's free memory shrank when it was instantiated, which happens in pieces of
  /// megabytes, 0 where it found room, and wrong where others took or freed memory meanwhile.
  memory_table memory() const;
  /// Adds to memory() what lies elsewhere; see recorder::uses.
  void add_arena(memory_item arena);

  /// For files that tell of programs.
  program_view view() const;

 private:
  /// Runs the program once, trip by trip, each step and call by `run`; returns when it is done.
  void run_each(CUstream_st* stream, const operation_runner& run);
  std::uint64_t* words();
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst
