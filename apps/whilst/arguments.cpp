#include "arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "apps/common/command_line.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/method_table.hpp"
#include "solvers/linear/permutation/permutation.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "validators.hpp"

namespace whilst::command {
namespace {

constexpr const char* json_help = "Write a report; - for standard output, as for all results, one at most";

void add_quiet(CLI::App* to, bool& quiet) {
  to->add_flag("-q,--quiet", quiet, "Print errors only; the exit status and the files that are asked for say the rest");
}

CLI::Validator seconds() {
  return number<double>(
      "SECONDS", [](double value) { return value > 0; }, "seconds above 0, as 2.5");
}

template <class Options>
void add_limits(CLI::App* to, Options& solver, const char* usual) {
  add(to, "--max-iterations", solver.max_iterations, fmt::format("Limit (default {})", usual),
      whole_number(0, std::numeric_limits<index_type>::max(), usual));
  add(to, "--deadline", solver.deadline, "Seconds that the loop may run (default: no limit)", seconds());
}

void add_unroll(CLI::App* to, int& unroll, const std::string& what) {
  add(to, "--unroll", unroll, what + " a trip of the graph's WHILE node; 0 chooses (default 0)",
      number<int>(
          "INT", [](int value) { return value >= 0 && value <= 1024; }, "a whole number from 0 to 1024, as 16"));
}

void add_device(CLI::App* to, int& device) {
  add(to, "--device", device, "CUDA device (default: the current one)",
      number<int>(
          "K", [](int value) { return value >= 0; }, "a device number, as 0; whilst info describes the machine"));
}

void add_matrix(CLI::App* to, solve_options& into) {
  add(to, "matrix", into.matrix_file, "Matrix Market file, plain or gzip (by its content); - for standard input",
      not_empty())
      ->option_text("FILE.mtx");
  add(to, "--gallery", into.gallery, "Make a model problem instead: whilst gallery lists them", not_empty())
      ->type_name("NAME:SIZE");
}

void add_partition(CLI::App* to, CLI::Option* ranks, solve_options& into) {
  add(to, "--partition", into.partition,
      "How ranks share the rows: consecutive ones; or, where each then reads many entries of the others, as of a mesh "
      "numbered in any order, pieces of the graph, by reverse Cuthill-McKee or by METIS (default rows)",
      partition_of_ranks())
      ->needs(ranks);
}

void add_problem(CLI::App* to, solve_options& into) {
  auto& solver = into.solver;
  add_matrix(to, into);
  add(to, "--rhs", into.rhs_file,
      "Right-hand side, for solve also several, as columns; otherwise the gallery's own load, or ones", not_empty());
  add(to, "--method", solver.method,
      "auto chooses by the matrix; cg, pipelined-cg, flexible-cg, refined-cg, chebyshev, richardson: symmetric "
      "definite; minres, cr: symmetric; lsqr, lsmr, cgls: any shape; the others: any square one (default cg). whilst "
      "info --methods compares them",
      one_of(method_names()));
  const auto whole = [](int most) {
    return number<int>(
        "INT", [=](int value) { return value >= 1 && value <= most; },
        fmt::format("a whole number from 1 to {}", most));
  };
  add(to, "--restart", solver.restart, "gmres, fgmres: iterations of a cycle (default 30)", whole(1000));
  add(to, "--shadow-dimension", solver.shadow_dimension, "idr: the s of IDR(s) (default 4)", whole(16));
  const auto finite = number<double>(
      "FLOAT", [](double value) { return std::isfinite(value); }, "a finite number, as 0.1");
  add(to, "--least-eigenvalue", solver.least_eigenvalue,
      "chebyshev, richardson: bounds the eigenvalues of M A from below (default: estimated)", finite);
  add(to, "--greatest-eigenvalue", solver.greatest_eigenvalue, "the same from above", finite);
  add(to, "--lanczos-steps", solver.lanczos_steps, "chebyshev, richardson: steps that estimate them (default 20)",
      whole(64));
  add(to, "--polynomial-degree", solver.polynomial_degree, "bicgstabl: the l of BiCGSTAB(l) (default 2)", whole(8));
  add(to, "--preconditioner", solver.preconditioner,
      "auto: chosen from the matrix, and others where that fails; jacobi: the inverse of the diagonal; where that "
      "takes too many iterations, amg: algebraic multigrid, as for large grids, or multigrid, if A is a 5- or 7-point "
      "stencil with constant coefficients; or incomplete factors, ic: for symmetric definite matrices, ilu: for all "
      "others; or sparse approximate inverses, fsai and spai, likewise; or block_jacobi, ssor, schwarz, chebyshev, "
      "neumann; or, for flexible methods, solve: iterations of another one (default none). "
      "amg,strength=0.1 or ilu,drop=1e-5,fill=20 changes settings; docs/preconditioners.md lists them",
      preconditioner_of_matrix());
  add(to, "--format", solver.format,
      "How products read the matrix; auto looks at its pattern (default auto). docs/formats.md compares them",
      one_of(format_names()));
  add(to, "--scaling", solver.scaling,
      "Iterate with R A C instead, whose rows, diagonal, or rows and columns are about 1 (default none)",
      one_of(scaling_names()));
  add(to, "--permutation", solver.permutation,
      "Iterate with rows and columns in another order: rcm or degree, or matching: large entries on the diagonal, and "
      "scaled (default none)",
      one_of(permutation_names()));
  add(to, "--matrix-values", solver.matrix_values,
      "float: iterate with A's values rounded to float, half the bytes (default exact)", one_of({"exact", "float"}));
  const auto tolerance = [](double most, const char* wanted) {
    return number<double>(
        "FLOAT", [=](double value) { return value >= 0 && value < most; }, wanted);
  };
  add(to, "--rtol", solver.rtol, "Stop at |b - A x| <= rtol |b| (default 1e-8)",
      tolerance(1, "a number from 0 to below 1, as 1e-8"));
  add(to, "--atol", solver.atol, "or at |b - A x| <= atol (default 0)",
      tolerance(INFINITY, "a finite number that is not negative, as 1e-12"));
  add_limits(to, solver, "10000");
  add(to, "--precision", into.precision, "Default double", one_of({"double", "float"}));
  add_unroll(to, solver.unroll, "Iterations");
  add_threads(to, solver.threads);
  add_device(to, solver.device);
  add_quiet(to, into.quiet);
  add(to, "--json", into.json, json_help, not_empty());
  add(to, "--plot", into.plot, "Write a picture of the convergence (SVG)", not_empty());
}

void add_eigenpairs(CLI::App* to, eigen_options& into) {
  auto& solver = into.solver;
  add_matrix(to, into.about);
  add(to, "--count", solver.count, "How many pairs (default 1)", whole_number(1, 16, "4"));
  to->add_flag("--largest", into.largest, "Those with the largest eigenvalues, not the smallest");
  add(to, "--block-columns", solver.block_columns,
      "Columns that are iterated on; more than --count speed up the last pairs (default: a quarter more)",
      whole_number(1, 24, "8"));
  add(to, "--preconditioner", solver.preconditioner,
      "jacobi: the inverse of the diagonal; for the smallest pairs of a positive definite matrix, amg or another one "
      "that is close to the inverse of A, with settings as for whilst solve; auto chooses one (default none)",
      preconditioner_of_matrix());
  add(to, "--rtol", solver.rtol, "Stop at |A x - lambda x| <= rtol |A| for all pairs (default 1e-8)",
      number<double>(
          "FLOAT", [](double value) { return value >= 0 && value < 1; }, "a number from 0 to below 1, as 1e-8"));
  add_limits(to, solver, "1000");
  add(to, "--precision", into.about.precision, "Default double", one_of({"double", "float"}));
  add(to, "--executor", solver.executor, "What runs the loop: the CPU; kernel launches; one CUDA graph (default auto)",
      one_of({"auto", "host", "stream", "graph"}));
  add_unroll(to, solver.unroll, "Iterations");
  add_threads(to, solver.threads);
  add_device(to, solver.device);
  to->add_flag("--monitor", into.about.monitor, "Print the convergence history, and progress where it is no terminal");
  add_quiet(to, into.about.quiet);
  add(to, "--output", into.about.output, "Write the vectors as columns of a Matrix Market file", not_empty());
  add(to, "--json", into.about.json, json_help, not_empty());
  add(to, "--history", into.about.history, "Write iteration,residual_norm as CSV: the largest of the pairs",
      not_empty());
  add(to, "--plot", into.about.plot, "Write a picture of the convergence (SVG)", not_empty());
  to->footer(
      "By LOBPCG: a block of columns, a product with each an iteration, the best of what the block, its residuals and\n"
      "its last directions span. |A| is the largest sum of the sizes of a row's entries, no less than any "
      "eigenvalue's\n"
      "size. Smallest and largest are by value: of -3, 1 and 2 the smallest is -3.\n"
      "Ctrl-C stops the solve, and its report says cancelled; a second one ends the program.\n"
      "Files are written whole or not at all, and paths are tried before the solve starts.\n\n"
      "Examples:\n"
      "  whilst eigen --gallery poisson2d:64 --count 4\n"
      "  whilst eigen A.mtx --largest --rtol 1e-10 --output vectors.mtx\n"
      "  whilst eigen --gallery elasticity2d:16 --count 3 --preconditioner amg\n"
      "  whilst eigen A.mtx --count 8 --block-columns 16 --json - | jq .eigenvalues\n\n"
      "Exit status: 0 converged; 2 not converged, cancelled or out of time; 1 any error, as a matrix that is not\n"
      "symmetric.");
}

/// The options that minimize and equations share. `what` is "function".
void add_bundled(CLI::App* to, bundled_options& into, const std::string& what, const std::string& properties) {
  add(to, what, into.problem, "One of those that --list has", not_empty())->option_text("NAME[:N]");
  to->add_flag("--list", into.list, fmt::format("List the {}s with their sizes and {}, and leave", what, properties));
  add(to, "--start-factor", into.start_factor, "Start at the standard start times this (default 1)",
      number<double>(
          "FLOAT", [](double value) { return std::isfinite(value); }, "a finite number, as 10"));
}
template <class Options>
void add_run(CLI::App* to, Options& solver, bundled_options& into) {
  add(to, "--executor", solver.executor, "What runs the loop: the CPU; kernel launches; one CUDA graph (default auto)",
      one_of({"auto", "host", "stream", "graph"}));
  add_unroll(to, solver.unroll, "Evaluations");
  add_threads(to, solver.threads);
  add_device(to, into.device);
}
void add_results(CLI::App* to, bundled_options& into, const std::string& columns, const std::string& drawn) {
  to->add_flag("--monitor", into.monitor, "Print the history, and progress where it is no terminal");
  add_quiet(to, into.quiet);
  add(to, "--output", into.output, "Write x as a Matrix Market file", not_empty());
  add(to, "--json", into.json, json_help, not_empty());
  add(to, "--history", into.history, fmt::format("Write {} as CSV", columns), not_empty());
  add(to, "--plot", into.plot, fmt::format("Write a picture of {} over the iterations (SVG)", drawn), not_empty());
}

void add_minimization(CLI::App* to, minimize_options& into) {
  auto& solver = into.solver;
  add_bundled(to, into, "function", "minima");
  add(to, "--method", solver.method, "Default lbfgs",
      one_of({"lbfgs", "bfgs", "newton", "newton-cg", "trust-region", "levenberg-marquardt", "dogleg",
              "conjugate-gradient-pr", "conjugate-gradient-hz", "gradient-descent"}));
  add(to, "--line-search", solver.line_search, "Default strong-wolfe",
      one_of({"backtracking", "strong-wolfe", "approximate-wolfe", "parallel"}));
  add(to, "--hessian", into.hessian,
      "Second derivatives as a sparse matrix, or as products with vectors, which newton cannot use (default auto: the "
      "matrix)",
      one_of({"auto", "assembled", "matrix-free"}));
  add(to, "--damping", into.damping,
      "Of levenberg-marquardt: by how right the model was, or a tenth and ten times (default nielsen)",
      one_of({"nielsen", "classic"}));
  add(to, "--first-damping", into.first_damping,
      "Of levenberg-marquardt, in units of the Hessian's diagonal (default 0.001)",
      number<double>(
          "FLOAT", [](double value) { return value > 0 && std::isfinite(value); }, "a finite number above 0, as 100"));
  auto& tolerances = solver.tolerances;
  add(to, "--gradient-tolerance", tolerances.gradient, "Stop at ||g|| <= this (default 1e-8; 0: never)",
      tolerance_as("1e-8"));
  add(to, "--relative-gradient", tolerances.relative_gradient, "or at ||g|| <= this times the first one (default 0)",
      tolerance_as("1e-6"));
  add(to, "--step-tolerance", tolerances.step, "or after a step no longer than this times ||x|| (default 0)",
      tolerance_as("1e-12"));
  add(to, "--function-tolerance", tolerances.function,
      "or after one that gained no more than this times |f| (default 0)", tolerance_as("1e-12"));
  add_limits(to, solver, "10000");
  add_run(to, solver, into);
  add_results(to, into, "iteration,value,gradient_norm,step_length,evaluations", "f and its gradient");
  to->footer(
      "An iteration is a step that was taken; the line search may evaluate f several times for one. lbfgs suits "
      "nearly\n"
      "all functions; bfgs and newton keep an N x N matrix and are for small N; newton and newton-cg use second\n"
      "derivatives, and newton-cg the sparse ones of functions of any size. --hessian is for newton, newton-cg,\n"
      "trust-region, levenberg-marquardt and dogleg.\n"
      "Ctrl-C stops the minimization, and its report says cancelled; a second one ends the program.\n"
      "Files are written whole or not at all, and paths are tried before the minimization starts.\n\n"
      "Examples:\n"
      "  whilst minimize --list\n"
      "  whilst minimize rosenbrock --monitor\n"
      "  whilst minimize extended-rosenbrock:100000 --executor graph --history history.csv --plot picture.svg\n"
      "  whilst minimize broyden-banded:1000 --method newton-cg --hessian matrix-free --start-factor 10\n"
      "  whilst minimize wood --method levenberg-marquardt --damping classic --first-damping 100\n"
      "  whilst minimize osborne-2 --method bfgs --json - | jq .value\n\n"
      "Exit status: 0 converged; 2 not converged, cancelled or out of time; 1 any error.");
}

void add_equations(CLI::App* to, equations_options& into) {
  auto& solver = into.solver;
  add_bundled(to, into, "system", "roots");
  add(to, "--method", solver.method, "Default newton-krylov",
      one_of({"newton", "newton-krylov", "broyden", "anderson"}));
  add(to, "--max-inner-iterations", into.max_inner_iterations,
      "Of newton-krylov, a step (default: twice the unknowns, from 20 to 2000)",
      whole_number(1, std::numeric_limits<index_type>::max(), "100"));
  add(to, "--depth", into.depth, "Of anderson: how many differences it combines (default 5)",
      number<int>(
          "INT", [](int value) { return value >= 1 && value <= 10; }, "a whole number from 1 to 10, as 5"));
  add(to, "--mixing", into.mixing, "Of anderson: what part of F it steps along (default 1)",
      number<double>(
          "FLOAT", [](double value) { return value != 0 && std::isfinite(value); },
          "a finite number that is not 0, as 0.25"));
  auto& tolerances = solver.tolerances;
  add(to, "--atol", tolerances.atol, "Stop at ||F|| <= this (default 1e-10; 0: never)", tolerance_as("1e-10"));
  add(to, "--rtol", tolerances.rtol, "or at ||F|| <= this times the first one (default 1e-8)", tolerance_as("1e-8"));
  add(to, "--step-tolerance", tolerances.step, "or after a step no longer than this times ||x|| (default 0)",
      tolerance_as("1e-12"));
  add_limits(to, solver, "1000");
  add_run(to, solver, into);
  add_results(to, into, "iteration,residual_norm,step_length,evaluations", "||F||");
  to->footer(
      "An iteration is a step that was taken; F may be evaluated several times for one. newton solves with the dense\n"
      "Jacobian, up to 1000 unknowns; newton-krylov with the sparse one by BiCGSTAB, for any number; broyden and\n"
      "anderson use no derivatives. anderson steps along -F times --mixing, and so wants F scaled: where F changes\n"
      "much faster than x, a small --mixing. What is found is a point where ||F|| is small, or why none was.\n"
      "Ctrl-C stops the solve, and its report says cancelled; a second one ends the program.\n"
      "Files are written whole or not at all, and paths are tried before the solve starts.\n\n"
      "Examples:\n"
      "  whilst equations --list\n"
      "  whilst equations rosenbrock --method newton --monitor\n"
      "  whilst equations bratu:10000 --executor graph --history history.csv --plot picture.svg\n"
      "  whilst equations broyden-tridiagonal:100000 --method anderson --depth 8 --mixing 0.25\n"
      "  whilst equations helical-valley --method newton --json - | jq .residual_norm\n\n"
      "Exit status: 0 converged; 2 not converged, cancelled or out of time; 1 any error.");
}

}  // namespace

arguments::arguments()
    : app("Solves linear and nonlinear systems, finds eigenvalues, and minimizes functions, with loops that run whole "
          "on the GPU, or on "
          "the "
          "CPU.",
          "whilst") {
  add_version(app);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  whilst solve A.mtx                        right-hand side of ones, conjugate gradients\n"
      "  whilst solve A.mtx --rhs b.mtx --method bicgstab --preconditioner jacobi --output x.mtx\n"
      "  whilst solve --gallery elasticity3d:16 --preconditioner jacobi\n"
      "  whilst compare --gallery poisson2d:512    every executor of this machine side by side\n"
      "  whilst eigen --gallery poisson2d:64 --count 4\n"
      "  whilst minimize rosenbrock                lbfgs, from the standard starting point\n"
      "  whilst equations bratu:10000              Newton and BiCGSTAB, likewise\n"
      "  whilst gallery poisson3d:64 --output A.mtx\n"
      "  whilst info                               what this machine can run\n\n"
      "Exit status: 0 solved (converged); 2 not converged, cancelled or out of time; 1 any error.\n"
      "whilst COMMAND --help tells more of each command.");

