// Runs elastic as a person or script would: arguments in; exit status, output and files out.
// Its path is the environment variable WHILST_TEST_ELASTIC, or else it is a neighbour of the program whilst.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/version.hpp"

namespace {

using nlohmann::json;
using whilst_test::check_refused;
using whilst_test::check_version_and_help;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double earth = 9.81;

outcome run(const strings& arguments) {
  const char* given = std::getenv("WHILST_TEST_ELASTIC");
  return whilst_test::run_program(given ? given : whilst_test::program_path("elastic"), arguments);
}

/// Runs it on the host with a report, and parses that.
json report_of(const strings& arguments, int expected_status = 0) {
  const outcome result = run(with(arguments, {"--executor", "host", "--json", "-"}));
  INFO(result.out << result.err);
  REQUIRE(result.status == expected_status);
  return json::parse(result.out);
}

/// The steps without their times, which differ from run to run.
json numbers_of(const json& report) {
  json steps = report["steps"];
  for (json& step : steps) step.erase("seconds");
  return steps;
}

}  // namespace

TEST_CASE("elastic tells its version and how it is used") { check_version_and_help("elastic", run); }

TEST_CASE("elastic: falling freely, the centre of mass is on the parabola of implicit Euler") {
  const std::string scene = GENERATE("solid", "cloth", "both");
  const json report = report_of({"--scene", scene, "--cells", "2", "--steps", "20", "--step-size", "0.02",
                                 "--no-obstacles", "--newton-tolerance", "1e-12"});
  const double h = 0.02, mass = report["mass"], vertices = report["vertices"];
  const double first = report["steps"][0]["centre_of_mass"][1];
  double before = HUGE_VAL;
  for (const json& step : report["steps"]) {
    const double k = step["step"];
    INFO(scene << ", step " << k);
    // Each step leaves no more force than the tolerance, of which a sum over coordinates may be sqrt(3 n) times as
    // large; positions of some metres have an error of epsilon, which a velocity has by h.
    const double force = std::sqrt(3 * vertices) * 1e-12 * earth * mass, rounding = 8 * epsilon / h;
    const double momentum_error = k * (h * force + mass * rounding);
    CHECK(std::abs(double(step["momentum"][0])) < momentum_error);
    CHECK(std::abs(double(step["momentum"][1]) + mass * earth * h * k) < momentum_error);
    CHECK(std::abs(double(step["momentum"][2])) < momentum_error);
    const double fallen = earth * h * h * (k * (k + 1) / 2 - 1);
    CHECK(std::abs(double(step["centre_of_mass"][1]) - (first - fallen)) <
          k * h * momentum_error / mass + 64 * epsilon);
    CHECK(double(step["contact_energy"]) == 0);
    // Implicit Euler loses energy, and never makes any.
    CHECK(double(step["energy"]) < before);
    before = step["energy"];
  }
}

TEST_CASE("elastic: what is at rest stays at rest without gravity") {
  const std::string scene = GENERATE("solid", "cloth");
  const json report = report_of({"--scene", scene, "--cells", "2", "--steps", "5", "--gravity", "0", "--spin", "0",
                                 "--newton-tolerance", "1e-12"});
  const double mass = report["mass"];
  for (const json& step : report["steps"]) {
    CHECK(double(step["kinetic_energy"]) == 0);
    CHECK(step["newton_iterations"] == 0);
    CHECK(step["evaluations"] == 1);
    CHECK(step["cg_iterations"] == 0);
    CHECK(std::abs(double(step["elastic_energy"])) < 1e-10 * mass);  // rounding of energies that are constant
    CHECK(step["centre_of_mass"] == report["steps"][0]["centre_of_mass"]);
  }
}

