#pragma once

#include <string>
#include <vector>

#include "scene.hpp"
#include "simulation.hpp"

namespace whilst::elastic {

/// The command line, as given; names and ranges are checked.
struct elastic_options {
  scene_options scene;
  simulation_settings simulation;
  /// "step": one launch per time step; "animation": one launch for all.
  std::string launch = "step";
  /// Run the first steps on every available executor, and compare.
  bool compare = false;
  /// Where to write results, empty to skip: files and, for vtk and frames, directories. json may be "-", standard
  /// output.
  std::string json, picture, vtk, frames;
};

/// An executor's run of the first steps.
struct compared_run {
  std::string executor;
  /// "step", "animation", or, where Newton's method is a loop of the host's, "refresh" or "set_up": see host_work.
  std::string launch;
  std::string preconditioner;
  index_type newton_iterations = 0, cg_iterations = 0, refreshes = 0;
  /// Of any coordinate after the last step, from the first run, in metres.
  double largest_difference = 0;
  double seconds_a_step = 0;
  double largest_rise = 0;
  bool converged = true;
};

/// A run and everything that went into it.
struct elastic_result {
  whilst::elastic::scene scene;
  std::string executor, note, preconditioner;
  std::vector<step_record> steps;
  /// A step found no finite number; it is not included.
  bool stopped = false;
  double setup_seconds = 0, seconds = 0;  ///< wall time; of the launches
  std::vector<compared_run> compared;

  bool converged() const;
  double largest_rise() const;
};

/// Simulates, prints and writes. Returns a command::exit_status and throws whilst::error.
int run_elastic(const elastic_options& options);

}  // namespace whilst::elastic
