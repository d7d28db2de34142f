// Runs heat_steps as a person or script would: arguments in; exit status, output and files out.
// Its path is the environment variable WHILST_TEST_HEAT_STEPS, or else it is a neighbour of the program whilst.

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <Eigen/Sparse>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "tests/under_sanitizers.hpp"
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

constexpr double rtol = 1e-10;  // of each solve

outcome run(const strings& arguments) {
  const char* given = std::getenv("WHILST_TEST_HEAT_STEPS");
  return whilst_test::run_program(given ? given : whilst_test::program_path("heat_steps"), arguments);
}

json report_of(const strings& arguments) {
  const outcome result = run(with(arguments, {"--json", "-", "--repetitions", "1"}));
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  return json::parse(result.out);
}

/// The CPU, and a GPU where there is one.
strings executors() { return whilst::cuda::device_count() > 0 ? strings{"host", "graph"} : strings{"host"}; }

/// What backward Euler multiplies the sine by in a step: it is an eigenvector of the stencil.
double decay(double cells, double time_step) {
  const double half = std::sin(std::numbers::pi / (2 * cells));
  return 1 / (1 + time_step * 8 * cells * cells * half * half);
}

/// The hottest point and the 2-norm after some steps, each solved by Eigen's Cholesky. Conductivity is
/// 1 + conductivity u^2, by u of the step before.
std::pair<double, double> by_cholesky(int cells, double time_step, double flame, int steps, double conductivity = 0) {
  const int m = cells - 1;
  const double h = 1.0 / cells;
  Eigen::VectorXd u(m * m), f(m * m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i)
      u[j * m + i] = std::sin(std::numbers::pi * (i + 1) * h) * std::sin(std::numbers::pi * (j + 1) * h);
  const auto matrix = [&] {
    std::vector<Eigen::Triplet<double>> entries;
    const auto k_at = [&](int i, int j) {
      const bool inside = i >= 0 && j >= 0 && i < m && j < m;
      return 1 + (inside ? conductivity * u[j * m + i] * u[j * m + i] : 0);
    };
    for (int j = 0; j < m; ++j) {
      for (int i = 0; i < m; ++i) {
        const int k = j * m + i;
        entries.emplace_back(k, k, 1.0);
        for (const auto& [x, y] :
             {std::pair(i - 1, j), std::pair(i + 1, j), std::pair(i, j - 1), std::pair(i, j + 1)}) {
          const double coupling = time_step / (h * h) * (k_at(i, j) + k_at(x, y)) / 2;
          entries.emplace_back(k, k, coupling);
          if (x >= 0 && y >= 0 && y * m + x < k && x < m) entries.emplace_back(k, y * m + x, -coupling);
        }
      }
    }
    Eigen::SparseMatrix<double> lower_triangle(m * m, m * m);
    lower_triangle.setFromTriplets(entries.begin(), entries.end());
    return lower_triangle;
  };
  for (int step = 1; step <= steps; ++step) {
    const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> factors(matrix());
    const double moved = std::min(1.0, step * time_step);
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < m; ++i)
        f[j * m + i] =
            flame *
            std::exp(-(std::pow((i + 1) * h - 0.25 - 0.5 * moved, 2) + std::pow((j + 1) * h - 0.25 - 0.35 * moved, 2)) /
                     (2 * 0.05 * 0.05));
    const Eigen::VectorXd b = u + time_step * f;
    u = factors.solve(b);
  }
  return {u.maxCoeff(), u.norm()};
}

/// The PNG that an SVG file holds, read by hand here; its rows are differences from those above.
struct raster_in_svg {
  int width = 0, height = 0;
  std::string rgb;

