// Runs whilst-bench cutest as a script would, on small problems.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/bench_report.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/apps/well_formed.hpp"
#include "tests/catch.hpp"

namespace {

using nlohmann::json;
using whilst_test::check_refused;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) {
  return whilst_test::run_program(whilst_test::program_path("whilst-bench"), with({"cutest"}, arguments));
}
outcome run_on_host(const strings& arguments) { return run(with(arguments, {"--executor", "host"})); }

/// The report of a run on the host, which keeps to its schema.
json report_of(const strings& arguments, int expected_status) {
  const json report = whilst_test::bench_report("cutest", arguments, expected_status);
  CHECK(report["false_claims"] == 0);
  return report;
}

}  // namespace

TEST_CASE("whilst-bench cutest minimizes to gradients that it computes itself") {
  const json report = report_of({"--problems", "tridia,ARWHEAD,WOODS", "--sizes", "10,20", "--gradient-tolerance",
                                 "1e-7", "--methods", "lbfgs,bfgs,newton,newton-cg,trust-region"},
                                0);
  REQUIRE(report["problems"].size() == 6);
  CHECK(report["problems"][0]["name"] == "ARWHEAD");
  CHECK(report["problems"][4]["name"] == "WOODS");
  CHECK(report["problems"][4]["n"] == 12);  // a multiple of 4
  CHECK(report["runs"] == 30);
  CHECK(report["solved"] == 30);
  for (const json& problem : report["problems"]) {
    CHECK(problem["minimum"] == 0);
    CHECK(problem["minimum_is"] == "exact");
    for (const json& one : problem["runs"]) {
      INFO(problem["name"] << " by " << one["method"]);
      CHECK(one["solved"] == true);
      CHECK(one["minimum"] == "lowest");
      CHECK(one["executor"] == "host");
      CHECK(std::abs(double(one["f"])) <= 1e-9);
      CHECK(double(one["true_gradient_norm"]) <= 1e-7);
      CHECK(double(one["true_gradient_norm"]) == Approx(double(one["reported_gradient_norm"])).margin(1e-12));
      CHECK(double(one["seconds_to_tolerance"]) > 0);
      CHECK(one["evaluations"] > one["iterations"]);
    }
  }
}

TEST_CASE("whilst-bench cutest counts what is not solved as failed, with its reason") {
  const strings arguments{"--problems",       "GENROSE", "--sizes", "10", "--methods", "gradient-descent,newton-cg",
                          "--max-iterations", "30"};
  const json report = report_of(arguments, 2);
  const json failed = report["problems"][0]["runs"][1];
  CHECK(failed["method"] == "gradient-descent");
  CHECK(failed["solved"] == false);
  CHECK(failed["false_claim"] == false);
  CHECK(failed["minimum"] == "unknown");
  CHECK(failed["reason"] == "iteration_limit");
  CHECK(failed["seconds_to_tolerance"].is_null());
  CHECK(double(failed["true_gradient_norm"]) > 1e-6);
  CHECK(report["methods"][1]["failures"] == json{{"iteration_limit", 1}});
  CHECK(report["solved"] == 1);

  const outcome table = run_on_host(arguments);
  CHECK(table.status == 2);
  CHECK(contains(table.out, "limit"));
  CHECK(contains(table.out, "cutest: 1 of 2 runs solved, 1 of 1 problems by one or another; no false claim\n"));
  CHECK(table.err.empty());  // progress is for terminals
}

TEST_CASE("whilst-bench cutest takes a small gradient for solved, and says which minimum it is at") {
  const strings arguments{"--problems", "EG2,ENGVAL1", "--sizes", "10", "--methods", "lbfgs"};
  const json report = report_of(arguments, 0);
  const json& many_minima = report["problems"][0];
  CHECK(many_minima["minimum"] == -9.5);
  CHECK(double(many_minima["lowest_found"]) > -9.4);
  CHECK(many_minima["runs"][0]["minimum"] == "other");
  CHECK(report["methods"][0]["other_minima"] == 1);
  // Without a known one the lowest found is the measure.
  const json& unknown = report["problems"][1];
  CHECK(unknown["minimum"].is_null());
  CHECK(unknown["minimum_is"] == "unknown");
  CHECK(unknown["runs"][0]["minimum"] == "lowest");

  const outcome table = run_on_host(arguments);
  CHECK(contains(table.out, "other minimum: EG2, n 10: f -"));
  CHECK(contains(table.out, "known is -9.5\n"));
}