  solve = app.add_subcommand("solve", "Solve A x = b, starting at x = 0");
  add_problem(solve, solving);
  add(solve, "--null-space", solving.solver.null_space,
      "Of a singular matrix: constant for the vector of ones (default none). b loses its part in it, x has none",
      one_of({"none", "constant"}));
  add(solve, "--null-space-vectors", solving.null_space_file,
      "The same for vectors that span it, the columns of a file", not_empty())
      ->excludes("--null-space");
  add(solve, "--deflation", solving.deflation_file,
      "Vectors that span about the slowest modes, the columns of a file: iterations become those of the others",
      not_empty());
  add(solve, "--executor", solving.solver.executor,
      "What runs the loop: the CPU; kernel launches; one CUDA graph; one kernel (default auto)",
      one_of({"auto", "host", "stream", "graph", "resident"}));
  CLI::Option* const ranks = add(solve, "--ranks", solving.ranks,
                                 "Split the rows among several ranks, one GPU each, or with --executor host parts of "
                                 "the CPU: threads:P, of this process, or mpi, the processes that mpirun started "
                                 "(default: one). docs/several-gpus.md tells of them",
                                 ranks_of_group());
  add_partition(solve, ranks, solving);
  add(solve, "--transport", solving.solver.transport,
      "How they exchange: on GPUs by peer-memory, host-memory or nccl-windows, on the host by threads or "
      "shared-memory; auto takes the first that works, never nccl-windows (default auto)",
      transport_of_ranks());
  add(solve, "--peer-limit", solving.peer_limit_seconds,
      "Seconds that they wait for one that does not come, before the solve ends with peer_lost (default 10)", seconds())
      ->needs(ranks);
  solve->add_flag("--monitor", solving.monitor, "Print the convergence history, and progress where it is no terminal");
  solve->add_flag("--explain", solving.explain,
                  "Print the recorded program, and what was made as a preconditioner: of amg a table of its levels");
  add(solve, "--output", solving.output, "Write x as a Matrix Market file", not_empty());
  add(solve, "--history", solving.history, "Write iteration,residual_norm as CSV", not_empty());
  solve->footer(
      "Ctrl-C stops the solve, and its report says cancelled; a second one ends the program.\n"
      "Files are written whole or not at all, and paths are tried before the solve starts.\n\n"
      "Examples:\n"
      "  whilst solve A.mtx --rtol 1e-10 --max-iterations 50000 --deadline 60\n"
      "  whilst solve --gallery poisson2d:256 --executor graph --unroll 8 --plot convergence.svg\n"
      "  whilst solve --gallery poisson3d:48 --preconditioner amg\n"
      "  zcat A.mtx.gz | whilst solve - --quiet --output x.mtx\n"
      "  whilst solve A.mtx --json - | jq .seconds_per_iteration\n"
      "  mpirun -n 4 whilst solve --gallery poisson3d:200 --ranks mpi\n"
      "  whilst solve mesh.mtx --ranks threads:4 --partition metis\n\n"
      "Exit status: 0 converged; 2 not converged, cancelled or out of time; 1 any error. It is 1, too, where --output\n"
      "is asked for and x is not finite: the report is there, x cannot be written.");