TEST_CASE("elastic: the incremental potential never rises, and energy is lost, on the way through a contact") {
  const std::string scene = GENERATE("solid", "cloth");
  const std::string hessian = GENERATE("projected", "exact");
  const json report =
      report_of({"--scene", scene, "--cells", "3", "--steps", "60", "--launch", "animation", "--hessian", hessian});
  CHECK(report["summary"]["converged"] == true);
  CHECK(report["launch"] == "animation");
  double most_contact = 0, before = HUGE_VAL;
  whilst::index_type newton = 0, evaluations = 0, inner = 0;
  for (const json& step : report["steps"]) {
    INFO(scene << ", " << hessian << ", step " << step["step"]);
    // The line search calls values equal that differ by 2e-15.
    CHECK(double(step["largest_rise"]) <= 64 * epsilon);
    CHECK(double(step["imbalance"]) <= 1e-5);
    // The start is evaluated, and then at least one length for each iteration.
    CHECK(whilst::index_type(step["evaluations"]) >= whilst::index_type(step["newton_iterations"]) + 1);
    CHECK(double(step["energy"]) <= before);
    before = step["energy"];
    most_contact = std::max(most_contact, double(step["contact_energy"]));
    newton += whilst::index_type(step["newton_iterations"]);
    evaluations += whilst::index_type(step["evaluations"]);
    inner += whilst::index_type(step["cg_iterations"]);
  }
  CHECK(most_contact > 0.01);
  CHECK(inner > newton);
  CHECK(report["summary"]["newton_iterations"] == newton);
  CHECK(report["summary"]["evaluations"] == evaluations);
  CHECK(report["summary"]["cg_iterations"] == inner);
}

TEST_CASE("elastic: a launch a step and one for all steps give the same bits") {
  const strings arguments{"--scene", "both", "--cells", "2", "--steps", "40"};
  const json by_step = report_of(with(arguments, {"--launch", "step"}));
  const json all = report_of(with(arguments, {"--launch", "animation"}));
  CHECK(by_step["steps"].size() == 40);
  CHECK(numbers_of(by_step) == numbers_of(all));
}

TEST_CASE("elastic: a step that is not solved makes the exit status 2") {
  const json report =
      report_of({"--cells", "2", "--steps", "3", "--newton-limit", "1", "--newton-tolerance", "1e-9"}, 2);
  CHECK(report["summary"]["converged"] == false);
  CHECK(report["steps"][0]["reason"] == "iteration_limit");
  CHECK(report["steps"].size() == 3);
}

TEST_CASE("elastic compares executors over the first steps") {
  const folder here;
  const outcome result = run({"--cells", "2", "--compare", "--json", here.at("report.json")});
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.out, "host"));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["newton_tolerance"] == 1e-12);
  REQUIRE(!report["comparison"].empty());
  for (const json& one : report["comparison"]) {
    CHECK(one["converged"] == true);
    CHECK(double(one["largest_difference"]) < 1e-10);
    CHECK(double(one["largest_rise"]) <= 64 * epsilon);
    CHECK(double(one["seconds_per_step"]) > 0);
  }
}

TEST_CASE("elastic with amg takes the same steps in fewer iterations of conjugate gradients") {
  const std::string scene = GENERATE("solid", "both");
  const strings arguments{"--scene", scene, "--cells", "3", "--steps", "8", "--stiffness", "1e6", "--newton-tolerance",
                          "1e-10"};
  const json jacobi = report_of(arguments);
  const strings with_amg = with(arguments, {"--preconditioner", "amg,coarsest_rows=60"});
  const json amg = report_of(with_amg);
  INFO(scene << ", " << amg["preconditioner"]);
  CHECK(jacobi["preconditioner"] == "jacobi");
  CHECK(contains(amg["preconditioner"], "amg, "));
  CHECK(contains(amg["preconditioner"], " levels"));
  REQUIRE(amg["steps"].size() == jacobi["steps"].size());
  const double mass = amg["mass"];
  for (std::size_t k = 0; k < amg["steps"].size(); ++k) {
    const json &mine = amg["steps"][k], &its = jacobi["steps"][k];
    CHECK(mine["reason"] == "converged_gradient");
    CHECK(double(mine["imbalance"]) <= 1e-10);
    CHECK(double(mine["largest_rise"]) <= 64 * epsilon);
    // Both leave forces of at most the tolerance, which move the centre by h^2 / mass times that in each step.
    const double moved =
        static_cast<double>((k + 1) * (k + 1)) * 1e-4 * 1e-10 * earth * std::sqrt(3 * double(amg["vertices"]));
    for (int c = 0; c < 3; ++c)
      CHECK(std::abs(double(mine["centre_of_mass"][c]) - double(its["centre_of_mass"][c])) <= 2 * moved + 64 * epsilon);
    CHECK(std::abs(double(mine["kinetic_energy"]) - double(its["kinetic_energy"])) <= 1e-6 * mass);
  }
  CHECK(2 * whilst::index_type(amg["summary"]["cg_iterations"]) <
        whilst::index_type(jacobi["summary"]["cg_iterations"]));
  // One launch for all steps: the same bits.
  CHECK(numbers_of(report_of(with(with_amg, {"--launch", "animation"}))) == numbers_of(amg));
}

