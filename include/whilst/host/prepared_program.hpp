#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "whilst/host/launches.hpp"
#include "whilst/host/vectors_on_gpu.hpp"

namespace whilst {

/// Options that all solvers share, whatever they solve.
struct loop_options {
  index_type max_iterations;
  double deadline;
  int unroll;
  bool programmatic_launch, check_pointers;
  index_type history_capacity;
  int threads;

  template <class Options>
  explicit loop_options(const Options& of)
      : max_iterations(of.max_iterations),
        deadline(of.deadline),
        unroll(of.unroll),
        programmatic_launch(of.programmatic_launch),
        check_pointers(of.check_pointers),
        history_capacity(of.history_capacity),
        threads(of.threads) {}

  /// Throws whilst::error on a senseless value. `doing` opens the message.
  void check(std::string_view doing) const;
};

/// The implementation behind every solver that replays a recording: everything that it does on the host once its
/// problem is recorded. A launch works on x and, for linear systems, on b. A derived class says how a launch finds
/// them and which settings it has.
class prepared_program {
 public:
  using clock = std::chrono::steady_clock;
  virtual ~prepared_program() = default;
  prepared_program(const prepared_program&) = delete;
  prepared_program& operator=(const prepared_program&) = delete;

  launch_desk& desk() { return desk_; }
  const launch_desk& desk() const { return desk_; }
  program& recorded() { return *program_; }
  const program& recorded() const { return *program_; }
  const report_fields& common() const { return desk_.common; }

  /// A turn, as from program::enter, for callers that combine several of these calls.
  [[nodiscard]] turns::turn enter(std::string_view doing) const { return program_->enter(doing); }

  /// For later launches. Throw whilst::error on a value out of range.
  void set_max_iterations(index_type limit);
  void set_deadline(double seconds);

  /// Enqueues a solve with b and x on the place; `stream` as in program::enqueue. Throws whilst::error if the place
  /// cannot use them.
  std::shared_ptr<ticket::state> enqueue(CUstream_st* stream, const void* b, void* x);
  /// The same with b and x in host memory, copies included. Blocks. The first call allocates memory for both.
  /// `doing` opens the message of an exception.
  std::shared_ptr<ticket::state> solve(std::string_view doing, const void* b, void* x);

  /// The same with b and x on the place, after earlier work on `stream`: enqueue, and the wait. Throws whilst::error if
  /// the stream is being captured.
  std::shared_ptr<ticket::state> solve(std::string_view doing, CUstream_st* stream, const void* b, void* x);
  /// Throws whilst::error if the place cannot use them.
  void require_vectors(std::string_view doing, CUstream_st* stream, const void* b, const void* x) const;

  /// Bytes held on the place, including the program's.
  index_type bytes() const;

 protected:
  /// What was recorded.
  struct description {
    std::string method, preconditioner = "none";
    bool in_float = false;
    index_type rows = 0, nonzeros = 0, systems = 1;
    int lanes = 1;                         ///< threads per system of a batch
    std::size_t b_bytes = 0, x_bytes = 0;  ///< of all systems; b_bytes is 0 where there is no b
    /// batch or resident if the solve is a kernel of its own.
    executor how = executor::host;
    /// See launch_desk; inner is null for a batch.
    control *outer = nullptr, *inner = nullptr;
    /// What a launch leaves for its ticket; begins with a solve_outcome.
    std::size_t outcome_bytes = sizeof(solve_outcome);
    /// See run_settings.
    int usual_unroll = 16;
    clock::time_point began;  ///< when construction of the solver began
  };
  prepared_program(std::unique_ptr<program> recorded, const description& what, const loop_options& options);

  const loop_options& options() const { return options_; }
  /// Deadline and launch number; the rest is for the caller to fill in.
  control_settings root_settings(const ticket::state& of) const;

 private:
  /// Sets the parameters of a launch.
  virtual void set_parameters(const ticket::state& of, const void* b, void* x) = 0;
  template <class Change>
  void change(const Change& apply);
  std::shared_ptr<ticket::state> launch(CUstream_st* stream, const void* b, void* x);

  std::unique_ptr<program> program_;
  loop_options options_;
  std::size_t b_bytes_, x_bytes_;
  [[maybe_unused]] bool touched_once_;  ///< see vectors_on_gpu; false for a batch, whose threads read entries far apart
  index_type host_bytes_ = 0;           ///< of a host program, which do not change
#if WHILST_WITH_CUDA
  vectors_on_gpu vectors_;  ///< for solves from host memory: b, if there is one, and x; made by the first
#endif
  launch_desk desk_;  ///< last, so that it is destroyed first: it waits for the runs in flight
};

}  // namespace whilst