  compare = app.add_subcommand("compare", "Solve with every executor of this machine, and put them in a table");
  add_problem(compare, comparing);
  add(compare, "--beside", comparing.beside,
      "Run all with this preconditioner, too: their rows and curves come after the others", preconditioner_of_matrix())
      ->option_text("NAME");
  CLI::Option* const numbers = add(compare, "--ranks", comparing.ranks,
                                   "Compare numbers of ranks instead, which share the rows as solve does: "
                                   "threads:1,2,4, of this process, or "
                                   "mpi, the number that mpirun started",
                                   numbers_of_ranks());
  add_partition(compare, numbers, comparing);
  add(compare, "--executor", comparing.solver.executor,
      "With --ranks, what runs their loops: the CPU; kernel launches; one CUDA graph (default auto)",
      one_of({"auto", "host", "stream", "graph"}))
      ->needs(numbers);
  compare->footer(
      "Each executor solves once to warm up and then repeatedly; times are medians. On a GPU the table also\n"
      "holds the usual loop over cuSPARSE and cuBLAS and a WHILE graph written by hand, for as many iterations;\n"
      "the latter is leaner than Whilst: kernels of its own, no history, cancel, deadline or restart.\n"
      "Beyond 64 MiB an iteration, cg without preconditioner is given in GB/s too: matrix values, indices and\n"
      "offsets once, and 11 passes over a vector, divided by the time of an iteration.\n"
      "With --ranks there is a line for each number of ranks. Ranks on the host share its threads.\n\n"
      "Examples:\n"
      "  whilst compare --gallery poisson2d:512 --json comparison.json --plot convergence.svg\n"
      "  whilst compare --gallery poisson3d:200 --ranks threads:1,2,4\n\n"
      "Exit status: 0 all converged; 2 one did not; 1 any error.");

