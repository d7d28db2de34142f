// Runs whilst minimize as a person or script would: arguments in; exit status, output and files out.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/version.hpp"

namespace {

using nlohmann::json;
using whilst_test::array_entries;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) {
  return whilst_test::run_program(whilst_test::program_path("whilst"), with({"minimize"}, arguments));
}

/// On the host, with the report on standard output.
json report_of(const strings& arguments, int expected_status = 0) {
  const outcome result = run(with(arguments, {"--executor", "host", "--json", "-"}));
  INFO(result.err);
  REQUIRE(result.status == expected_status);
  return json::parse(result.out);
}

struct point {
  double x, y;
};
/// The points of a curve in a picture. It has the colour of the sample beside its label in the legend, and comes first.
std::vector<point> curve_of(const std::string& picture, const std::string& label) {
  const std::string style = "\" fill=\"none\" stroke=\"";
  const std::size_t sample = picture.rfind(style, picture.find(">" + label + "</text>"));
  REQUIRE(sample != std::string::npos);
  const std::size_t end = picture.find(picture.substr(sample, style.size() + 7));
  REQUIRE(end < sample);
  const std::size_t begin = picture.rfind('"', end - 1) + 1;
  std::string path = picture.substr(begin, end - begin);
  for (char& c : path)
    if (c == 'M' || c == 'L') c = ' ';
  std::istringstream numbers(path);
  std::vector<point> points;
  for (point p; numbers >> p.x >> p.y;) points.push_back(p);
  REQUIRE(numbers.eof());
  return points;
}

}  // namespace

TEST_CASE("minimize: x, report, history and picture are written, and x is right") {
  const folder here;
  const outcome result =
      run({"extended-rosenbrock:20", "--executor", "host", "--gradient-tolerance", "1e-9", "--output", here.at("x.mtx"),
           "--json", here.at("report.json"), "--history", here.at("history.csv"), "--plot", here.at("picture.svg")});
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(here.files() == 4);
  CHECK(contains(result.out, "converged_gradient"));
  CHECK(contains(result.out, "20 unknowns"));
  CHECK(contains(result.out, "a published minimum; published: 0"));

  // All ones. The Hessian at the minimum has 2 x 2 blocks [802 -400; -400 200], whose least eigenvalue is 0.399: at
  // |g| = 1e-9 no unknown is off by more than 2.6e-9.
  const std::vector<double> x = array_entries(here / "x.mtx");
  REQUIRE(x.size() == 20);
  for (const double entry : x) CHECK(std::abs(entry - 1) <= 2.6e-9);

  const json report = json::parse(text_of(here / "report.json"));
  for (const char* key : {"method",
                          "line_search",
                          "executor",
                          "precision",
                          "n",
                          "iterations",
                          "evaluations",
                          "reason",
                          "converged",
                          "value",
                          "published_minimum",
                          "at_published_minimum",
                          "gradient_norm",
                          "first_gradient_norm",
                          "setup_seconds",
                          "solve_seconds",
                          "seconds_per_iteration",
                          "seconds_per_evaluation",
                          "device",
                          "version",
                          "message",
                          "note"}) {
    INFO(key);
    CHECK(report.contains(key));
  }
  for (const char* key : {"preconditioner", "nnz", "relative_residual"}) CHECK_FALSE(report.contains(key));
  CHECK(report["method"] == "lbfgs");
  CHECK(report["line_search"] == "strong-wolfe");
  CHECK(report["executor"] == "host");
  CHECK(report["n"] == 20);
  CHECK(report["function"] == "extended-rosenbrock");
  CHECK(report["reason"] == "converged_gradient");
  CHECK(report["gradient_norm"].get<double>() <= 1e-9);
  CHECK(report["at_published_minimum"] == true);
  CHECK(report["version"] == whilst::version);
  const int iterations = report["iterations"], evaluations = report["evaluations"];
  CHECK(iterations >= 10);
  CHECK(evaluations > iterations);
  // By hand: f = 24.2 a pair at the start, with gradient (-215.6, -88).
  constexpr double roundings = 64 * std::numeric_limits<double>::epsilon();
  CHECK(report["history"]["values"][0].get<double>() == Approx(10 * 24.2).epsilon(roundings));
  CHECK(report["first_gradient_norm"].get<double>() ==
        Approx(std::sqrt(10 * (215.6 * 215.6 + 88 * 88))).epsilon(roundings));
  CHECK(report["history"]["step_lengths"][0] == 0);
  CHECK(report["history"]["evaluations"][0] == 1);
  CHECK(report["history"]["evaluations"].back() == evaluations);

  std::istringstream history(text_of(here / "history.csv"));
  std::string line;
  std::getline(history, line);
  CHECK(line == "iteration,value,gradient_norm,step_length,evaluations");
  int records = 0;
  for (; std::getline(history, line); ++records) CHECK(std::stoi(line) == records);
  CHECK(records == iterations + 1);

  const std::string picture = text_of(here / "picture.svg");
  CHECK(picture.substr(0, 4) == "<svg");
  CHECK(contains(picture, "</svg>"));
  CHECK(contains(picture, "Extended Rosenbrock, n = 20"));
  CHECK(contains(picture, "lowest ||g|| so far"));  // ||g|| itself goes up and down
}

