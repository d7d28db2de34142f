#include "arguments.hpp"

#include <fmt/format.h>

#include "apps/common/command_line.hpp"
#include "whilst/minimizer.hpp"

namespace whilst::elastic {
namespace {

using command::add, command::add_threads, command::not_empty, command::one_of, command::whole_number;

/// Number of steps that --compare takes.
constexpr index_type compared_steps = 10;

CLI::Validator positive(const char* example) {
  return command::number<double>(
      "NUMBER", [](double value) { return value > 0 && value <= 1e12; },
      fmt::format("a number above 0, as {}", example));
}
CLI::Validator between(double least, double most, const char* example) {
  return command::number<double>(
      "NUMBER", [=](double value) { return value >= least && value <= most; },
      fmt::format("a number from {} to {}, as {}", least, most, example));
}

}  // namespace

arguments::arguments()
    : app("Lets an elastic solid and a cloth fall onto obstacles, by implicit Euler and Newton's method, on the GPU or "
          "the CPU.",
          "elastic") {
  scene_options& scene = given_.scene;
  simulation_settings& simulation = given_.simulation;
  scene.cells = 0;
  command::add_version(app);
  add(&app, "--scene", scene.name, "What falls (default solid)", one_of({"solid", "cloth", "both"}));
  add(&app, "--cells", scene.cells,
      "Cells along the solid's shorter edges: it has 10 N^3 tetrahedra, the cloth (4 N)^2 squares (default 6, on a GPU "
      "10)",
      whole_number(1, 50, "10"))
      ->option_text("N");
  add(&app, "--stiffness", scene.stiffness, "Young's modulus of the solid in pascals (default 60000)",
      positive("60000"));
  add(&app, "--spin", scene.spin, "How fast the solid tumbles, radians a second (default 2)", between(-100, 100, "2"));
  app.add_flag("--no-obstacles", no_obstacles_, "Leave floor and spheres out");
  add(&app, "--steps", simulation.steps, "Time steps (default 100)", whole_number(1, 1'000'000, "100"));
  add(&app, "--step-size", simulation.step_size, "Seconds a step (default 0.01)", positive("0.01"));
  add(&app, "--gravity", simulation.gravity, "In m/s^2 (default 9.81)", between(0, 1000, "9.81"));
  add(&app, "--friction", simulation.friction, "Coefficient of friction (default 0.3)", between(0, 10, "0.3"));
  add(&app, "--newton-tolerance", simulation.newton_tolerance,
      "A step is done when the forces out of balance are this part of the weight (default 1e-5; 1e-12 to compare)",
      positive("1e-5"));
  add(&app, "--newton-limit", simulation.newton_limit, "Newton iterations of a step (default 100)",
      whole_number(1, 127, "100"));
  add(&app, "--hessian", hessian_,
      "Each term's made positive semi-definite, or as it is, where conjugate gradients end at negative curvature "
      "(default projected)",
      one_of({"projected", "exact"}));
  add(&app, "--preconditioner", simulation.preconditioner,
      "Of conjugate gradients: jacobi, or amg, whose levels are made anew from each Hessian within the launch; "
      "settings "
      "after its name, as amg,strength=0.1 (default jacobi)",
      command::not_empty())
      ->option_text("NAME");
  add(&app, "--executor", simulation.executor,
      "What runs the loops: the CPU; kernel launches; one CUDA graph (default auto)",
      one_of({"auto", "host", "stream", "graph"}));
  add_threads(&app, simulation.threads);
  add(&app, "--launch", given_.launch, "What a launch is: a time step, or all of them (default step)",
      one_of({"step", "animation"}));
  app.add_flag("--compare", given_.compare,
               fmt::format("Run the first {} steps on every executor there is: largest difference of positions, and "
                           "time per step; with another preconditioner than jacobi, the same with jacobi, and with "
                           "Newton's method as a loop of the host's",
                           compared_steps));
  add(&app, "--json", given_.json, "Write a report; - for standard output, with nothing else on it", not_empty());
  add(&app, "--picture", given_.picture, "Write a picture of the last step (PNG)", not_empty());
  add(&app, "--frames", given_.frames, "Write a picture of each step there: frame_0000.png, ...", not_empty())
      ->type_name("DIR");
  add(&app, "--vtk", given_.vtk, "Write the mesh of each step there, for ParaView: elastic_0000.vtk, ...", not_empty())
      ->type_name("DIR");
  add(&app, "--every", simulation.frame_interval, "Pictures and meshes of every K-th step only (default 1)",
      whole_number(1, 1'000'000, "4"))
      ->option_text("K");
  app.footer(
      "Each step minimizes the incremental potential: inertia about where the bodies would go by themselves, stable\n"
      "neo-Hookean tetrahedra, springs of the cloth, contact, friction. Newton's method, whose Hessians are made "
      "positive\n"
      "term by term, with a line search, and conjugate gradients within. evals counts the line search's and one at "
      "the\n"
      "start of each step.\n\n"
      "Examples:\n"
      "  elastic --picture last.png                              a block falls onto a sphere\n"
      "  elastic --scene cloth --cells 8 --frames frames --every 4\n"
      "  elastic --cells 10 --launch animation --json - | jq .summary\n"
      "  elastic --cells 10 --compare                            host, stream and graph beside one another\n"
      "  elastic --cells 20 --stiffness 1e6 --preconditioner amg\n"
      "  ffmpeg -framerate 25 -i frames/frame_%04d.png film.mp4  (the frames are numbered without gaps)\n\n"
      "Exit status: 0 every step converged; 2 not so; 1 any error.");
}

elastic_options arguments::options() const {
  elastic_options options = given_;
  options.scene.obstacles = !no_obstacles_;
  options.simulation.projected = hessian_ == "projected";
  if (options.scene.cells == 0)
    options.scene.cells = options.compare || !place_of_executor(options.simulation.executor).on_host() ? 10 : 6;
  if (options.compare) {
    options.simulation.steps = std::min(options.simulation.steps, compared_steps);
    if (app.count("--newton-tolerance") == 0) options.simulation.newton_tolerance = 1e-12;
  }
  return options;
}

}  // namespace whilst::elastic
