/// Convergence suites: published problems, solved by the library's methods and compared with the published answers; and
/// many fits or minimizations at once, timed; linear systems and functions of many unknowns by all methods; and
/// products in all matrix formats.

#include <CLI/CLI.hpp>

#include "apps/common/program.hpp"
#include "benchmarks/common/measured_at.hpp"
#include "benchmarks/whilst-bench/cutest.hpp"
#include "benchmarks/whilst-bench/fits.hpp"
#include "benchmarks/whilst-bench/linear.hpp"
#include "benchmarks/whilst-bench/mgh.hpp"
#include "benchmarks/whilst-bench/mgh_runs.hpp"
#include "benchmarks/whilst-bench/minimizations.hpp"
#include "benchmarks/whilst-bench/minimize.hpp"
#include "benchmarks/whilst-bench/nist.hpp"
#include "benchmarks/whilst-bench/spmv.hpp"

int main(int count, char** arguments) {
  CLI::App app("Solves published test problems and counts how many agree with the published answers.");
  app.set_version_flag("-V,--version", whilst::version_text("whilst-bench"), "Print the version and leave");
  app.require_subcommand(1);
  app.footer("Exit status: 0 all solved, 2 not all, 3 a method reported convergence falsely, 1 an error.");

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
      "from the standard starting point, by any method");
  std::vector<std::string> mgh_methods = whilst_bench::mgh_methods();
  mgh_methods.push_back("all");
  mgh_command->add_option("--method", mgh.method, "One method, with all that there is to tell of it, or all")
      ->check(CLI::IsMember(mgh_methods))
      ->capture_default_str();
  mgh_command->add_option("--json", mgh.json, "Write the results to this file; - for standard output");

  whilst_bench::fits_options fits;
  CLI::App* const fits_command = app.add_subcommand("fits",
                                                    "Many small fits in one launch: b0 exp(-b1 t) + b2 to points with "
                                                    "1 % noise, from parameters off by a half. Solved "
                                                    "means that every fit converged");
  fits_command->add_option("--problems", fits.problems, "How many fits")->capture_default_str();
  fits_command->add_option("--points", fits.points, "Points of each")->capture_default_str();
  fits_command->add_option("--precision", fits.precision, "double or float")
      ->check(CLI::IsMember({"double", "float"}))
      ->capture_default_str();
  fits_command->add_option("--executor", fits.executor, "auto, host or batch")->capture_default_str();
  fits_command->add_option("--lanes", fits.lanes, "Threads of a GPU for each fit; 0 chooses")->capture_default_str();
  fits_command->add_option("--repetitions", fits.repetitions, "Measured launches, after one that is not")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  fits_command->add_option("--first-damping", fits.first_damping, "Of the method; lower where starts are good")
      ->capture_default_str();
  fits_command->add_option("--tolerance", fits.tolerance, "Of gradient and step; below 0: the library's defaults")
      ->capture_default_str();
  fits_command->add_option("--json", fits.json, "Write the results to this file; - for standard output");

  whilst_bench::minimizations_options many;
  CLI::App* const many_command = app.add_subcommand(
      "minimizations",
      "Many small minimizations in one launch: Rosenbrock's function from points between -2 and 2. Solved means that "
      "every one converged");
  many_command->add_option("--problems", many.problems, "How many minimizations")->capture_default_str();
  many_command->add_option("--unknowns", many.unknowns, "Of each: 3, or an even number")->capture_default_str();
  many_command->add_option("--method", many.method, "bfgs, lbfgs or newton")->capture_default_str();
  many_command->add_option("--line-search", many.line_search, "As whilst minimize --line-search")
      ->capture_default_str();
  many_command->add_option("--precision", many.precision, "double or float")
      ->check(CLI::IsMember({"double", "float"}))
      ->capture_default_str();
  many_command->add_option("--executor", many.executor, "auto, host or batch")->capture_default_str();
  many_command->add_option("--lanes", many.lanes, "Threads of a GPU for each minimization; 0 chooses")
      ->capture_default_str();
  many_command->add_option("--tolerance", many.tolerance, "||g|| where to stop; below 0: 1e-8, or 1e-3 in float")
      ->capture_default_str();
  many_command->add_option("--repetitions", many.repetitions, "Measured launches, after one that is not")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  many_command->add_option("--json", many.json, "Write the results to this file; - for standard output");

  whilst_bench::minimize_options minimize;
  CLI::App* const minimize_command =
      app.add_subcommand("minimize",
                         "One function of many unknowns, at each size by each executor, for its speed. Solved means "
                         "that all converged, to 1e-8 in each unknown where the minimizer is known, and stream and "
                         "graph to the same bits");
  minimize_command->add_option("--function", minimize.function, "One of any size: whilst minimize --list has the names")
      ->capture_default_str();
  minimize_command->add_option("--sizes", minimize.sizes, "How many unknowns, with commas between")
      ->delimiter(',')
      ->capture_default_str();
  minimize_command->add_option("--method", minimize.method, "As whilst minimize --method")->capture_default_str();
  minimize_command->add_option("--line-search", minimize.line_search, "As whilst minimize --line-search")
      ->capture_default_str();
  minimize_command
      ->add_option("--executor", minimize.executors, "Of host, stream and graph; without it, all that are here")
      ->delimiter(',')
      ->check(CLI::IsMember({"host", "stream", "graph"}));
  minimize_command->add_option("--gradient-tolerance", minimize.gradient_tolerance, "||g|| where to stop")
      ->capture_default_str();
  minimize_command->add_option("--max-iterations", minimize.max_iterations, "Limit")->capture_default_str();
  minimize_command->add_option("--unroll", minimize.unroll, "Evaluations a trip of the graph; 0 chooses")
      ->capture_default_str();
  minimize_command->add_option("--repetitions", minimize.repetitions, "Measured solves, after one that is not")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  minimize_command->add_option("--json", minimize.json, "Write the results to this file; - for standard output");

  whilst_bench::linear_options linear;
  const CLI::App* const linear_command = whilst_bench::add_linear_command(app, linear);
  whilst_bench::spmv_options spmv;
  const CLI::App* const spmv_command = whilst_bench::add_spmv_command(app, spmv);

  whilst_bench::cutest_options cutest;
  const CLI::App* const cutest_command = whilst_bench::add_cutest_command(app, cutest);

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 1;
  }
  return whilst::command::report_errors("whilst-bench", "a problem of this size", [&] {
    if (fits_command->parsed()) return whilst_bench::run_fits(fits);
    if (many_command->parsed()) return whilst_bench::run_minimizations(many);
    if (minimize_command->parsed()) return whilst_bench::run_minimize(minimize);
    if (linear_command->parsed()) return whilst_bench::run_linear(linear);
    if (cutest_command->parsed()) return whilst_bench::run_cutest(cutest);
    if (spmv_command->parsed()) return whilst_bench::run_spmv(spmv);
    return mgh_command->parsed() ? whilst_bench::run_mgh(mgh) : whilst_bench::run_nist(nist);
  });
}
