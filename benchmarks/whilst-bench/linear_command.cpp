#include <CLI/CLI.hpp>

#include "benchmarks/whilst-bench/linear.hpp"

namespace whilst_bench {

CLI::App* add_linear_command(CLI::App& app, linear_options& options) {
  CLI::App* const command =
      app.add_subcommand("linear",
                         "Linear systems A x = b by every method and preconditioner. Solved means that the method "
                         "reports convergence, and that ||b - A x|| <= rtol ||b|| as this program computes it from A, "
                         "b and x, in long double");
  command->add_option("--data", options.data, "Every .mtx and .mtx.gz file below this folder");
  command
      ->add_option("--gallery", options.gallery, "Model problems, as poisson2d:64, with commas between; small: a set")
      ->delimiter(',');
  command->add_option("--cases", options.cases,
                      "A JSON list of {\"filename\": \"A.mtx\"} or {\"gallery\": \"poisson2d:64\"}, each with \"rhs\", "
                      "\"methods\" and \"preconditioners\" if wanted; files relative to this one");
  command->add_option("--methods", options.methods, "With commas between; or all; or auto")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option(
          "--preconditioners", options.preconditioners,
          "Of auto, none, jacobi, amg, multigrid, ilu, ic, fsai, spai, block_jacobi, ssor, schwarz, chebyshev and "
          "neumann, with commas between; or all. Least squares and Eigen have none and jacobi, methods for symmetric "
          "matrices no ilu and no spai; multigrid takes stencils on grids alone")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--executor", options.executor, "auto, host, stream, graph or resident")
      ->check(CLI::IsMember({"auto", "host", "stream", "graph", "resident"}))
      ->capture_default_str();
  command->add_option("--type,--precision", options.precision, "double or float")
      ->check(CLI::IsMember({"double", "float"}))
      ->capture_default_str();
  command->add_option("--rtol", options.rtol, "Relative residual to reach; 0: 1e-8, or 1e-4 in float")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--max-iterations", options.max_iterations, "Limit of each solve")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--deadline", options.deadline, "Seconds of each solve by Whilst")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--repetitions", options.repetitions, "Measured solves, after one that is not; of failures none")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--baseline", options.baseline, "Eigen's cg, bicgstab, gmres and minres beside them, on the host");
  command->add_option("--json", options.json, "Write the results to this file; - for standard output");
  command->add_option("--profile", options.profile,
                      "Draw performance profiles, by time, by iterations and by products with A, into this SVG file; - "
                      "for standard output");
  command->footer(
      "The right-hand side is FILE_b.mtx beside FILE.mtx, or a model problem's own, or else A times ones.\n"
      "\nExamples:\n"
      "  whilst-bench linear --gallery small --baseline\n"
      "  whilst-bench linear --data matrices --methods cg,minres --rtol 1e-10 --json results.json\n"
      "  whilst-bench linear --cases cases.json --profile profile.svg\n"
      "\nExit status: 0 all solved, 2 not all, 3 a method reported convergence and x is not that good, 1 an error.");
  return command;
}

}  // namespace whilst_bench
