#include "result_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace whilst::elastic {
namespace {

using command::counted;
using command::duration;
using command::json;

index_type total(const std::vector<step_record>& steps, index_type step_record::*what) {
  index_type sum = 0;
  for (const step_record& step : steps) sum += step.*what;
  return sum;
}

json counts_json(const elastic_result& result) {
  json entry;
  entry["newton_iterations"] = total(result.steps, &step_record::newton_iterations);
  entry["evaluations"] = total(result.steps, &step_record::evaluations);
  entry["cg_iterations"] = total(result.steps, &step_record::cg_iterations);
  return entry;
}

std::string_view launches_of(const std::string& launch) {
  return launch == "step"        ? "one a step"
         : launch == "animation" ? "one"
         : launch == "refresh"   ? "host, refreshes"
                                 : "host, sets up";
}
bool is_host_driven(const compared_run& run) { return run.launch == "refresh" || run.launch == "set_up"; }
std::string first_word(const std::string& text) { return text.substr(0, text.find(',')); }

json step_json(const step_record& record, index_type step, double step_size) {
  json entry;
  entry["step"] = step;
  entry["time"] = static_cast<double>(step) * step_size;
  entry["kinetic_energy"] = record.kinetic;
  entry["elastic_energy"] = record.elastic;
  entry["potential_energy"] = record.potential;
  entry["contact_energy"] = record.contact;
  entry["energy"] = record.energy();
  entry["momentum"] = record.momentum;
  entry["centre_of_mass"] = record.centre;
  entry["newton_iterations"] = record.newton_iterations;
  entry["evaluations"] = record.evaluations;
  entry["cg_iterations"] = record.cg_iterations;
  entry["reason"] = std::string(name(record.why));
  entry["imbalance"] = record.imbalance;
  entry["largest_rise"] = record.largest_rise;
  entry["seconds"] = record.seconds();
  return entry;
}

}  // namespace

void print_problem(std::FILE* out, const elastic_options& options, const scene& start, const simulation& run) {
  const machine_description machine = describe_machine();
  fmt::print(out, "machine      {}\n", command::machine_line(machine, run.executor()));
  fmt::print(out, "executor     {}, a launch {}\n", run.executor(),
             options.launch == "step" ? "each time step" : "for the whole animation");
  if (!run.note().empty()) fmt::print(out, "note         {}\n", run.note());
  fmt::print(out, "scene        {}: {} vertices, {} tetrahedra, {} springs, {:.4g} kg\n", options.scene.name,
             start.vertices(), start.number_of_tetrahedra(), start.number_of_springs(), start.total_mass());
  if (run.bytes_of_preconditioner() > 0)
    fmt::print(out, "M            {}; {}\n", run.preconditioner(),
               command::memory(static_cast<double>(run.bytes_of_preconditioner())));
  fmt::print(out, "time         {} of {:g} s\n\n", counted(options.simulation.steps, "step"),
             options.simulation.step_size);
}

void print_table_head(std::FILE* out) {
  fmt::print(out, "{:>5}{:>8}{:>11}{:>11}{:>11}{:>11}{:>11}{:>12}{:>8}{:>7}{:>8}{:>11}\n", "step", "time", "kinetic",
             "elastic", "potential", "contact", "energy J", "momentum y", "Newton", "evals", "CG", "ms");
}

void print_step(std::FILE* out, const step_record& r, index_type step, double step_size) {
  fmt::print(out, "{:>5}{:>8.4g}{:>11.4g}{:>11.4g}{:>11.4g}{:>11.4g}{:>11.5g}{:>12.5g}{:>8}{:>7}{:>8}{:>11.3f}{}\n",
             step, static_cast<double>(step) * step_size, r.kinetic, r.elastic, r.potential, r.contact, r.energy(),
             r.momentum[1], r.newton_iterations, r.evaluations, r.cg_iterations, 1e3 * r.seconds(),
             converged(r.why) ? "" : fmt::format("  {}", name(r.why)));
  std::fflush(out);
}

void print_summary(std::FILE* out, const elastic_result& result) {
  const auto steps = static_cast<double>(std::max<std::size_t>(1, result.steps.size()));
  const auto mean = [&](index_type step_record::*what) {
    return static_cast<double>(total(result.steps, what)) / steps;
  };
  const index_type failures = std::count_if(result.steps.begin(), result.steps.end(),
                                            [](const step_record& step) { return !converged(step.why); });
  fmt::print(out, "\nresult       {}\n",
             failures == 0 ? "every step converged" : counted(failures, "step") + " did not converge");
  if (result.stopped)
    fmt::print(out, "             stopped after step {}: what follows is not finite\n", result.steps.size());
  fmt::print(out, "             incremental potential: largest rise in a Newton step {:.1e} of it\n",
             result.largest_rise());
  fmt::print(out, "a step       {:.1f} Newton iterations, {:.1f} evaluations, {:.1f} of CG\n",
             mean(&step_record::newton_iterations), mean(&step_record::evaluations), mean(&step_record::cg_iterations));
  fmt::print(out, "time         set-up {}; {} in {}, {} a step\n", duration(result.setup_seconds),
             counted(static_cast<index_type>(result.steps.size()), "step"), duration(result.seconds),
             duration(result.seconds / steps));
}