  explicit raster_in_svg(const std::string& svg) {
    const std::string before = "data:image/png;base64,";
    const std::size_t begin = svg.find(before);
    REQUIRE(begin != std::string::npos);
    const std::string png = decoded(svg.substr(begin + before.size(), svg.find('"', begin) - begin - before.size()));
    REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    const auto number = [&](std::size_t at) {
      int value = 0;
      for (std::size_t k = at; k < at + 4; ++k) value = value << 8 | static_cast<unsigned char>(png[k]);
      return value;
    };
    width = number(16);
    height = number(20);
    std::string rows(static_cast<std::size_t>(height * (3 * width + 1)), '\0');
    uLongf size = rows.size();
    REQUIRE(png.substr(37, 4) == "IDAT");
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(&png[41]),
                       static_cast<uLong>(number(33))) == Z_OK);
    REQUIRE(size == rows.size());
    for (int y = 0; y < height; ++y) {
      for (int k = 0; k < 3 * width; ++k) {
        const char above = y > 0 ? rgb[static_cast<std::size_t>((y - 1) * 3 * width + k)] : '\0';
        rgb += static_cast<char>(above + rows[static_cast<std::size_t>(y * (3 * width + 1) + 1 + k)]);
      }
    }
  }
  int brightness(int x, int y) const {
    int sum = 0;
    for (int k = 0; k < 3; ++k)
      sum += static_cast<unsigned char>(rgb[static_cast<std::size_t>(3 * (y * width + x) + k)]);
    return sum;
  }

  static std::string decoded(const std::string& base64) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned bits = 0;
    int count = 0;
    for (const char c : base64.substr(0, base64.find('='))) {
      bits = bits << 6 | static_cast<unsigned>(digits.find(c));
      if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
    }
    return bytes;
  }
};

/// All ways made the same steps; where the host asks, it enqueues for each of them.
void check_ways(const json& report, const std::string& executor, int steps, const std::string& ending) {
  REQUIRE(report["ways"].size() == (executor == "host" ? 1 : 3));
  for (const json& way : report["ways"]) {
    INFO(way.dump());
    CHECK(way["steps"] == steps);
    CHECK(way["ending"] == ending);
    CHECK(way["same_bits"] == true);
    CHECK(way["iterations"] == report["ways"][0]["iterations"]);
    CHECK(way["iterations"] >= steps);
    CHECK(contains(way["last_solve"], "converged: "));
    if (executor == "host") CHECK(way["enqueued_by_host"] == 0);
    if (way["way"] == "step") CHECK(way["enqueued_by_host"] == steps);
    if (way["way"] == "whole") CHECK(way["enqueued_by_host"] == 2);  // the graph, and a copy
  }
}

}  // namespace

TEST_CASE("heat_steps tells its version and how it is used") {
  check_version_and_help("heat_steps", run, {"backward Euler", "--cells", "WHILE node"});
}

TEST_CASE("heat_steps: without a flame the sine decays as backward Euler has it, in all ways") {
  // 2 cells: one unknown. An even number has a point at the centre, where the sine is 1.
  for (const int cells : {2, 16, 64}) {
    for (const std::string& executor : executors()) {
      INFO(executor << ", cells " << cells);
      constexpr int steps = 12;
      const json report = report_of({"--flame", "0", "--steady", "0", "--steps", std::to_string(steps), "--cells",
                                     std::to_string(cells), "--executor", executor});
      const double expected = std::pow(decay(cells, 0.01), steps), first_norm = 0.5 * cells;
      // Each solve leaves a residual of rtol times a right-hand side no larger than the first; steps never amplify.
      const double tolerance = steps * rtol * first_norm;
      CHECK(double(report["norm"]) == Approx(first_norm * expected).margin(tolerance).epsilon(0));
      CHECK(double(report["centre"]) == Approx(expected).margin(tolerance).epsilon(0));
      CHECK(double(report["time"]) == Approx(0.01 * steps));
      check_ways(report, executor, steps, "all_steps");
    }
  }
}

TEST_CASE("heat_steps ends where a step changes little, in all ways in the same one") {
  constexpr int cells = 24;
  constexpr double time_step = 0.004, steady = 1.03e-3;
  const double factor = decay(cells, time_step), mean_root = 0.5 * cells / (cells - 1);
  int steps = 1;
  while (mean_root * std::pow(factor, steps - 1) * (1 - factor) > steady) ++steps;
  REQUIRE(steps > 10);
  // Not a matter of rounding.
  REQUIRE(mean_root * std::pow(factor, steps - 2) * (1 - factor) > 1.01 * steady);
  REQUIRE(mean_root * std::pow(factor, steps - 1) * (1 - factor) < 0.99 * steady);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const json report = report_of({"--flame", "0", "--cells", "24", "--time-step", "0.004", "--steady", "1.03e-3",
                                   "--steps", "1000", "--executor", executor});
    check_ways(report, executor, steps, "steady");
    CHECK(double(report["change"]) <= steady);
  }
}

