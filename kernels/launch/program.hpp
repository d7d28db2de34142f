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

namespace whilst {

/// Work that a library or a user enqueues; on the host the stream is null.
using call_function = std::function<void(CUstream_st* stream)>;

struct call_options {
  /// The call writes nothing that anybody reads once the loop has stopped, so it may run after a verdict.
  bool scratch_only = false;
};

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
  /// Bytes of the GPU's memory that the prepared program holds: partial sums, and the instantiated graph by an
  /// estimate, namely what free memory there was less after it had been made and uploaded. CUDA does not tell; what
  /// others took meanwhile is counted, too, and what the driver had in store is not. 0 on the host.
  index device_bytes() const;
  /// The tree for a person: a line a node; and of the prepared form how many kernels, WHILE nodes and IF nodes there
  /// are in a trip of each loop, outside loops and in all. A call is counted as one, whatever it enqueues. Without a
  /// graph, loops and branches stand for the nodes.
  std::string explain() const;
  /// The tree as a Graphviz digraph.
  std::string dot() const;

 private:
  std::uint64_t* words();
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst
