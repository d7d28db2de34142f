#pragma once

/// The internals of a program, for program.cpp and program_on_gpu.cpp.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/engine/device_parts.hpp"
#include "kernels/engine/executors.hpp"
#include "whilst/engine/program.hpp"

namespace whilst {

/// Calls visit(node) for every step of a tree, in order.
void visit_steps(const std::vector<program_node>& nodes, const std::function<void(const program_node&)>& visit);

struct program::implementation {
  turns taken;
  place where;
  std::vector<program_node> nodes;
  launch_values values;
  std::unique_ptr<recorded_step> publisher = make_publisher();
  run_settings settings;
  executor running_on = executor::host;
  std::string note;
  int unroll = 1;
  std::function<step_resources(const recorded_step&)> resources_of;
  /// The nodes, or those starting at a loop that yielded, in executable form.
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
  trip_listener listener;
  std::vector<memory_item> memory;
  std::vector<std::shared_ptr<const void>> kept;
  std::size_t graph_memory = 0;

  implementation(place p, std::vector<program_node> recorded, launch_values declared)
      : where(p), nodes(std::move(recorded)), values(std::move(declared)) {}

  /// Iterations per trip: just enough to make the trip's own cost small beside the steps'.
  int choose_unroll() const;

#if WHILST_WITH_CUDA
  raw_buffer step_memory;
  bool is_step_memory_unset = false;  ///< until it is being zeroed
  std::vector<raw_buffer> outgrown;   ///< step memory of earlier shapes that a caller's graph may refer to
  std::map<const recorded_step*, step_resources> resources;
  shared_memory_block flag_on_host;
  std::vector<cuda::stream> body_streams;
  cuda::stream capture_stream;
  graph_means means{body_streams, false};
  cuda::event last_run;
  unsigned long long last_stream = 0;  ///< the number of the stream that it was recorded on; 0 if unknown
  bool has_run = false;                ///< or its step memory is being zeroed: last_run marks the end of either
  bool is_being_zeroed = false, was_captured = false;
  bool may_run_unmarked = false;  ///< after a launch that failed: there is no event to wait for

  const cuda::context_life& life() const { return last_run.get_deleter().life; }

  ~implementation();
  void wait() const;
  /// For a program that has run; once that is known, needs no turn.
  void wait_for_last_run() const;

  void prepare_on_gpu();
  void set_delays(std::vector<operation>& operations);

  void build_graph(form& made);
  void finish_form(form& made);

  /// Whether the graph's first nodes write the parameters, and not a kernel before it. New arguments for a node cost
  /// the host less than a launch. A graph with conditional nodes stays unchanged from launch to launch.
  bool writes_its_parameters(const form& made) const;

  /// Distinguishes streams, even from an earlier one with the same handle; 0 if unknown.
  static unsigned long long number_of(cudaStream_t stream);

  void follow_run_before(cudaStream_t stream) { follow_run_before(stream, number_of(stream)); }
  void follow_run_before(cudaStream_t stream, unsigned long long number);

  /// Throws whilst::error if the context that the program was prepared in is gone, with all it owned, or is not
  /// current.
  void require_life(const char* doing) const;
  /// Throws whilst::error if the stream is known to be of another GPU.
  void require_own_stream(cudaStream_t stream) const;
  void enqueue_on_gpu(cudaStream_t stream);

  static void refuse_to_resume_in_capture(cudaStream_t stream);
  void resume_on_gpu(form& rest, cudaStream_t stream);

  template <class Launch>
  void run_after_the_one_before(cudaStream_t stream, const Launch& launch);
  void run_each_on_gpu(cudaStream_t stream, const operation_runner& run);

  void launch(form& what, cudaStream_t stream);
#endif

  /// Call before steps change shape: they need new partial sums and tickets, initially zero.
  void give_up_step_memory();

  /// Gives the step's kernels in the prepared graph the current arguments; other executors read the step itself when
  /// they run.
  void update(const recorded_step& step);
  void prepare_on_host();

  /// Lowers the nodes, or those starting at a loop that yielded; for a graph, instantiates them.
  void make_form(form& made, std::optional<std::size_t> yielded);
  void enqueue_on_host(const form& what);
  /// After an exception leaves a run: no loop then looks as if it were running.
  void stop_loops_on_host();

  /// The first top-level loop that yielded in the last run.
  std::optional<std::size_t> yielded_loop() const;
  void run_each_on_host(const operation_runner& run);

  std::size_t step_memory_bytes() const;
};

}  // namespace whilst
