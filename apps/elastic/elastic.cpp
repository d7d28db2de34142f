#include "elastic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>
#include <system_error>

#include "apps/common/json_file.hpp"
#include "apps/common/output_file.hpp"
#include "apps/common/program.hpp"
#include "host_driven.hpp"
#include "picture.hpp"
#include "result_text.hpp"
#include "vtk.hpp"
#include "whilst/error.hpp"
#include "whilst/machine.hpp"

namespace whilst::elastic {
namespace {

using command::json_destination;
using command::output_file;

constexpr index_type rows_of_table = 10;

/// A directory for numbered files; created if needed.
class series {
 public:
  series(std::string option, std::string directory, std::string prefix, std::string suffix)
      : option_(std::move(option)), directory_(std::move(directory)), prefix_(prefix), suffix_(suffix) {
    if (!wanted()) return;
    std::error_code problem;
    std::filesystem::create_directories(directory_, problem);
    if (!std::filesystem::is_directory(directory_))
      throw error(option_ + " " + directory_, "it is no directory and cannot be made one", "Give another path");
    file(0);  // throws if nothing can be written there
  }
  bool wanted() const { return !directory_.empty(); }
  output_file file(index_type number) const {
    return {option_,
            (std::filesystem::path(directory_) / fmt::format("{}{:04d}{}", prefix_, number, suffix_)).string()};
  }

 private:
  std::string option_, directory_, prefix_, suffix_;
};

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double largest_rise_of(const std::vector<step_record>& steps) {
  double rise = 0;
  for (const step_record& step : steps) rise = std::max(rise, step.largest_rise);
  return rise;
}
bool all_converged(const std::vector<step_record>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const step_record& step) { return converged(step.why); });
}

void simulate(const elastic_options& options, const simulation_settings& settings, std::FILE* out,
              elastic_result& result, std::vector<double>& frames, std::vector<double>& last) {
  std::unique_ptr<simulation> run;
  result.setup_seconds = seconds_of([&] { run = std::make_unique<simulation>(result.scene, settings); });
  result.executor = run->executor();
  result.note = run->note();
  result.preconditioner = run->preconditioner();
  print_problem(out, options, result.scene, *run);
  print_table_head(out);
  const index_type between = std::max<index_type>(1, settings.steps / rows_of_table);
  const auto print_rows = [&](index_type from, index_type to) {
    const std::vector<step_record> records = run->records();
    for (index_type step = from + 1; step <= to; ++step)
      if (step % between == 0 || step == settings.steps)
        print_step(out, records[static_cast<std::size_t>(step) - 1], step, settings.step_size);
  };
  index_type done = 0;
  while (done < settings.steps) {
    const index_type wanted = options.launch == "step" ? 1 : settings.steps;
    result.seconds += seconds_of([&] { run->run(wanted); });
    print_rows(done, run->steps_done());
    if (run->steps_done() < std::min(done + wanted, settings.steps)) break;
    done = run->steps_done();
  }
  result.steps = run->records();
  result.stopped = static_cast<index_type>(result.steps.size()) < settings.steps;
  frames = run->frames();
  last = run->positions();
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Runs the first steps, and compares the positions after all of them with the reference, which the first run becomes.
compared_run simulated(const scene& start, simulation_settings settings, const std::string& launch,
                       std::vector<double>& reference) {
  settings.frame_interval = settings.steps + 1;  // keeps no frames
  simulation run(start, settings);
  if (launch == "animation") {
    run.run(settings.steps);
  } else {
    for (index_type step = 0; step < settings.steps; ++step) run.run(1);
  }
  const std::vector<step_record> steps = run.records();
  compared_run compared{run.executor(), launch, run.preconditioner()};
  compared.largest_rise = largest_rise_of(steps);
  compared.converged = all_converged(steps) && static_cast<index_type>(steps.size()) == settings.steps;
  // From the end of the first step on, when everything is loaded.
  if (steps.size() > 1)
    compared.seconds_a_step =
        1e-9 * static_cast<double>(steps.back().ended - steps.front().ended) / static_cast<double>(steps.size() - 1);
  for (const step_record& step : steps) {
    compared.newton_iterations += step.newton_iterations;
    compared.cg_iterations += step.cg_iterations;
    compared.refreshes = std::max(compared.refreshes, step.refreshes);
  }
  const std::vector<double> positions = run.positions();
  if (reference.empty()) reference = positions;
  compared.largest_difference = largest_difference(positions, reference);
  return compared;
}

/// The same with Newton's method as a loop of the host's.
compared_run driven_by_host(const scene& start, const simulation_settings& settings, host_work what,
                            const std::vector<double>& reference) {
  host_driven run(start, settings, what);
  compared_run compared{settings.executor, what == host_work::refresh ? "refresh" : "set_up", settings.preconditioner};
  const auto take = [&] {
    const host_driven::counts made = run.step();
    compared.newton_iterations += made.newton_iterations;
    compared.cg_iterations += made.cg_iterations;
    compared.converged = compared.converged && made.converged;
  };
  take();
  const double seconds = seconds_of([&] {
    for (index_type step = 1; step < settings.steps; ++step) take();
  });
  if (settings.steps > 1) compared.seconds_a_step = seconds / static_cast<double>(settings.steps - 1);
  compared.largest_difference = largest_difference(run.positions(), reference);
  return compared;
}

/// Compares the first steps of the executors, with other preconditioners and launches, with those of the first run.
void compare(const elastic_options& options, elastic_result& result) {
  std::vector<double> reference;
  const std::string& wanted = options.simulation.executor;
  for (const executor_availability& one : describe_machine().executors) {
    if (!one.available || (one.name != "host" && one.name != "stream" && one.name != "graph")) continue;
    if (wanted != "auto" && one.name != wanted) continue;
    simulation_settings settings = options.simulation;
    settings.executor = one.name;
    const auto add = [&](const compared_run& run) {
      if (run.executor == one.name) result.compared.push_back(run);
    };
    add(simulated(result.scene, settings, "step", reference));
    const bool in_one = one.name == "graph";  // elsewhere a launch for all takes the same launches
    if (in_one) add(simulated(result.scene, settings, "animation", reference));
    if (settings.preconditioner == "jacobi") continue;
    for (const host_work what : {host_work::refresh, host_work::set_up})
      add(driven_by_host(result.scene, settings, what, reference));
    settings.preconditioner = "jacobi";
    add(simulated(result.scene, settings, in_one ? "animation" : "step", reference));
  }
}

}  // namespace

