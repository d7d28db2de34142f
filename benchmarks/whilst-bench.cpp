/// Convergence suites: published problems, solved by the library's methods and held against the published answers.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "benchmarks/whilst-bench/mgh.hpp"
#include "benchmarks/whilst-bench/nist.hpp"

int main(int count, char** arguments) {
  CLI::App app("Solves published test problems and counts how many agree with the published answers.");
  app.require_subcommand(1);
  app.footer("Exit status: 0 all solved, 2 not all, 1 an error.");

  whilst_bench::nist_options nist;
  CLI::App* const nist_command = app.add_subcommand(
      "nist",
      "NIST's StRD sets for nonlinear regression: 27 curves, two starting points each, 54 fits in all. Solved "
      "means that 6 digits or more of every certified parameter agree");
  nist_command->add_option("--data", nist.data, "The folder with NIST's .dat files")->required();
  nist_command->add_option("--executor", nist.executor, "auto, host, stream, graph or resident")->capture_default_str();
  nist_command->add_option("--json", nist.json, "Write the results to this file; - for standard output");

  whilst_bench::mgh_options mgh;
  CLI::App* const mgh_command = app.add_subcommand(
      "mgh",
      "The 35 sums of squares of More, Garbow and Hillstrom (1981). Solved means that f is a published minimum, "
      "from the standard starting point");
  mgh_command->add_option("--json", mgh.json, "Write the results to this file; - for standard output");

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 1;
  }
  try {
    return mgh_command->parsed() ? whilst_bench::run_mgh(mgh) : whilst_bench::run_nist(nist);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "whilst-bench: %s\n", problem.what());
    return 1;
  }
}