TEST_CASE("elastic with amg goes through a contact, also where Hessians are indefinite") {
  const std::string scene = GENERATE("solid", "cloth");
  const std::string hessian = GENERATE("projected", "exact");
  const json report = report_of({"--scene", scene, "--cells", "2", "--steps", "60", "--preconditioner",
                                 "amg,coarsest_rows=50", "--hessian", hessian});
  INFO(scene << ", " << hessian);
  double most_contact = 0, before = HUGE_VAL;
  for (const json& step : report["steps"]) {
    CHECK(double(step["largest_rise"]) <= 64 * epsilon);
    CHECK(double(step["imbalance"]) <= 1e-5);
    CHECK(double(step["energy"]) <= before);
    before = step["energy"];
    most_contact = std::max(most_contact, double(step["contact_energy"]));
  }
  CHECK(most_contact > 0.01);
}

TEST_CASE("elastic with amg takes the same bits under stream and graph, and what the host takes but for rounding") {
  if (whilst::cuda::device_count() == 0) return;
  const strings arguments{"--cells",
                          "3",
                          "--steps",
                          "4",
                          "--stiffness",
                          "1e6",
                          "--newton-tolerance",
                          "1e-10",
                          "--preconditioner",
                          "amg,coarsest_rows=60",
                          "--json",
                          "-",
                          "--executor"};
  const auto steps_on = [&](const std::string& executor, const std::string& launch) {
    const outcome result = run(with(arguments, {executor, "--launch", launch}));
    INFO(executor << result.out << result.err);
    REQUIRE(result.status == 0);
    return numbers_of(json::parse(result.out));
  };
  const json by_host = steps_on("host", "step"), by_stream = steps_on("stream", "step");
  CHECK(steps_on("graph", "step") == by_stream);
  CHECK(steps_on("graph", "animation") == by_stream);
  REQUIRE(by_stream.size() == by_host.size());
  for (std::size_t k = 0; k < by_host.size(); ++k)
    for (int c = 0; c < 3; ++c)
      CHECK(std::abs(double(by_stream[k]["centre_of_mass"][c]) - double(by_host[k]["centre_of_mass"][c])) < 1e-10);
}

TEST_CASE("elastic compares amg with Jacobi and with loops of the host's") {
  const bool on_gpu = GENERATE(false, true);
  if (on_gpu && whilst::cuda::device_count() == 0) return;
  const folder here;
  const outcome result = run({"--cells", "2", "--compare", "--preconditioner", "amg", "--executor",
                              on_gpu ? "graph" : "host", "--steps", "4", "--json", here.at("report.json")});
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  for (const char* words : {"host, refreshes", "host, sets up", "jacobi"}) CHECK(contains(result.out, words));
  const json runs = json::parse(text_of(here / "report.json"))["comparison"];
  const strings launches = on_gpu ? strings{"step", "animation", "refresh", "set_up", "animation"}
                                  : strings{"step", "refresh", "set_up", "step"};
  REQUIRE(runs.size() == launches.size());
  for (std::size_t k = 0; k < runs.size(); ++k) {
    CHECK(runs[k]["launch"] == launches[k]);
    CHECK(runs[k]["converged"] == true);
    CHECK(double(runs[k]["largest_difference"]) < 1e-10);
    CHECK(int(runs[k]["newton_iterations"]) > 0);
    CHECK(int(runs[k]["cg_iterations"]) > 0);
    CHECK(double(runs[k]["seconds_per_step"]) > 0);
  }
}

