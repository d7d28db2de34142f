// Runs whilst equations as a person or script would: arguments in; exit status, output and files out.

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "tests/problems/published_systems.hpp"
#include "whilst/version.hpp"

namespace {

using nlohmann::json;
using whilst_test::array_entries;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::published_residual;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) {
  return whilst_test::run_program(whilst_test::program_path("whilst"), with({"equations"}, arguments));
}

/// On the host, with the report on standard output.
json report_of(const strings& arguments, int expected_status = 0) {
  const outcome result = run(with(arguments, {"--executor", "host", "--json", "-"}));
  INFO(result.err);
  REQUIRE(result.status == expected_status);
  return json::parse(result.out);
}

double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double entry : v) sum += entry * entry;
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("equations: x, report, history and picture are written, and x is right") {
  const folder here;
  const outcome result =
      run({"broyden-tridiagonal:50", "--executor", "host", "--rtol", "0", "--output", here.at("x.mtx"), "--json",
           here.at("report.json"), "--history", here.at("history.csv"), "--plot", here.at("picture.svg")});
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(here.files() == 4);
  CHECK(contains(result.out, "converged_atol"));
  CHECK(contains(result.out, "50 equations"));
  CHECK(contains(result.out, "problem 30 of More"));

  const json report = json::parse(text_of(here / "report.json"));
  for (const char* key : {"method",
                          "executor",
                          "precision",
                          "n",
                          "iterations",
                          "evaluations",
                          "inner_iterations",
                          "restarts",
                          "reason",
                          "converged",
                          "residual_norm",
                          "first_residual_norm",
                          "distance_to_known_root",
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
  for (const char* key : {"preconditioner", "nnz", "relative_residual", "rhs_norm"}) CHECK_FALSE(report.contains(key));
  CHECK(report["method"] == "newton-krylov");
  CHECK(report["system"] == "broyden-tridiagonal");
  CHECK(report["n"] == 50);
  CHECK(report["reason"] == "converged_atol");
  CHECK(report["distance_to_known_root"].is_null());
  CHECK(report["version"] == whilst::version);
  const std::vector<double> x = array_entries(here / "x.mtx");
  REQUIRE(x.size() == 50);
  const double found = norm_of(published_residual("broyden-tridiagonal", x));
  CHECK(found <= 1e-10);
  // Two evaluations differ by the rounding of sums of a few numbers up to 3.
  constexpr double rounding = 100 * std::numeric_limits<double>::epsilon();
  CHECK(std::abs(report["residual_norm"].get<double>() - found) <= rounding);
  // By hand: 48 rows of -1, the first -2, the last -3.
  CHECK(report["first_residual_norm"].get<double>() == Approx(std::sqrt(48. + 4 + 9)).epsilon(rounding));
  const int iterations = report["iterations"], evaluations = report["evaluations"];
  CHECK(iterations >= 3);
  CHECK(report["history"]["step_lengths"][0] == 0);
  CHECK(report["history"]["residual_norms"].back() == report["residual_norm"]);
  CHECK(report["history"]["evaluations"].back() == evaluations);
  CHECK_FALSE(report["history"].contains("values"));

  std::istringstream history(text_of(here / "history.csv"));
  std::string line;
  std::getline(history, line);
  CHECK(line == "iteration,residual_norm,step_length,evaluations");
  int records = 0;
  for (; std::getline(history, line); ++records) CHECK(std::stoi(line) == records);
  CHECK(records == iterations + 1);

  const std::string picture = text_of(here / "picture.svg");
  CHECK(picture.substr(0, 4) == "<svg");
  CHECK(contains(picture, "</svg>"));
  CHECK(contains(picture, "Broyden tridiagonal, n = 50"));
}

TEST_CASE("equations: the picture's tolerance is where the solve stopped") {
  const folder here;
  // By rtol, at 4e-9: no line at the atol of 1e-10 that nobody asked for, and no room for it.
  const outcome result =
      run({"bratu:100", "--method", "anderson", "--executor", "host", "--plot", here.at("picture.svg")});
  INFO(result.out << result.err);
  REQUIRE(contains(result.out, "converged_rtol"));
  const std::string picture = text_of(here / "picture.svg");
  CHECK(contains(picture, "tolerance"));
  CHECK(contains(picture, "\u22129</tspan>"));
  CHECK_FALSE(contains(picture, "\u221210</tspan>"));
}

TEST_CASE("equations: every method finds the root that is known") {
  for (const char* method : {"newton", "newton-krylov", "broyden", "anderson"}) {
    const json report = report_of({"helical-valley", "--method", method, "--rtol", "0"});
    INFO(method);
    CHECK(report["method"] == method);
    // The Jacobian there is [0 -50/pi 10; 10 0 0; 0 0 1]: its inverse has a norm below 1.2.
    CHECK(report["distance_to_known_root"].get<double>() <= 1.2e-10);
  }
}

TEST_CASE("equations: what is for one method only reaches it") {
  const auto anderson = [](const strings& options) {
    return report_of(with({"discrete-boundary-value", "--method", "anderson"}, options));
  };
  const json usual = anderson({}), same = anderson({"--depth", "5", "--mixing", "1"});
  CHECK(usual["depth"] == 5);
  CHECK(usual["mixing"] == 1);
  CHECK(usual["history"] == same["history"]);
  CHECK(anderson({"--depth", "2"})["history"] != usual["history"]);
  CHECK(anderson({"--mixing", "0.5"})["history"] != usual["history"]);
  CHECK(report_of({"bratu"})["depth"].is_null());
  const json few = report_of({"bratu", "--max-inner-iterations", "3"});
  CHECK(few["inner_iterations"] <= 3 * few["iterations"].get<int>());
  const json many = report_of({"bratu"});
  CHECK(many["inner_iterations"] > 3 * many["iterations"].get<int>());
}

TEST_CASE("equations: each tolerance stops by itself") {
  const auto reason_of = [](const char* atol, const char* rtol, const char* step) -> std::string {
    return report_of({"broyden-banded:30", "--atol", atol, "--rtol", rtol, "--step-tolerance", step})["reason"];
  };
  CHECK(reason_of("1e-3", "0", "0") == "converged_atol");
  CHECK(reason_of("0", "1e-3", "0") == "converged_rtol");
  CHECK(reason_of("0", "0", "1e-2") == "converged_step");
  const outcome text = run({"broyden-banded:30", "--atol", "0", "--executor", "host"});
  CHECK(contains(text.out, "rtol times the first one"));
  CHECK_FALSE(contains(text.out, "right-hand side"));
}

TEST_CASE("equations: --start-factor multiplies the standard start") {
  // By hand: at (-12, 10) F = (10 (10 - 144), 13).
  const json report = report_of({"rosenbrock", "--start-factor", "10", "--max-iterations", "1"}, 2);
  CHECK(report["start_factor"] == 10);
  CHECK(report["iterations"] == 1);
  CHECK(report["first_residual_norm"].get<double>() == Approx(std::hypot(1340., 13.)).epsilon(1e-14));
}

TEST_CASE("equations: what was not evaluated is not told") {
  const json report = report_of({"rosenbrock", "--max-iterations", "0"}, 2);
  if (report["evaluations"] == 0) {
    CHECK(report["residual_norm"].is_null());
    CHECK(report["first_residual_norm"].is_null());
  } else {
    CHECK(report["residual_norm"].get<double>() == Approx(std::sqrt(24.2)).epsilon(1e-14));
  }
}

TEST_CASE("equations: one that is not solved exits with 2, says why and what to try") {
  const outcome limit = run({"bratu", "--executor", "host", "--max-iterations", "3", "--monitor"});
  INFO(limit.out << limit.err);
  CHECK(limit.status == 2);
  CHECK(contains(limit.out, "iteration_limit"));
  CHECK(contains(limit.out, "--max-iterations"));
  CHECK(contains(limit.out, "\n           0  "));
  CHECK(contains(limit.out, "\n           3  "));
  // By the paper ||F||^2 has a local minimum of 48.9842; on the way there Newton's method is stuck where the Jacobian
  // is singular.
  const json local = report_of({"freudenstein-and-roth", "--method", "newton"}, 2);
  CHECK((local["reason"] == "line_search_failed" || local["reason"] == "singular_jacobian"));
  CHECK(local["residual_norm"].get<double>() >= std::sqrt(48.984));
  const outcome text = run({"freudenstein-and-roth", "--method", "newton", "--executor", "host"});
  CHECK(text.status == 2);
  CHECK(contains(text.out, "--start-factor"));
  CHECK(contains(text.out, "5, 4"));
}

TEST_CASE("equations: --list has the systems with sizes and roots, and help teaches") {
  const outcome list = run({"--list"});
  CHECK(list.status == 0);
  for (const char* line : {"rosenbrock ", "powell-badly-scaled ", "1.09816e-05, 9.10615", "bratu ", "any square number",
                           "any multiple of 4", "variably-dimensioned ", "5, 4"}) {
    INFO(line);
    CHECK(contains(list.out, line));
  }
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "Example"));
  CHECK(contains(help.out, "Exit status"));
  CHECK(contains(help.out, "--mixing"));
}