TEST_CASE("heat_steps: a flame that moves and rests heats as by Eigen's Cholesky") {
  constexpr int cells = 20, steps = 26;  // of 0.05: it rests from the 20th on
  const auto [hottest, norm] = by_cholesky(cells, 0.05, 100, steps);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const json report =
        report_of({"--cells", "20", "--time-step", "0.05", "--steps", "26", "--steady", "0", "--executor", executor});
    check_ways(report, executor, steps, "all_steps");
    // Right-hand sides are below 2 (norm + flame's), which is some 10.
    const double tolerance = steps * rtol * 100;
    CHECK(double(report["norm"]) == Approx(norm).margin(tolerance).epsilon(0));
    CHECK(double(report["hottest"]) == Approx(hottest).margin(tolerance).epsilon(0));
  }
}

TEST_CASE("heat_steps: conductivity that depends on temperature, with amg whose levels follow") {
  constexpr int cells = 40, steps = 6;
  const auto [hottest, norm] = by_cholesky(cells, 0.02, 100, steps, 5);
  const double of_constant = by_cholesky(cells, 0.02, 100, steps).second;
  CHECK(std::abs(norm - of_constant) > 0.1 * of_constant);  // it matters
  whilst::index_type by_jacobi = 0;
  for (const std::string& executor : executors()) {
    for (const std::string preconditioner : {"jacobi", "amg,coarsest_rows=60"}) {
      INFO(executor << ", " << preconditioner);
      const json report =
          report_of({"--cells", "40", "--time-step", "0.02", "--steps", "6", "--steady", "0", "--conductivity", "5",
                     "--preconditioner", preconditioner, "--executor", executor});
      check_ways(report, executor, steps, "all_steps");
      // Right-hand sides are below 2 (norm + flame's), some 40.
      const double tolerance = steps * rtol * 100;
      CHECK(double(report["norm"]) == Approx(norm).margin(tolerance).epsilon(0));
      CHECK(double(report["hottest"]) == Approx(hottest).margin(tolerance).epsilon(0));
      const whilst::index_type iterations = report["ways"][0]["iterations"];
      if (preconditioner == "jacobi") by_jacobi = iterations;
      if (preconditioner != "jacobi") CHECK(3 * iterations < by_jacobi);
    }
  }
}

TEST_CASE("heat_steps compares solvers made anew, and Jacobi") {
  for (const std::string& executor : executors()) {
    INFO(executor);
    const std::size_t ways_of_one = executor == "host" ? 2 : 4;
    const json report = report_of({"--cells", "24", "--steps", "4", "--steady", "0", "--conductivity", "2",
                                   "--preconditioner", "amg,coarsest_rows=30", "--compare", "--executor", executor});
    REQUIRE(report["ways"].size() == ways_of_one + 1);
    for (std::size_t k = 0; k < report["ways"].size(); ++k) {
      const json& way = report["ways"][k];
      INFO(way.dump());
      CHECK(way["preconditioner"] == (k < ways_of_one ? "amg,coarsest_rows=30" : "jacobi"));
      CHECK((way["way"] == "anew") == (k == ways_of_one - 1));
      CHECK(way["repetitions"] == 1);
      CHECK(way["same_bits"] == true);
      CHECK(way["steps"] == 4);
      CHECK(double(way["largest_difference"]) <= 4 * rtol * 100);
    }
    CHECK(report["ways"][0]["largest_difference"] == 0);
    CHECK(report["ways"][ways_of_one]["way"] == (executor == "host" ? "plain" : "whole"));
    CHECK(3 * int(report["ways"][0]["iterations"]) < int(report["ways"][ways_of_one]["iterations"]));
  }
}