bool elastic_result::converged() const {
  return !stopped && all_converged(steps) &&
         std::all_of(compared.begin(), compared.end(), [](const compared_run& run) { return run.converged; });
}
double elastic_result::largest_rise() const { return largest_rise_of(steps); }

int run_elastic(const elastic_options& options) {
  const output_file picture("--picture", options.picture);
  const json_destination json(options.json, {&picture});
  const series frame_files("--frames", options.frames, "frame_", ".png"),
      meshes("--vtk", options.vtk, "elastic_", ".vtk");
  command::require_different_files({}, {&picture, &json.file()});
  if (options.compare && (picture.wanted() || frame_files.wanted() || meshes.wanted()))
    throw error("--compare", "it makes no pictures and no meshes", "Leave --picture, --frames and --vtk out");
  std::FILE* out = json.text();

  elastic_result result;
  result.scene = make_scene(options.scene);
  if (options.compare) {
    compare(options, result);
    print_comparison(out, options, result);
    json.write(result_json(options, result));
    return result.converged() ? command::succeeded : command::not_converged;
  }
  simulation_settings settings = options.simulation;
  // Keep memory for frames only if they are wanted.
  if (!frame_files.wanted() && !meshes.wanted()) settings.frame_interval = settings.steps + 1;
  std::vector<double> frames, last;
  simulate(options, settings, out, result, frames, last);
  print_summary(out, result);
  json.write(result_json(options, result));

  const painter paint(result.scene);
  const std::size_t size = result.scene.positions.size();
  for (std::size_t k = 0; (frame_files.wanted() || meshes.wanted()) && k < frames.size() / size; ++k) {
    const std::vector<double> positions(frames.begin() + static_cast<std::ptrdiff_t>(k * size),
                                        frames.begin() + static_cast<std::ptrdiff_t>((k + 1) * size));
    const double time = static_cast<double>(k) * static_cast<double>(settings.frame_interval) * settings.step_size;
    const auto number = static_cast<index_type>(k);
    if (frame_files.wanted()) frame_files.file(number).write(command::png_of(paint.paint(positions)));
    if (meshes.wanted()) meshes.file(number).write(vtk_of(result.scene, positions, time));
  }
  if (picture.wanted()) picture.write(command::png_of(paint.paint(last)));
  return result.converged() ? command::succeeded : command::not_converged;
}

}  // namespace whilst::elastic