TEST_CASE("minimize: a picture's curve of the lowest gradient norm falls where that falls, and never rises") {
  const folder here;
  const json report = report_of({"rosenbrock", "--plot", here.at("picture.svg")});
  const std::vector<point> curve = curve_of(text_of(here / "picture.svg"), "lowest ||g|| so far");
  const std::vector<double> norms = report["history"]["gradient_norms"];
  REQUIRE(curve.size() == norms.size());
  double lowest = norms[0];
  int rises = 0;
  for (std::size_t k = 1; k < norms.size(); ++k) {
    INFO("iteration " << k);
    rises += norms[k] > norms[k - 1];
    CHECK(curve[k].x > curve[k - 1].x);
    // y grows downwards and has one decimal, and a decade of this picture is more than 10 units high.
    if (norms[k] >= lowest) CHECK(curve[k].y == curve[k - 1].y);
    if (norms[k] < lowest) CHECK(curve[k].y >= curve[k - 1].y);
    if (norms[k] < 0.9 * lowest) CHECK(curve[k].y > curve[k - 1].y);
    lowest = std::min(lowest, norms[k]);
  }
  CHECK(rises > 0);  // else the curve of the norms themselves would pass
}

TEST_CASE("minimize: every method and line search finds the minimum") {
  for (const char* method :
       {"lbfgs", "bfgs", "newton", "newton-cg", "conjugate-gradient-pr", "conjugate-gradient-hz"}) {
    for (const char* search : {"backtracking", "strong-wolfe", "approximate-wolfe", "parallel"}) {
      // Lengths that only reduce f are not good enough for the directions of conjugate gradients.
      if (contains(method, "conjugate") && contains(search, "backtracking")) continue;
      const json report = report_of({"wood", "--method", method, "--line-search", search});
      INFO(method << " " << search);
      CHECK(report["method"] == method);
      CHECK(report["line_search"] == search);
      CHECK(report["value"].get<double>() <= 1e-12);
    }
  }
  CHECK(report_of({"beale", "--method", "gradient-descent"})["at_published_minimum"] == true);
}

TEST_CASE("minimize: the Hessian as a matrix and as products, and both dampings, lead to the same minimum") {
  for (const char* method : {"newton-cg", "trust-region", "levenberg-marquardt", "dogleg"}) {
    for (const char* hessian : {"auto", "assembled", "matrix-free"}) {
      const json report = report_of({"extended-powell-singular:40", "--method", method, "--hessian", hessian});
      INFO(method << " " << hessian);
      CHECK(report["hessian"] == hessian);
      CHECK(report["at_published_minimum"] == true);
    }
  }
  CHECK(report_of({"wood", "--method", "newton", "--hessian", "assembled"})["hessian"] == "assembled");
  const auto damped = [](const strings& options) {
    return report_of(with({"wood", "--method", "levenberg-marquardt"}, options));
  };
  const json usual = damped({}), nielsen = damped({"--damping", "nielsen", "--first-damping", "0.001"});
  const json classic = damped({"--damping", "classic"}), high = damped({"--first-damping", "100"});
  CHECK(usual["damping"] == "nielsen");
  CHECK(usual["first_damping"] == 0.001);
  CHECK(usual["history"] == nielsen["history"]);
  CHECK(classic["damping"] == "classic");
  CHECK(high["first_damping"] == 100);
  for (const json& other : {classic, high}) {
    CHECK(other["at_published_minimum"] == true);
    CHECK(other["history"] != usual["history"]);
  }
  // The higher the damping, the shorter the first step.
  CHECK(high["history"]["step_lengths"][1].get<double>() < usual["history"]["step_lengths"][1].get<double>());
  const json other = report_of({"wood"});
  for (const char* key : {"hessian", "damping", "first_damping"}) CHECK(other[key].is_null());
  const outcome text = run({"wood", "--method", "levenberg-marquardt", "--damping", "classic", "--executor", "host"});
  CHECK(contains(text.out, "damping classic from 0.001"));
}

TEST_CASE("minimize: a local minimum is a published one, and other values are none") {
  const json local = report_of({"freudenstein-and-roth"});
  CHECK(local["value"].get<double>() == Approx(48.9842).epsilon(1e-5));
  CHECK(local["published_minimum"] == 0);
  CHECK(local["other_published"] == json({48.9842}));
  CHECK(local["at_published_minimum"] == true);
  const json stopped = report_of({"freudenstein-and-roth", "--max-iterations", "2"}, 2);
  CHECK(stopped["at_published_minimum"] == false);
  CHECK(stopped["reason"] == "iteration_limit");
  CHECK(stopped["converged"] == false);
}