TEST_CASE("heat_steps cuts the run with Jacobi short where it takes long, and says so") {
  for (const std::string& executor : executors()) {
    INFO(executor);
    const strings arguments{
        "--cells", "24",        "--steps",    "4",      "--steady",          "0", "--preconditioner",
        "amg",     "--compare", "--executor", executor, "--compare-seconds", "0"};
    const json ways = report_of(arguments)["ways"];
    const json &amg = ways.front(), &jacobi = ways.back();
    CHECK(amg["steps"] == 4);
    CHECK(jacobi["steps"] == 1);
    CHECK(jacobi["repetitions"] == 0);
    CHECK(jacobi["largest_difference"].is_null());
    CHECK(double(jacobi["seconds_a_step"]) > 0);
    const outcome result = run(arguments);
    CHECK(result.status == 0);
    CHECK(contains(result.out, "cut short   jacobi made 1 of 4 steps: a step takes "));
  }
}

TEST_CASE("heat_steps with a lagged amg makes the same bits in all ways") {
  for (const std::string& executor : executors()) {
    INFO(executor);
    const json report =
        report_of({"--cells", "40", "--time-step", "0.02", "--steps", "6", "--steady", "0", "--conductivity", "5",
                   "--preconditioner", "amg,coarsest_rows=60,refresh=lagged", "--executor", executor});
    check_ways(report, executor, 6, "all_steps");
    const auto [hottest, norm] = by_cholesky(40, 0.02, 100, 6, 5);
    CHECK(double(report["norm"]) == Approx(norm).margin(6 * rtol * 100).epsilon(0));
    CHECK(double(report["hottest"]) == Approx(hottest).margin(6 * rtol * 100).epsilon(0));
  }
}

TEST_CASE("heat_steps prints a table, writes a report and a picture") {
  const folder here;
  strings arguments{"--executor",           "host",      "--cells",           "130", "--steps", "3", "--json",
                    here.at("report.json"), "--picture", here.at("plate.svg")};
  if (whilst_test::under_sanitizers) arguments = with(arguments, {"--repetitions", "1"});
  const outcome result = run(arguments);
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  for (const char* part : {"CG iterations", "ms a step", "plain", "all_steps", "converged"})
    CHECK(contains(result.out, part));
  CHECK(json::parse(text_of(here / "report.json"))["program"] == "heat_steps");
  const std::string picture = text_of(here / "plate.svg");
  CHECK(picture.rfind("<svg", 0) == 0);
  CHECK(picture.size() < 60'000);
  for (const char* part : {">Temperature of the plate after 3 steps, at time 0.03</text>", ">x</text>", ">y</text>",
                           ">temperature u</text>", "<linearGradient"})
    CHECK(contains(picture, part));
  // The raster: a pixel a point, black at the corners, where the sine is small, white at the hottest.
  const raster_in_svg raster(picture);
  CHECK(raster.width == 129);
  CHECK(raster.height == 129);
  CHECK(raster.brightness(0, 0) < 60);
  int brightest = 0;
  for (int y = 0; y < raster.height; ++y)
    for (int x = 0; x < raster.width; ++x) brightest = std::max(brightest, raster.brightness(x, y));
  CHECK(brightest == 3 * 255);
  // The flame is at (0.265, 0.26) by then, and the picture's y points up.
  CHECK(raster.brightness(34, 129 - 33) > raster.brightness(34, 33));
}

TEST_CASE("heat_steps refuses what it cannot do, and says what it can") {
  const folder here;
  check_refused("heat_steps",
                [](const strings& arguments) {
                  return run(with({"--executor", "host"}, arguments));
                },
                {
                    {{"--cells", "1"}, "whole number"},
                    {{"--cells", "4097"}, "whole number"},
                    {{"--steps", "0"}, "whole number"},
                    {{"--time-step", "0"}, "a number of at least"},
                    {{"--time-step", "inf"}, "a number of at least"},
                    {{"--flame", "-1"}, "a number of at least"},
                    {{"--steady", "nan"}, "a number of at least"},
                    {{"--conductivity", "-1"}, "a number of at least"},
                    {{"--preconditioner", "amgg"}, "amgg"},
                    {{"--preconditioner", "amg,strength=7"}, "strength"},
                    {{"--preconditioner", ""}, "--preconditioner"},
                    {{"--repetitions", "0"}, "whole number"},
                    {{"--executor", "stream"}, "give one of auto, host, graph"},
                    {{"--json", ""}, "--json"},
                    {{"--picture", here.at("none/x.svg")}, "directory"},
                    {{"--json", here.at("same"), "--picture", here.at("same")}, "same"},
                    {{"more"}, "more"},
                });
  CHECK(here.files() == 0);
}
