// What whilst-bench cutest says of minimizers that claim what is not so, which the library's own do not.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/whilst-bench/cutest_table.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

using namespace whilst_bench;
using whilst::find_cutest_problem;
using whilst_test::contains;

/// As if a minimizer had ended at x with this gradient in its report.
cutest_run ended_at(const std::string& method, const whilst::cutest_problem& problem, const std::vector<double>& x,
                    double reported) {
  cutest_run run{.method = method, .executor = "host", .reason = "converged_gradient", .message = ""};
  run.evaluations = 7;
  run.seconds = 1;
  run.reported_gradient = reported;
  run.at_end = gradient_at(problem, x);
  run.claims = reported <= 1e-6;
  run.solved = run.claims && run.at_end.within(1e-6);
  return run;
}

std::string summary_of(const cutest_results& results) {
  const whilst_test::folder here;
  std::FILE* const out = std::fopen(here.at("table").c_str(), "w");
  REQUIRE(out);
  print_cutest_summary(out, {}, results);
  std::fclose(out);
  return whilst_test::text_of(here / "table");
}

}  // namespace

TEST_CASE("whilst-bench cutest computes gradients and what rounding does to them") {
  // sum (x_i - i)^4 at x_i = i + 0.5: each derivative is 1/2.
  const true_gradient quartic = gradient_at(find_cutest_problem("DQRTIC"), {1.5, 2.5, 3.5, 4.5});
  CHECK(quartic.value == 0.25);
  CHECK(quartic.norm == 1);
  CHECK(quartic.rounding > 0);
  CHECK(quartic.rounding < 1e-14);
  // Scales up to 1.6e5: a last digit of x moves the angle, and a derivative with it.
  const whilst::cutest_problem& scaled = find_cutest_problem("SCOSINE");
  const true_gradient steep = gradient_at(scaled, scaled.start(100));
  CHECK(steep.rounding > 1e-10);
  CHECK(steep.rounding < 1e-8);
  CHECK_FALSE(true_gradient{1, NAN, 0}.within(1e-6));
}

TEST_CASE("whilst-bench cutest calls a claim that is not so false") {
  const whilst::cutest_problem& problem = find_cutest_problem("DQRTIC");
  const std::vector<double> minimizer{1, 2, 3, 4}, elsewhere{1, 2, 3, 4.5};
  cutest_results results{{"honest", "boastful"}, {}, {}};
  results.entries.push_back(
      {{&problem, 4}, {ended_at("honest", problem, minimizer, 0), ended_at("boastful", problem, elsewhere, 1e-7)}});
  CHECK(results.false_claims() == 1);
  CHECK(results.solved() == 1);
  CHECK(tally_of("boastful", results).failures.at("false_claim") == 1);
  CHECK(results.entries[0].fastest()->method == "honest");
  const std::string said = summary_of(results);
  CHECK(contains(said, "FALSE CLAIM: DQRTIC, n 4 by boastful reports ||g|| = 1.00e-07; it is 5.00e-01, above 1e-06"));
  CHECK(contains(said, "1 of 2 runs solved, 1 of 1 problems by one or another; 1 FALSE CLAIM"));

  // One that says that it stopped for another reason claims nothing.
  results.entries[0].runs[1] = ended_at("boastful", problem, elsewhere, 0.5);
  CHECK(results.false_claims() == 0);
  CHECK(results.solved() == 1);
}

TEST_CASE("whilst-bench cutest compares the minima that are reached") {
  const whilst::cutest_problem& problem = find_cutest_problem("ENGVAL1");  // published for n = 2 alone
  cutest_entry entry{{&problem, 4}, {}};
  for (const double f : {3.5, 3.0, 3.0000001}) {
    cutest_run run{.method = "some", .executor = "host", .reason = "converged_gradient", .message = ""};
    run.solved = true;
    run.at_end = {f, 0, 0};
    entry.runs.push_back(run);
  }
  CHECK(entry.reached(entry.runs[0]) == minimum_reached::other);
  CHECK(entry.reached(entry.runs[1]) == minimum_reached::lowest);
  CHECK(entry.reached(entry.runs[2]) == minimum_reached::lowest);
  entry.runs[0].solved = false;
  CHECK(entry.reached(entry.runs[0]) == minimum_reached::unknown);
  entry.from.n = 2;  // where it is 0
  CHECK(entry.reached(entry.runs[1]) == minimum_reached::other);
  entry.runs[1].at_end.value = -1;
  CHECK(entry.reached(entry.runs[1]) == minimum_reached::below);
}