TEST_CASE("whilst-bench cutest gives each problem a number of unknowns that it may have") {
  const json report = report_of({"--problems", "DIXMAANA", "--sizes", "10,11,12,13", "--methods", "lbfgs"}, 0);
  REQUIRE(report["problems"].size() == 2);
  CHECK(report["problems"][0]["n"] == 12);
  CHECK(report["problems"][1]["n"] == 15);
}

TEST_CASE("whilst-bench cutest leaves dense methods out above their limit") {
  const strings arguments{"--problems", "DQDRTIC", "--sizes", "20,40", "--methods", "bfgs,lbfgs", "--dense-limit"};
  const json report = report_of(with(arguments, {"30"}), 0);
  CHECK(report["problems"][0]["runs"].size() == 2);
  CHECK(report["problems"][1]["runs"].size() == 1);
  CHECK(report["methods"][1]["runs"] == 1);
  CHECK(contains(run_on_host(with(arguments, {"30"})).out, "above --dense-limit 30"));
  const json all = report_of({"--problems", "DQDRTIC", "--sizes", "40", "--dense-limit", "30"}, 0);
  for (const json& method : all["methods"]) CHECK(method["method"] != "newton");
}

TEST_CASE("whilst-bench cutest draws performance profiles and writes files") {
  const folder here;
  const outcome result = run_on_host({"--problems", "TRIDIA,LIARWHD", "--sizes", "10", "--methods", "lbfgs,newton-cg",
                                      "--json", here.at("results.json"), "--profile", here.at("profile.svg")});
  CHECK(result.status == 0);
  CHECK(json::parse(text_of(here / "results.json"))["runs"] == 4);
  const std::string picture = text_of(here / "profile.svg");
  CHECK(whilst_test::is_well_formed(picture));
  for (const char* part :
       {"<svg xmlns=\"http://www.w3.org/2000/svg\"", ">time</text>", ">iterations</text>", ">evaluations</text>",
        ">lbfgs</text>", ">newton-cg</text>", "2 problems of CUTEst to a gradient of 1e-06"}) {
    INFO(part);
    CHECK(contains(picture, part));
  }
}

TEST_CASE("whilst-bench cutest refuses what it cannot mean") {
  const folder here;
  check_refused(
      "whilst-bench", run,
      {{{"--problems", "ROSENBROCK"}, "no problem called \"ROSENBROCK\". Give all, or some of ARWHEAD, BDQRTIC"},
       {{"--problems", "INDEF"}, "no problem called \"INDEF\""},
       {{"--methods", "lbfgs,nelder-mead"}, "no method called \"nelder-mead\". Give all, or some of lbfgs,"},
       {{"--methods", "newton", "--sizes", "1000"}, "--methods newton: it keeps n * n numbers"},
       {{"--profile", here.at("missing/profile.svg")}, "--profile"},
       {{"--profile", "-", "--json", "-"}, "--profile"}});
  for (const strings& wrong :
       {strings{"--sizes", "0"}, strings{"--gradient-tolerance", "0"}, strings{"--deadline", "-1"},
        strings{"--executor", "resident"}, strings{"--line-search", "exact"}}) {
    const outcome result = run(wrong);
    INFO(result.err);
    CHECK(result.status == 1);
    CHECK(contains(result.err, wrong[0]));
  }
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  for (const char* part : {"Examples", "Exit status", "--dense-limit", "--profile", "GENROSE", "term by term"})
    CHECK(contains(help.out, part));
}
