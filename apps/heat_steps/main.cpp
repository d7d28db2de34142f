#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "picture.hpp"
#include "stepper.hpp"
#include "whilst/place_of_executor.hpp"
#include "whilst/version.hpp"

namespace whilst::heat_steps {
namespace {

using command::json;

/// The command line, as given.
struct settings {
  plate of;
  run_state limits{.most_steps = 200, .steady = 1e-6};
  std::string executor = "auto", preconditioner = "jacobi", json, picture;
  int repetitions = 3;
  bool compare = false;
  double compare_seconds = 10;
};

/// A way, and the fastest of its runs.
struct measured_way {
  way how;
  std::string preconditioner;
  made_run made;
  int repetitions;
  bool same_bits = true;  ///< as the reference, in every run: the first way's first run, or with way anew its own
  double largest_difference = 0;  ///< of u, from the very first run; NaN if that took another number of steps

  double seconds_a_step() const { return made.seconds / static_cast<double>(made.end.steps); }
};

CLI::Validator number_from(double least, const char* example) {
  return command::number<double>(
      "NUMBER", [=](double value) { return std::isfinite(value) && value >= least; },
      fmt::format("a number of at least {}, as {}", least, example));
}

void add_options(CLI::App& app, settings& given) {
  using command::add, command::whole_number;
  command::add_version(app);
  add(&app, "--cells", given.of.cells, "Cells along an edge of the plate (default 64)", whole_number(2, 4096, "64"));
  add(&app, "--steps", given.limits.most_steps, "Most time steps of a run (default 200)",
      whole_number(1, 1'000'000, "200"));
  add(&app, "--time-step", given.of.time_step, "Length of a step (default 0.01)", number_from(1e-9, "0.01"));
  add(&app, "--flame", given.of.flame, "Heat at the flame's centre (default 100)", number_from(0, "100"));
  add(&app, "--conductivity", given.of.conductivity,
      "Heat conductivity is 1 + C u^2, with u from the step before (default 0: constant)", number_from(0, "3"))
      ->option_text("C");
  add(&app, "--steady", given.limits.steady,
      "A run ends with a step that changes u by no more than this, root mean square (default 1e-6)",
      number_from(0, "1e-6"));
  add(&app, "--executor", given.executor,
      "host: the CPU; graph: the GPU; auto: the GPU, where there is one (default auto)",
      command::one_of({"auto", "host", "graph"}));
  add(&app, "--preconditioner", given.preconditioner,
      "Of conjugate gradients: jacobi, amg, or another that linear_solver makes, with settings after its name "
      "(default jacobi)",
      command::not_empty())
      ->option_text("NAME");
  app.add_flag(
      "--compare", given.compare,
      "Also make the solver anew in each step, and, with another preconditioner than jacobi, make a run with that");
  add(&app, "--compare-seconds", given.compare_seconds,
      "How long that run with jacobi may take after its first step: else it makes fewer steps, at least one, and tells "
      "how many (default 10)",
      number_from(0, "10"));
  add(&app, "--repetitions", given.repetitions, "Timed runs of each way, of which the fastest counts (default 3)",
      whole_number(1, 1000, "3"));
  add(&app, "--picture", given.picture, "Write the plate's temperature at the end, an SVG picture",
      command::not_empty());
  add(&app, "--json", given.json, "Write a report; - for standard output, with nothing else on it",
      command::not_empty());
  app.footer(
      "The problem. u_t = div(k grad u) + f on the unit square, u = 0 at its edge, u = sin(pi x) sin(pi y) at time 0;\n"
      "five-point stencil, backward Euler: each step solves (I + dt A) u_new = u + dt f by conjugate gradients to\n"
      "rtol 1e-10, from u. f is a flame, F exp(-d^2 / (2 0.05^2)) with d the distance from a point that moves from\n"
      "(0.25, 0.25) to (0.75, 0.6) until time 1, and rests.\n\n"
      "The ways, with the same kernels, which are the program's own, around Whilst's solve:\n"
      "  plain   the host enqueues a step's parts, and asks whether to go on\n"
      "  step    the parts are captured into a graph, launched for each step by the host, which asks\n"
      "  whole   the parts are captured into a WHILE node of the program's own: one launch, the device asks\n"
      "  anew    plain, where the host makes the solver anew from each step's matrix; with --compare\n"
      "On the CPU there are plain and anew alone. The run with jacobi is whole, or plain on the CPU.\n\n"
      "Examples:\n  heat_steps --cells 128 --picture plate.svg\n"
      "  heat_steps --cells 512 --time-step 0.1 --conductivity 3 --preconditioner amg --compare\n  heat_steps --flame "
      "0 --steps 20 --json - | jq "
      ".centre\n\n"
      "Exit status: 0 all ways made the same bits; 2 not so, or a solve failed; 1 any error.");
}

bool same(const made_run& a, const made_run& b) {
  return a.end.steps == b.end.steps && a.end.iterations == b.end.iterations && a.end.why == b.end.why &&
         a.last_solve == b.last_solve && std::memcmp(a.u.data(), b.u.data(), a.u.size() * sizeof(double)) == 0;
}

double largest_difference(const made_run& made, const made_run& reference) {
  if (made.end.steps != reference.end.steps) return NAN;
  double largest = 0;
  for (std::size_t i = 0; i < made.u.size(); ++i) largest = std::max(largest, std::abs(made.u[i] - reference.u[i]));
  return largest;
}

/// Repeats a way's first run; `first` is what its bits are to be.
measured_way repeated(stepper& steps, way how, const std::string& preconditioner, const run_state& limits,
                      int repetitions, made_run made, const made_run& first) {
  measured_way one{how, preconditioner, std::move(made), repetitions};
  one.same_bits = same(one.made, first);
  one.made.seconds = HUGE_VAL;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const made_run again = steps.run(how, limits);
    one.same_bits = one.same_bits && same(again, first);
    one.made.seconds = std::min(one.made.seconds, again.seconds);
  }
  return one;
}

/// The ways of the given preconditioner.
std::vector<measured_way> measured_ways(stepper& steps, const settings& given) {
  std::vector<measured_way> all;
  for (const way how : steps.ways()) {
    if (how == way::anew && !given.compare) continue;
    const made_run warm_up = steps.run(how, given.limits);
    // Levels made from another matrix divide its points in another way.
    const made_run& first = all.empty() || how == way::anew ? warm_up : all.front().made;
    measured_way one = repeated(steps, how, given.preconditioner, given.limits, given.repetitions, warm_up, first);
    one.largest_difference = largest_difference(one.made, all.empty() ? one.made : all.front().made);
    all.push_back(std::move(one));
  }
  return all;
}

/// The run with Jacobi, which takes many more iterations: a step to warm up, then as many as the time allows.
measured_way measured_jacobi(stepper& steps, const settings& given, const made_run& reference) {
  const std::vector<way> ways = steps.ways();
  const way how = std::find(ways.begin(), ways.end(), way::whole) != ways.end() ? way::whole : way::plain;
  run_state limits = given.limits;
  limits.most_steps = 1;
  const made_run warm_up = steps.run(how, limits);
  const double affordable = given.compare_seconds / warm_up.seconds;  // steps
  limits.most_steps = index_type(std::clamp(affordable, 1.0, double(given.limits.most_steps)));
  const made_run first = steps.run(how, limits);
  const bool repeats = affordable >= double(limits.most_steps) * (given.repetitions + 1);
  measured_way one = repeated(steps, how, "jacobi", limits, repeats ? given.repetitions : 0, first, first);
  one.made.seconds = std::min(one.made.seconds, first.seconds);
  one.largest_difference = largest_difference(one.made, reference);
  return one;
}

/// "-" for NaN.
std::string difference_text(double difference) {
  return std::isnan(difference) ? "-" : fmt::format("{:.1e}", difference);
}

void print(std::FILE* out, const settings& given, const std::string& executor, const std::vector<measured_way>& ways) {
  fmt::print(out, "machine     {}\n", command::machine_line(describe_machine(), executor));
  fmt::print(out, "plate       {0} x {0} cells, steps of {1}, flame {2}, conductivity 1 + {3} u^2\n\n", given.of.cells,
             given.of.time_step, given.of.flame, given.of.conductivity);
  fmt::print(out, "{:<8}{:<20}{:>8}{:>15}{:>13}{:>13}{:>13}  {}\n", "way", "M", "steps", "CG iterations", "ms a step",
             "enqueued", "difference", "bits");
  for (const measured_way& one : ways)
    fmt::print(out, "{:<8}{:<20}{:>8}{:>15}{:>13.4g}{:>13}{:>13}  {}\n", name(one.how), one.preconditioner,
               one.made.end.steps, one.made.end.iterations, 1e3 * one.seconds_a_step(), one.made.launches,
               difference_text(one.largest_difference), one.same_bits ? "the same" : "DIFFERENT");
  const made_run& made = ways.front().made;
  const measured_way& last = ways.back();
  if (last.made.end.steps < made.end.steps)
    fmt::print(out, "\ncut short   {} made {} of {} steps: a step takes {:.3g} s, and --compare-seconds is {:g}\n",
               last.preconditioner, last.made.end.steps, made.end.steps, last.seconds_a_step(), given.compare_seconds);
  fmt::print(out, "\nend         {} at time {:.4g}, hottest {:.6g}\n", name(made.end.why), made.end.time,
             *std::max_element(made.u.begin(), made.u.end()));
  fmt::print(out, "last solve  {}\n", made.last_solve);
}

json report(const settings& given, const std::string& executor, const std::vector<measured_way>& ways) {
  json report;
  report["program"] = "heat_steps";
  report["version"] = version;
  const measured_at measured = measured_now();
  report["commit"] = measured.commit;
  report["date"] = measured.date;
  report["machine"] = command::machine_json(describe_machine());
  report["executor"] = executor;
  report["cells"] = given.of.cells;
  report["time_step"] = given.of.time_step;
  report["flame"] = given.of.flame;
  report["conductivity"] = given.of.conductivity;
  report["preconditioner"] = given.preconditioner;
  report["steady"] = given.limits.steady;
  report["most_steps"] = given.limits.most_steps;
  report["repetitions"] = given.repetitions;
  report["ways"] = json::array();
  for (const measured_way& one : ways)
    report["ways"].push_back({{"way", name(one.how)},
                              {"preconditioner", one.preconditioner},
                              {"steps", one.made.end.steps},
                              {"iterations", one.made.end.iterations},
                              {"ending", name(one.made.end.why)},
                              {"seconds_a_step", one.seconds_a_step()},
                              {"enqueued_by_host", one.made.launches},
                              {"last_solve", one.made.last_solve},
                              {"repetitions", one.repetitions},
                              {"largest_difference", one.largest_difference},  // null for NaN
                              {"same_bits", one.same_bits}});
  const made_run& made = ways.front().made;
  double squares = 0;
  for (const double value : made.u) squares += value * value;
  report["time"] = made.end.time;
  report["change"] = made.end.change;
  report["norm"] = std::sqrt(squares);
  report["hottest"] = *std::max_element(made.u.begin(), made.u.end());
  report["centre"] = made.u[made.u.size() / 2];  // the square's centre if the number of cells is even
  return report;
}

int parse_and_run(int argument_count, char** argument_values) {
  settings given;
  CLI::App app(
      "Heats a plate in implicit time steps, as a program does that owns its CUDA graph: its kernels and Whilst's "
      "conjugate gradients, enqueued, captured a step at a time, or in a WHILE node of its own. Its text, "
      "apps/heat_steps/gpu_stepper.cpp, is to be copied from.",
      "heat_steps");
  add_options(app, given);
  if (const auto status = command::parse_command_line(app, argument_count, argument_values)) return *status;
  const command::output_file picture("--picture", given.picture);
  const command::json_destination destination(given.json, {&picture});
  command::require_different_files({}, {&picture, &destination.file()});

  const bool on_host = place_of_executor(given.executor).on_host();
  const auto stepper_with = [&](const std::string& preconditioner) {
    return on_host ? make_host_stepper(given.of, preconditioner) : make_gpu_stepper(given.of, preconditioner);
  };
  std::vector<measured_way> ways = measured_ways(*stepper_with(given.preconditioner), given);
  if (given.compare && given.preconditioner != "jacobi")
    ways.push_back(measured_jacobi(*stepper_with("jacobi"), given, ways.front().made));
  const std::string executor = on_host ? "host" : "graph";
  print(destination.text(), given, executor, ways);
  if (picture.wanted()) {
    const made_run& made = ways.front().made;
    picture.write(heat_map_svg(fmt::format("Temperature of the plate after {}, at time {:.4g}",
                                           command::counted(made.end.steps, "step"), made.end.time),
                               made.u, given.of.cells));
  }
  if (destination.wanted()) destination.write(report(given, executor, ways));
  command::require_standard_output();
  const bool good = std::all_of(ways.begin(), ways.end(), [](const measured_way& one) {
    return one.same_bits && one.made.end.why != ending::failed_solve;
  });
  return good ? command::succeeded : command::not_converged;
}

}  // namespace
}  // namespace whilst::heat_steps

int main(int argument_count, char** argument_values) {
  return whilst::command::report_errors("heat_steps", "a plate of this size", [=] {
    return whilst::heat_steps::parse_and_run(argument_count, argument_values);
  });
}
