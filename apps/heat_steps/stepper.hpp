#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plate.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst::heat_steps {

/// Who assembles a step, and who decides whether another follows.
enum class way {
  plain,  ///< the host enqueues the parts and decides
  step,   ///< the parts are a graph, which the host launches for each step, and decides
  whole,  ///< the parts are the body of a WHILE node; the device decides
  anew,   ///< as plain, and the host makes the solver anew in each step
};
/// "plain", "step", "whole", "anew".
std::string_view name(way how);
/// "steady", "all_steps", "failed_solve".
std::string_view name(ending why);

/// The result of a run.
struct made_run {
  run_state end;
  std::vector<double> u;
  double seconds = 0;        ///< wall time, from the first launch until the host knows that all is done
  index_type launches = 0;   ///< what the host enqueued: kernels, solves, graphs, copies
  std::string last_solve{};  ///< report::message of the last step
};

/// Makes runs of time steps, each from u = sin(pi x) sin(pi y) at time 0.
class stepper {
 public:
  virtual ~stepper() = default;
  virtual std::vector<way> ways() const = 0;
  /// begin: the limits. The first run of a way also makes its graph, which its seconds do not include.
  virtual made_run run(way how, const run_state& begin) = 0;
};
std::unique_ptr<stepper> make_host_stepper(const plate& p, const std::string& preconditioner);
/// On the current GPU. Throws whilst::error in a build without CUDA.
std::unique_ptr<stepper> make_gpu_stepper(const plate& p, const std::string& preconditioner);

/// u at time 0.
std::vector<double> start_of(const plate& p);
/// I + dt A in compressed sparse rows, with A the five-point stencil at time 0.
struct stored_rows {
  std::vector<std::int32_t> offsets, columns;
  std::vector<double> values;
};
stored_rows matrix_of(const plate& p);
/// executor: "host" or "graph".
linear_solver_options solver_options(const std::string& executor, const std::string& preconditioner);

}  // namespace whilst::heat_steps