void print_comparison(std::FILE* out, const elastic_options& options, const elastic_result& result) {
  fmt::print(out, "scene        {}: {} vertices, {} tetrahedra, {} springs; {} of {:g} s, Newton to {:g}\n\n",
             options.scene.name, result.scene.vertices(), result.scene.number_of_tetrahedra(),
             result.scene.number_of_springs(), counted(options.simulation.steps, "step"), options.simulation.step_size,
             options.simulation.newton_tolerance);
  fmt::print(out, "{:<10}{:<18}{:<8}{:>8}{:>8}{:>11}{:>20}{:>13}{:>15}\n", "executor", "launches", "M", "Newton", "CG",
             "refreshes", "largest difference", "time a step", "largest rise");
  for (const compared_run& run : result.compared) {
    const bool first = &run == &result.compared.front();
    fmt::print(out, "{:<10}{:<18}{:<8}{:>8}{:>8}{:>11}{:>20}{:>13}{:>15}{}\n", run.executor, launches_of(run.launch),
               first_word(run.preconditioner), run.newton_iterations, run.cg_iterations,
               is_host_driven(run) ? "" : std::to_string(run.refreshes),
               first ? "(the reference)" : fmt::format("{:.2e} m", run.largest_difference),
               duration(run.seconds_a_step), is_host_driven(run) ? "" : fmt::format("{:.1e}", run.largest_rise),
               run.converged ? "" : "  not converged");
  }
  for (const executor_availability& other : describe_machine().executors)
    if (!other.available && (other.name == "stream" || other.name == "graph"))
      fmt::print(out, "{:<10}not here: {}\n", other.name, other.why_not);
}

json result_json(const elastic_options& options, const elastic_result& result) {
  const scene& start = result.scene;
  json report;
  report["program"] = "elastic";
  report["version"] = version;
  const measured_at measured = measured_now();
  report["commit"] = measured.commit;
  report["date"] = measured.date;
  const machine_description machine = describe_machine();
  report["machine"] = command::machine_json(machine);
  report["scene"] = options.scene.name;
  report["cells"] = options.scene.cells;
  report["vertices"] = start.vertices();
  report["tetrahedra"] = start.number_of_tetrahedra();
  report["springs"] = start.number_of_springs();
  report["mass"] = start.total_mass();
  report["step_size"] = options.simulation.step_size;
  report["gravity"] = options.simulation.gravity;
  report["newton_tolerance"] = options.simulation.newton_tolerance;
  if (options.compare) {
    json runs = json::array();
    for (const compared_run& run : result.compared) {
      json entry;
      entry["executor"] = run.executor;
      entry["launch"] = run.launch;
      entry["preconditioner"] = run.preconditioner;
      entry["newton_iterations"] = run.newton_iterations;
      entry["cg_iterations"] = run.cg_iterations;
      entry["largest_difference"] = run.largest_difference;
      entry["seconds_per_step"] = run.seconds_a_step;
      if (!is_host_driven(run)) {
        entry["refreshes"] = run.refreshes;
        entry["largest_rise"] = run.largest_rise;
      }
      entry["converged"] = run.converged;
      runs.push_back(entry);
    }
    report["comparison"] = runs;
    return report;
  }
  report["executor"] = result.executor;
  report["launch"] = options.launch;
  report["device"] = result.executor == "host" ? machine.processor : machine.device;
  report["note"] = result.note;
  report["preconditioner"] = result.preconditioner;
  json summary = counts_json(result);
  summary["steps"] = result.steps.size();
  summary["converged"] = result.converged();
  summary["largest_rise"] = result.largest_rise();
  summary["setup_seconds"] = result.setup_seconds;
  summary["seconds"] = result.seconds;
  report["summary"] = summary;
  json steps = json::array();
  for (std::size_t k = 0; k < result.steps.size(); ++k)
    steps.push_back(step_json(result.steps[k], static_cast<index_type>(k) + 1, options.simulation.step_size));
  report["steps"] = steps;
  return report;
}

}  // namespace whilst::elastic