  eigen = app.add_subcommand("eigen", "Find some of the smallest or largest eigenvalues of a symmetric matrix");
  add_eigenpairs(eigen, finding_pairs);

  minimize = app.add_subcommand("minimize", "Minimize one of the functions that are bundled, from its standard start");
  add_minimization(minimize, minimizing);

  equations = app.add_subcommand("equations", "Solve one of the systems F(x) = 0 that are bundled, likewise");
  add_equations(equations, solving_equations);

  gallery = app.add_subcommand("gallery", "List the model problems, or write one to files");
  add(gallery, "problem", gallery_wanted.name_and_size, "As poisson2d:64; without it, the list", not_empty())
      ->option_text("NAME:SIZE");
  add(gallery, "--output", gallery_wanted.output, "Write the matrix as a Matrix Market file", not_empty());
  add(gallery, "--rhs-output", gallery_wanted.rhs_output, "Write the right-hand side likewise", not_empty());
  gallery->footer("Example:\n  whilst gallery elasticity2d:32 --output A.mtx --rhs-output b.mtx");

  info = app.add_subcommand("info", "Say what this machine can run, and why it cannot run the rest");
  info->add_flag("--methods", info_methods, "List the methods for linear systems instead: what each needs and costs");
  info->add_option_function<std::string>(
          "--json", [this](const std::string& path) { info_json = path.empty() ? "-" : path; },
          "Write a report; - for standard output, as without a value")
      ->type_name("FILE")
      ->expected(0, 1);

  completion = app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  add(completion, "shell", shell, "Whose script", one_of({"bash", "zsh", "fish"}))->required();
  completion->footer("Example:\n  whilst completion bash > ~/.local/share/bash-completion/completions/whilst");
  man = app.add_subcommand("man", "Print the manual page, which says what each command's --help does");
  man->footer("Example:\n  whilst man | man -l -");
}

}  // namespace whilst::command