TEST_CASE("elastic writes pictures, meshes and a report") {
  const folder here;
  const outcome result = run({"--scene", "both", "--cells", "1", "--steps", "5", "--every", "2", "--executor", "host",
                              "--picture", here.at("last.png"), "--frames", here.at("frames"), "--vtk",
                              here.at("meshes"), "--json", here.at("r.json")});
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.out, "every step converged"));
  CHECK(contains(result.out, "kinetic"));
  for (const char* name : {"last.png", "frames/frame_0000.png", "frames/frame_0001.png", "frames/frame_0002.png"}) {
    const std::string picture = text_of(here / name);
    REQUIRE(picture.size() > 1000);
    CHECK(picture.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(picture.substr(12, 4) == "IHDR");
    CHECK(picture.substr(16, 8) == std::string("\0\0\x03\xc0\0\0\x02\xd0", 8));  // 960 x 720
    CHECK(picture.substr(picture.size() - 8, 4) == "IEND");
  }
  CHECK(!std::filesystem::exists(here / "frames/frame_0003.png"));
  CHECK(text_of(here / "frames/frame_0000.png") != text_of(here / "frames/frame_0002.png"));

  const json report = json::parse(text_of(here / "r.json"));
  std::istringstream mesh(text_of(here / "meshes/elastic_0002.vtk"));
  std::string line, word;
  std::getline(mesh, line);
  CHECK(line == "# vtk DataFile Version 3.0");
  std::getline(mesh, line);
  CHECK(line == "elastic bodies at 0.04 s");
  std::size_t points = 0;
  while (mesh >> word && word != "POINTS") {
  }
  mesh >> points >> word;
  CHECK(points == report["vertices"]);
  double mass_of_points = 0, x, y, z;
  for (std::size_t k = 0; k < points; ++k) {
    mesh >> x >> y >> z;
    mass_of_points += y > 0 && y < 2;
  }
  CHECK(mass_of_points == double(points));
  std::size_t cells = 0, numbers = 0;
  mesh >> word >> cells >> numbers;
  CHECK(word == "CELLS");
  CHECK(cells == std::size_t(report["tetrahedra"]) + 2 * 16);  // 4 x 4 squares of cloth
  CHECK(numbers == 5 * std::size_t(report["tetrahedra"]) + 4 * 2 * 16);
  for (std::size_t k = 0; k < cells; ++k) {
    std::size_t corners = 0, v = 0;
    mesh >> corners;
    REQUIRE((corners == 3 || corners == 4));
    for (std::size_t c = 0; c < corners; ++c) {
      mesh >> v;
      REQUIRE(v < points);
    }
  }
  mesh >> word;
  CHECK(word == "CELL_TYPES");
}

TEST_CASE("elastic refuses what it cannot do, and says what it can") {
  const folder here;
  here.with("file", "text");
  check_refused("elastic", run,
                {
                    {{"--scene", "water"}, "give one of solid, cloth, both"},
                    {{"--cells", "0"}, "whole number"},
                    {{"--cells", "2.5"}, "whole number"},
                    {{"--steps", "-1"}, "whole number"},
                    {{"--step-size", "0"}, "above 0"},
                    {{"--step-size", "nan"}, "above 0"},
                    {{"--stiffness", "-3"}, "above 0"},
                    {{"--newton-tolerance", "x"}, "above 0"},
                    {{"--newton-limit", "1000"}, "whole number"},
                    {{"--gravity", "-1"}, "from 0 to"},
                    {{"--executor", "fast"}, "give one of auto, host"},
                    {{"--launch", "all"}, "give one of step, animation"},
                    {{"--hessian", "none"}, "give one of projected, exact"},
                    {{"--preconditioner", "ilu"}, "Use jacobi or amg"},
                    {{"--preconditioner", "amg,strength=-1"}, "strength"},
                    {{"--preconditioner", ""}, "--preconditioner"},
                    {{"--frames", here.at("file")}, "no directory"},
                    {{"--vtk", here.at("file/below")}, "no directory"},
                    {{"--picture", here.at("none/x.png")}, "directory"},
                    {{"--picture", here.at("x"), "--json", here.at("x")}, "the same file"},
                    {{"--compare", "--picture", here.at("x.png")}, "no pictures"},
                    {{"--frobnicate"}, "--frobnicate"},
                });
  CHECK(here.files() == 1);
}