TEST_CASE("equations: wrong command lines exit with 1, name what is wrong and say what to give") {
  struct wrong {
    strings arguments;
    std::string names, cure;
  };
  for (const wrong& example : std::vector<wrong>{
           {{}, "no system", "--list"},
           {{"rosenbrok"}, "rosenbrok", "--list"},
           {{"rosenbrock:4"}, "4 unknowns", "It has 2"},
           {{"bratu:99"}, "99 unknowns", "any square number"},
           {{"extended-rosenbrock:7"}, "7 unknowns", "any multiple of 2"},
           {{"bratu:"}, "size", "NAME:N"},
           {{"bratu:-4"}, "size", "NAME:N"},
           {{"broyden-tridiagonal:3000000000"}, "3000000000 unknowns", "below 2^31"},
           {{"bratu", "--method", "lbfgs"}, "--method", "newton-krylov"},
           {{"bratu:2500", "--method", "newton"}, "2500 unknowns", "newton-krylov"},
           {{"bratu", "--depth", "3"}, "--depth", "anderson"},
           {{"bratu", "--method", "broyden", "--mixing", "0.5"}, "--mixing", "anderson"},
           {{"bratu", "--method", "newton", "--max-inner-iterations", "5"}, "--max-inner-iterations", "newton-krylov"},
           {{"bratu", "--method", "anderson", "--depth", "11"}, "--depth", "1 to 10"},
           {{"bratu", "--method", "anderson", "--mixing", "0"}, "--mixing", "not 0"},
           {{"bratu", "--atol", "-1"}, "--atol", "give a"},
           {{"bratu", "--start-factor", "nan"}, "--start-factor", "give a"},
           {{"bratu", "--executor", "resident"}, "--executor", "auto, host, stream, graph"},
           {{"bratu", "--output", "-", "--json", "-"}, "--json -", "another path"},
           {{"bratu", "--json", "/nowhere/report.json"}, "/nowhere", "directory"},
       }) {
    const outcome result = run(example.arguments);
    INFO(result.err);
    CHECK(result.status == 1);
    CHECK(result.out.empty());
    CHECK(contains(result.err, example.names));
    CHECK(contains(result.err, example.cure));
  }
  const folder here;
  CHECK(run({"bratu", "--json", here.at("one"), "--history", here.at("./one")}).status == 1);
  CHECK(here.files() == 0);
}
