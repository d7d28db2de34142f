#include <CLI/CLI.hpp>
#include <string>

#include "benchmarks/whilst-bench/cutest.hpp"
#include "kernels/problems/test_problems/cutest_problems.hpp"

namespace whilst_bench {
namespace {

/// The problems' names, in lines.
std::string names_of_problems() {
  std::string text, line = " ";
  for (const whilst::cutest_problem& problem : whilst::cutest_problems()) {
    if (problem.is_unbounded) continue;
    if (line.size() + std::string(problem.name).size() > 78) {
      text += line + "\n";
      line = " ";
    }
    line += std::string(" ") + problem.name;
  }
  return text + line + "\n";
}

}  // namespace

CLI::App* add_cutest_command(CLI::App& app, cutest_options& options) {
  CLI::App* const command = app.add_subcommand(
      "cutest",
      "Functions of CUTEst of any number of unknowns, by every minimizer from the standard start. Solved means that "
      "the minimizer reports convergence, and that ||g|| <= --gradient-tolerance as this program computes it, term by "
      "term, at the x that it was given. Another minimum than the lowest known counts as solved, and is marked");
  command->add_option("--problems", options.problems, "Names below, with commas between; or all")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--sizes", options.sizes,
                   "How many unknowns, with commas between; a problem takes the next number that it may have")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--methods", options.methods, "As whilst minimize --method, with commas between; or all")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--line-search", options.line_search, "As whilst minimize --line-search")
      ->check(CLI::IsMember({"backtracking", "strong-wolfe", "approximate-wolfe", "parallel"}))
      ->capture_default_str();
  command->add_option("--executor", options.executor, "auto, host, stream or graph")
      ->check(CLI::IsMember({"auto", "host", "stream", "graph"}))
      ->capture_default_str();
  command->add_option("--gradient-tolerance", options.gradient_tolerance, "||g|| to reach, its Euclidean norm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--max-iterations", options.max_iterations, "Limit of each minimization")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--deadline", options.deadline, "Seconds of each minimization")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--dense-limit", options.dense_limit,
                   "The most unknowns for bfgs and newton, which keep n * n numbers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--repetitions", options.repetitions,
                   "Measured minimizations, after one that is not; of failures none")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--json", options.json, "Write the results to this file; - for standard output");
  command->add_option("--profile", options.profile,
                      "Draw performance profiles, by time, by iterations and by evaluations, into this SVG file; - for "
                      "standard output");
  command->footer("Problems:\n" + names_of_problems() +
                  "\nExamples:\n"
                  "  whilst-bench cutest --sizes 100 --profile profile.svg\n"
                  "  whilst-bench cutest --problems GENROSE,SPARSINE --methods lbfgs,newton-cg --sizes 1000,10000\n"
                  "  whilst-bench cutest --gradient-tolerance 1e-9 --json results.json\n"
                  "\nExit status: 0 all solved, 2 not all, 3 a method reported a gradient within the tolerance and it "
                  "is not, 1 an error.");
  return command;
}

}  // namespace whilst_bench