TEST_CASE("minimize: each tolerance stops by itself") {
  const auto reason_of = [](const strings& tolerances) -> std::string {
    return report_of(with({"rosenbrock", "--gradient-tolerance", "0"}, tolerances))["reason"];
  };
  CHECK(reason_of({"--relative-gradient", "1e-3"}) == "converged_gradient");
  CHECK(reason_of({"--step-tolerance", "1e-2"}) == "converged_step");
  CHECK(reason_of({"--function-tolerance", "1e-1"}) == "converged_function");
}

TEST_CASE("minimize: --start-factor multiplies the standard start") {
  // By hand: at (-12, 10) f = 100 (10 - 144)^2 + 13^2.
  const json report = report_of({"rosenbrock", "--start-factor", "10", "--max-iterations", "1"}, 2);
  CHECK(report["start_factor"] == 10);
  CHECK(report["iterations"] == 1);
  CHECK(report["history"]["values"][0].get<double>() == Approx(100 * 134. * 134 + 169).epsilon(1e-14));
}

TEST_CASE("minimize: what was not evaluated is not told") {
  const json report = report_of({"rosenbrock", "--max-iterations", "0"}, 2);
  if (report["evaluations"] == 0) {
    CHECK(report["value"].is_null());
    CHECK(report["gradient_norm"].is_null());
    CHECK(report["at_published_minimum"] == false);
  } else {
    CHECK(report["value"].get<double>() == Approx(24.2).epsilon(1e-14));
  }
}

TEST_CASE("minimize: one that does not converge exits with 2, says what to try, and prints its history") {
  const outcome result = run({"rosenbrock", "--executor", "host", "--max-iterations", "3", "--monitor"});
  INFO(result.out << result.err);
  CHECK(result.status == 2);
  CHECK(contains(result.out, "iteration_limit"));
  CHECK(contains(result.out, "--max-iterations"));
  CHECK(contains(result.out, "not a published minimum"));
  CHECK(contains(result.out, "\n           0  "));
  CHECK(contains(result.out, "\n           3  "));
}

TEST_CASE("minimize: --list has the 35 problems with sizes and minima, and help teaches") {
  const outcome list = run({"--list"});
  CHECK(list.status == 0);
  for (const char* line : {"rosenbrock ", "watson:9 ", "1.39976e-06", "linear-rank-1-zero-columns-and-rows ",
                           "chebyquad:10 ", "any multiple of 4", "48.9842", "meyer "}) {
    INFO(line);
    CHECK(contains(list.out, line));
  }
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "Example"));
  CHECK(contains(help.out, "Exit status"));
}

TEST_CASE("minimize: wrong command lines exit with 1, name what is wrong and say what to give") {
  struct wrong {
    strings arguments;
    std::string names, cure;
  };
  for (const wrong& example : std::vector<wrong>{
           {{}, "no function", "--list"},
           {{"rosenbrok"}, "rosenbrok", "--list"},
           {{"rosenbrock:4"}, "4 unknowns", "It has 2"},
           {{"watson:7"}, "7 unknowns", "6 or 9 or 12"},
           {{"extended-rosenbrock:7"}, "7 unknowns", "multiple of 2"},
           {{"extended-rosenbrock:"}, "size", "NAME:N"},
           {{"extended-rosenbrock:-2"}, "size", "NAME:N"},
           {{"extended-rosenbrock:3000000000"}, "3000000000 unknowns", "below 2^31"},
           {{"wood", "--method", "cg"}, "--method", "lbfgs"},
           {{"wood", "--line-search", "exact"}, "--line-search", "strong-wolfe"},
           {{"wood", "--hessian", "assembled"}, "--hessian", "newton-cg"},
           {{"wood", "--method", "newton", "--hessian", "matrix-free"}, "factors", "newton-cg"},
           {{"wood", "--method", "newton-cg", "--hessian", "exact"}, "--hessian", "matrix-free"},
           {{"wood", "--method", "dogleg", "--damping", "classic"}, "--damping", "levenberg-marquardt"},
           {{"wood", "--first-damping", "1"}, "--first-damping", "levenberg-marquardt"},
           {{"wood", "--method", "levenberg-marquardt", "--first-damping", "0"}, "--first-damping", "above 0"},
           {{"wood", "--gradient-tolerance", "-1"}, "--gradient-tolerance", "give a"},
           {{"wood", "--start-factor", "nan"}, "--start-factor", "give a"},
           {{"wood", "--executor", "resident"}, "--executor", "auto, host, stream, graph"},
           {{"wood", "--output", "-", "--json", "-"}, "--json -", "another path"},
           {{"wood", "--json", "/nowhere/report.json"}, "/nowhere", "directory"},
       }) {
    const outcome result = run(example.arguments);
    INFO(result.err);
    CHECK(result.status == 1);
    CHECK(result.out.empty());
    CHECK(contains(result.err, example.names));
    CHECK(contains(result.err, example.cure));
  }
  const folder here;
  CHECK(run({"wood", "--json", here.at("one"), "--history", here.at("./one")}).status == 1);
  CHECK(here.files() == 0);
}
