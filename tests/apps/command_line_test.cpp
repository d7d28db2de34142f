// Runs whilst as a person or script would: arguments in; exit status, output and files out.

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/gallery.hpp"
#include "whilst/version.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::process;
using whilst_test::program_path;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) { return whilst_test::run_program(program_path("whilst"), arguments); }

/// The numbers of an "array real general" file: written by hand here, not with the library's reader.
std::vector<double> array_entries(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  REQUIRE(line == "%%MatrixMarket matrix array real general");
  while (file.peek() == '%') std::getline(file, line);
  size_t rows = 0, columns = 0;
  file >> rows >> columns;
  REQUIRE(columns == 1);
  std::vector<double> entries(rows);
  for (double& entry : entries) file >> entry;
  REQUIRE(!file.fail());
  return entries;
}

const strings small_host_solve{"solve", "--gallery", "poisson1d:20", "--executor", "host"};

/// The outcome of a run that is interrupted a while after it has begun to solve.
outcome interrupted(const strings& arguments, const std::string& once = "executor") {
  const process solve(program_path("whilst"), arguments);
  // Half a minute is far more than reading and recording take.
  for (int polls = 0; !contains(solve.out(), once) && polls < 1500; ++polls) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  solve.send(SIGINT);
  return solve.wait();
}

}  // namespace

TEST_CASE("version and help go to standard output and succeed") {
  for (const char* asked : {"--version", "-V"}) {
    const outcome version = run({asked});
    CHECK(version.status == 0);
    CHECK(whilst_test::is_version("whilst", version.out));
  }

  for (const strings& arguments : {strings{"--help"}, {"solve", "--help"}, {"compare", "--help"}}) {
    const outcome help = run(arguments);
    CHECK(help.status == 0);
    CHECK(contains(help.out, "Example"));
    CHECK(contains(help.out, "Exit status"));
    CHECK(help.err.empty());
  }
}

TEST_CASE("a solve writes x, report, history and picture, and the solution is right") {
  const folder here;
  const outcome result =
      run(with(small_host_solve, {"--rtol", "1e-10", "--output", here.at("x.mtx"), "--json", here.at("report.json"),
                                  "--history", here.at("history.csv"), "--plot", here.at("picture.svg")}));
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.out, "converged_rtol"));
  CHECK(contains(result.out, "20 rows, 58 nonzeros"));
  CHECK(here.files() == 4);

  // -x[i-1] + 2 x[i] - x[i+1] = 1 with zeros at both ends: x[i] = i (n + 1 - i) / 2, i from 1. The error is at most
  // the residual over the least eigenvalue, and |b| = sqrt(n).
  const int n = 20;
  const double least_eigenvalue = 2 - 2 * std::cos(std::numbers::pi / (n + 1));
  const double bound = 1e-10 * std::sqrt(n) / least_eigenvalue;
  const auto x = array_entries(here / "x.mtx");
  REQUIRE(x.size() == n);
  for (int i = 1; i <= n; ++i) CHECK(std::abs(x[static_cast<size_t>(i - 1)] - i * (n + 1 - i) / 2.0) <= bound);

  const json report = json::parse(text_of(here / "report.json"));
  for (const char* key : {"method", "preconditioner", "executor", "precision", "n", "nnz", "iterations", "reason",
                          "converged", "relative_residual", "rhs_norm", "setup_seconds", "solve_seconds",
                          "seconds_per_iteration", "device", "version"}) {
    INFO(key);
    CHECK(report.contains(key));
  }
  CHECK(report["method"] == "cg");
  CHECK(report["preconditioner"] == "none");
  CHECK(report["executor"] == "host");
  CHECK(report["precision"] == "double");
  CHECK(report["n"] == 20);
  CHECK(report["nnz"] == 58);
  CHECK(report["converged"] == true);
  CHECK(report["reason"] == "converged_rtol");
  // In exact arithmetic 10: the right side is symmetric, so it meets half the eigenvectors.
  CHECK(report["iterations"].get<int>() >= 10);
  CHECK(report["iterations"].get<int>() <= 20);
  CHECK(report["relative_residual"].get<double>() <= 1e-10);
  // The sum of 20 ones is exact, its root rounded; two more roundings are allowed to the solver.
  const double rounding = 3 * std::numeric_limits<double>::epsilon();
  CHECK(std::abs(report["rhs_norm"].get<double>() / std::sqrt(20.0) - 1) <= rounding);
  CHECK(report["version"] == whilst::version);

  std::istringstream history(text_of(here / "history.csv"));
  std::string line;
  std::getline(history, line);
  CHECK(line == "iteration,residual_norm");
  std::getline(history, line);
  CHECK(line.substr(0, 2) == "0,");
  CHECK(std::abs(std::stod(line.substr(2)) / std::sqrt(20.0) - 1) <= rounding);
  int records = 1;
  for (; std::getline(history, line); ++records) CHECK(std::stoi(line) == records);
  CHECK(records == report["iterations"].get<int>() + 1);

  const std::string picture = text_of(here / "picture.svg");
  CHECK(picture.substr(0, 4) == "<svg");
  CHECK(contains(picture, "</svg>"));
  CHECK(contains(picture, "poisson1d:20"));
}

TEST_CASE("solve --explain tells what was recorded, and the levels of amg") {
  const outcome result = run({"solve", "--gallery", "poisson2d:40", "--executor", "host", "--preconditioner",
                              "amg,coarsest_rows=60", "--explain"});
  CHECK(result.status == 0);
  const std::size_t program = result.out.find("program on the host"), levels = result.out.find("preconditioner amg,");
  REQUIRE(program < levels);
  REQUIRE(levels != std::string::npos);
  CHECK(contains(result.out.substr(levels), "      0       1600        7840     4.9  1 x spai0 "));
}

TEST_CASE("compare --beside runs another preconditioner, too") {
  const folder here;
  const strings compare{"compare", "--gallery", "poisson2d:20", "--preconditioner", "jacobi", "--beside", "amg"};
  const outcome result = run(with(compare, {"--json", here.at("r.json"), "--plot", here.at("p.svg")}));
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  const json report = json::parse(text_of(here / "r.json"));
  CHECK(report["beside"] == "amg");
  int by_jacobi = 0, by_amg = 0;
  for (const json& row : report["executors"]) {
    if (row["name"] == "host") by_jacobi = row["iterations"];
    if (row["name"] == "host, amg") by_amg = row["iterations"];
    CHECK(row["name"] != "resident, amg");
  }
  CHECK(by_amg > 0);
  CHECK(2 * by_amg < by_jacobi);
  const std::string picture = text_of(here / "p.svg");
  for (const char* label : {">host, jacobi<", ">host, amg<"}) CHECK(contains(picture, label));
  const outcome unknown = run({"compare", "--gallery", "poisson2d:20", "--beside", "amgg"});
  CHECK(unknown.status == 1);
  CHECK(contains(unknown.err, "--beside"));
}

TEST_CASE("json - leaves standard output to the report alone") {
  const outcome result = run(with(small_host_solve, {"--json", "-", "--monitor"}));
  CHECK(result.status == 0);
  CHECK(json::parse(result.out)["converged"] == true);
  CHECK(contains(result.err, "converged_rtol"));
}

TEST_CASE("a solve that does not converge exits with 2 and still reports") {
  const folder here;
  const outcome result =
      run(with(small_host_solve, {"--max-iterations", "3", "--monitor", "--json", here.at("report.json")}));
  CHECK(result.status == 2);
  CHECK(contains(result.out, "--max-iterations"));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["converged"] == false);
  CHECK(report["reason"] == "iteration_limit");
  CHECK(report["iterations"] == 3);
  // A line for each record: the start and three updates.
  CHECK(report["history"]["iterations"] == json({0, 1, 2, 3}));
  CHECK(contains(result.out, "   iteration       residual       relative\n           0  "));
}

TEST_CASE("an x that would overflow is written as it was before, and the report says so") {
  const folder here;
  // By hand: alpha = (b, b) / (b, A b) = 1e6 / 1e-302, so that x_2 = 1e308 * 1e3 overflows where no residual sees it.
  std::ofstream(here / "A.mtx") << "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e-296\n";
  std::ofstream(here / "b.mtx") << "%%MatrixMarket matrix array real general\n2 1\n1e-3\n1e3\n";
  const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--executor", "host",
                              "--max-iterations", "1", "--output", here.at("x.mtx"), "--json", here.at("report.json")});
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(json::parse(text_of(here / "report.json"))["reason"] == "nan_or_infinity");
  CHECK(text_of(here / "x.mtx") == "%%MatrixMarket matrix array real general\n2 1\n0\n0\n");
  CHECK(here.files() == 4);
}

TEST_CASE("a symbolic link to x that is not there yet stays a link") {
  const folder here;
  fs::create_symlink("x.mtx", here / "link.mtx");
  CHECK(run(with(small_host_solve, {"--output", here.at("link.mtx")})).status == 0);
  CHECK(fs::is_symlink(here / "link.mtx"));
  CHECK(array_entries(here / "x.mtx").size() == 20);
  CHECK(here.files() == 2);
}

TEST_CASE("stagnation comes with advice for it") {
  const folder here;
  // By hand: A b = (1, 1) and alpha = 1, so that the half step leaves s = (0, -1), to which A s = (-1, 0) is
  // orthogonal.
  std::ofstream(here / "A.mtx") << "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 1\n2 1 1\n";
  std::ofstream(here / "b.mtx") << "%%MatrixMarket matrix array real general\n2 1\n1\n0\n";
  for (const auto& [preconditioner, other] : {std::pair("none", "jacobi"), {"jacobi", "none"}}) {
    const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--method", "bicgstab",
                                "--preconditioner", preconditioner, "--executor", "host"});
    INFO(result.out << result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.out, "stagnation: no further progress"));
    CHECK(contains(result.out, std::string("try --preconditioner ") + other + " or ilu, or a larger --rtol"));
  }
}

TEST_CASE("the number of threads changes no bit of a solution") {
  const folder here;
  // Just large enough for the host to use threads in each step: 32 pieces of 2048 indices.
  const strings solve{"solve", "--gallery", "poisson2d:257", "--executor", "host", "--max-iterations", "20"};
  for (const std::string threads : {"1", "2", "5"}) {
    const outcome result = run(with(solve, {"--threads", threads, "--output", here.at("x" + threads + ".mtx")}));
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(text_of(here.at("x" + threads + ".mtx")) == text_of(here.at("x1.mtx")));
  }
  CHECK(!text_of(here.at("x1.mtx")).empty());
}

TEST_CASE("auto says which methods ran, and why") {
  const std::string why =
      "cg, since the matrix is symmetric and its diagonal has one sign; then minres, since cg ended with "
      "indefinite_operator after ";
  const strings indefinite{"solve", "--gallery", "helmholtz2d:12", "--executor", "host", "--method", "auto"};
  const outcome shown = run(indefinite);
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "method       " + why));
  const outcome written = run(with(indefinite, {"--json", "-"}));
  CHECK(written.status == 0);
  const json report = json::parse(written.out);
  CHECK(report["method"] == "minres");
  CHECK(contains(report["choice"], why));
  CHECK_FALSE(json::parse(run(with(small_host_solve, {"--json", "-"})).out).contains("choice"));
  const outcome compared = run({"compare", "--gallery", "poisson1d:20", "--method", "auto", "--json", "-", "--quiet"});
  CHECK(compared.status == 0);
  const json comparison = json::parse(compared.out);
  for (const json& executor : comparison["executors"])
    if (executor["available"]) CHECK(executor["report"]["method"] == "cg");
}

TEST_CASE("solve says which levels preconditioner amg made") {
  const strings problem{"solve", "--gallery", "poisson2d:30", "--executor", "host", "--preconditioner"};
  const outcome told = run(with(problem, {"amg,coarsest_rows=16,precision=double"}));
  INFO(told.out << told.err);
  CHECK(told.status == 0);
  CHECK(contains(told.out, "\nsolver       cg, amg,coarsest_rows=16,precision=double, double"));
  CHECK(contains(told.out, " levels of 900, "));
  const json report = json::parse(run(with(problem, {"amg", "--json", "-"})).out);
  const auto choice = report["preconditioner_choice"].get<std::string>();
  CHECK(choice.rfind("amg, ", 0) == 0);
  CHECK(contains(run(with(problem, {"amg"})).out, "\nM            " + choice + "\n"));
  CHECK_FALSE(json::parse(run(with(problem, {"jacobi", "--json", "-"})).out).contains("preconditioner_choice"));
  const json comparison = json::parse(
      run({"compare", "--gallery", "poisson2d:30", "--preconditioner", "amg,strength=0.1", "--json", "-", "--quiet"})
          .out);
  for (const json& executor : comparison["executors"])
    if (executor["name"] == "host") CHECK(executor["report"]["preconditioner"] == "amg,strength=0.1");
}

TEST_CASE("solve says what auto chose") {
  const strings problem{"solve",    "--gallery", "poisson2d:30",     "--executor", "host",
                        "--method", "auto",      "--preconditioner", "auto"};
  const json report = json::parse(run(with(problem, {"--json", "-"})).out);
  CHECK(report["method"] == "cg");
  CHECK(report["preconditioner"] == "ic");
  CHECK(contains(report["choice"].get<std::string>(), "cg with ic, since the matrix is symmetric"));
  CHECK(contains(run(problem).out, "M            ic, "));
}

TEST_CASE("solve says which factors preconditioners ilu and ic made") {
  const strings problem{"solve", "--gallery", "elasticity2d:6", "--executor", "host", "--preconditioner"};
  const outcome by_ic = run(with(problem, {"ic,drop=1e-3,order=degree"}));
  INFO(by_ic.out << by_ic.err);
  CHECK(by_ic.status == 0);
  CHECK(contains(by_ic.out, "\nsolver       cg, ic,drop=1e-3,order=degree, double"));
  CHECK(contains(by_ic.out, "\nM            ic, "));
  CHECK(contains(by_ic.out, " levels; degree\n"));
  const outcome by_ilu = run(with(problem, {"ilu,drop=0,fill=0,pivoting=0.1", "--method", "gmres", "--json", "-"}));
  CHECK(by_ilu.status == 0);
  const json report = json::parse(by_ilu.out);
  CHECK(report["preconditioner"] == "ilu,drop=0,fill=0,pivoting=0.1");
  CHECK(int(report["iterations"]) <= 2);  // the factors are exact
  const auto choice = report["preconditioner_choice"].get<std::string>();
  CHECK(choice.rfind("ilu, ", 0) == 0);
  CHECK(contains(choice, "; matched; rcm"));
  const json comparison = json::parse(
      run({"compare", "--gallery", "elasticity2d:6", "--preconditioner", "ic,levels=1", "--json", "-", "--quiet"}).out);
  for (const json& executor : comparison["executors"])
    if (executor["name"] == "host") CHECK(executor["report"]["preconditioner"] == "ic,levels=1");
}

TEST_CASE("a solve that reaches its limit is told of a better preconditioner") {
  const strings stopped{"solve", "--gallery", "poisson2d:30", "--executor", "host", "--max-iterations", "2"};
  const auto advised = [&](const strings& options, const std::string& what) {
    const outcome result = run(with(stopped, options));
    INFO(result.out << result.err);
    CHECK(contains(result.out, " try " + what + "a larger --max-iterations\n"));
  };
  advised({}, "--preconditioner jacobi, amg or ic, or ");
  advised({"--method", "auto"}, "--preconditioner jacobi, amg or ic, or ");  // it takes cg
  advised({"--method", "gmres"}, "--preconditioner jacobi, amg or ilu, or ");
  advised({"--method", "lsqr"}, "--preconditioner jacobi, or ");
  advised({"--scaling", "symmetric"}, "--preconditioner jacobi, or ");
  advised({"--preconditioner", "jacobi"}, "--preconditioner amg or ic, or ");
  advised({"--preconditioner", "jacobi", "--method", "bicgstab"}, "--preconditioner amg or ilu, or ");
  advised({"--preconditioner", "jacobi", "--scaling", "symmetric"}, "");
  advised({"--preconditioner", "amg"}, "--preconditioner ic, or ");
  advised({"--preconditioner", "ic,drop=0.5"}, "--preconditioner ic with a smaller drop or a larger fill, or ");
  advised({"--preconditioner", "ilu,drop=0.5"}, "--preconditioner ic, or ");  // for cg
  advised({"--preconditioner", "ilu,levels=0", "--method", "gmres"}, "--preconditioner ilu with more levels, or ");
}

TEST_CASE("a solve by ilu that wants a symmetric preconditioner is told of ic") {
  const folder here;
  // By hand: the largest product is that of the entries beside the diagonal, 1 > 4 * 0.1. Matched, scaled, and with the
  // others dropped, M exchanges the two unknowns: (r, M r) = -2 for r = (1, -1), though (r, A r) = 2.1.
  std::ofstream(here / "A.mtx") << "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 0.1\n";
  std::ofstream(here / "b.mtx") << "%%MatrixMarket matrix array real general\n2 1\n1\n-1\n";
  const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--method", "minres",
                              "--preconditioner", "ilu,drop=0.9", "--executor", "host"});
  INFO(result.out << result.err);
  CHECK(result.status == 2);
  CHECK(contains(result.out, "indefinite_preconditioner"));
  CHECK(contains(result.out, "ilu is not symmetric: try --preconditioner ic, or --method bicgstab"));
}

TEST_CASE("solve says in which format, and why") {
  for (const std::string format : {"csr", "sell", "ell", "balanced"}) {
    const outcome named = run(with(small_host_solve, {"--format", format, "--preconditioner", "jacobi"}));
    INFO(named.out << named.err);
    CHECK(named.status == 0);
    CHECK(contains(named.out, "\nformat       " + format + "\n"));
    const json report = json::parse(run(with(small_host_solve, {"--format", format, "--json", "-"})).out);
    CHECK(report["format"] == format);
    CHECK_FALSE(report.contains("format_choice"));
  }
  const std::string why = "csr, since the matrix has fewer than 10000000 nonzeros and no very long row";
  CHECK(contains(run(small_host_solve).out, "\nformat       " + why + "\n"));
  const json report = json::parse(run(with(small_host_solve, {"--json", "-"})).out);
  CHECK(report["format"] == "csr");
  CHECK(report["format_choice"] == why);
  const outcome blocks = run({"solve", "--gallery", "elasticity3d:2", "--format", "bsr", "--json", "-", "--executor",
                              "host", "--preconditioner", "jacobi"});
  CHECK(blocks.status == 0);
  CHECK(json::parse(blocks.out)["format"] == "bsr");
}

TEST_CASE("info lists the methods, what they need and what they cost") {
  const outcome table = run({"info", "--methods"});
  CHECK(table.status == 0);
  const outcome written = run({"info", "--methods", "--json"});
  CHECK(written.status == 0);
  const json methods = json::parse(written.out)["methods"];
  const std::string help = run({"solve", "--help"}).out;
  for (const json& one : methods) {
    const std::string name = one["name"];
    INFO(name);
    CHECK(contains(table.out, "\n" + name + " "));
    CHECK(contains(table.out, one["paper"].get<std::string>()));
    CHECK(contains(help, "|" + name));
  }
  REQUIRE(methods.size() >= 11);
  CHECK(methods[0]["name"] == "cg");
  CHECK(methods[0]["symmetric"] == true);
  CHECK(methods[0]["definite"] == true);
  CHECK(methods[0]["runs_in_kernel"] == true);
  CHECK(methods[0]["products"] == "1");
  for (const json& one : methods) {
    if (one["name"] != "minres") continue;
    CHECK(one["definite"] == false);
    CHECK(one["definite_preconditioner"] == true);
  }
  CHECK(contains(table.out, "\nbicgstabl     any                 2 l       2 l + 4"));
}

TEST_CASE("every method solves by its name and its settings") {
  for (const char* method : {"cg", "pipelined-cg", "flexible-cg", "refined-cg", "minres", "cr", "bicgstab", "bicgstabl",
                             "idr", "gmres", "fgmres"}) {
    INFO(method);
    const outcome result = run(with(small_host_solve, {"--method", method, "--restart", "20", "--shadow-dimension", "2",
                                                       "--polynomial-degree", "3", "--json", "-"}));
    CHECK(result.status == 0);
    const json report = json::parse(result.out);
    CHECK(report["method"] == method);
    CHECK(report["reason"] == "converged_rtol");
  }
}

TEST_CASE("a singular matrix is solved with its null space, by name or from a file") {
  const folder here;
  std::ofstream(here.at("ones.mtx")) << "%%MatrixMarket matrix array real general\n9 1\n2\n2\n2\n2\n2\n2\n2\n2\n2\n";
  std::ofstream(here.at("b.mtx")) << "%%MatrixMarket matrix array real general\n9 1\n9\n0\n0\n0\n0\n0\n0\n0\n0\n";
  const strings common{"solve", "--gallery", "neumann2d:3", "--executor", "host", "--rhs", here.at("b.mtx")};
  for (const strings& named :
       {strings{"--null-space", "constant"}, strings{"--null-space-vectors", here.at("ones.mtx")}}) {
    const outcome result = run(with(with(common, named), {"--json", "-"}));
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.err, "the part of b in it has norm 3.000e+00 and was left out"));
    CHECK_FALSE(contains(result.err, "warning"));
    const json report = json::parse(result.out);
    CHECK(std::abs(report["removed_norm"].get<double>() - 3) < 1e-14);  // the mean is 1, of 9 entries
    CHECK(report["true_relative_residual"].get<double>() <= 1e-8);
  }
}

TEST_CASE("a scaling and values in float are asked for by name, and told") {
  const outcome result =
      run(with(small_host_solve, {"--scaling", "equilibrate", "--matrix-values", "float", "--json", "-"}));
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.err, "scaling      equilibrate\n"));
  CHECK(contains(result.err, "values       in float\n"));
  const json report = json::parse(result.out);
  CHECK(report["scaling"] == "equilibrate");
  CHECK(report["matrix_values"] == "float");
  CHECK(report["format"] == "sell");
  CHECK(report["true_relative_residual"].get<double>() <= 1e-8);
  const outcome refused = run(with(small_host_solve, {"--scaling", "rows"}));
  CHECK(refused.status == 1);
  CHECK(contains(refused.err, "scaling rows destroys symmetry, which method cg needs"));
}

TEST_CASE("a permutation is asked for by name, and told") {
  const outcome result =
      run(with(small_host_solve, {"--method", "bicgstab", "--permutation", "matching_rcm", "--json", "-"}));
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.err, "permutation  matching_rcm\n"));
  const json report = json::parse(result.out);
  CHECK(report["permutation"] == "matching_rcm");
  CHECK(report["true_relative_residual"].get<double>() <= 1e-8);
  // Nodes and coordinates, which the gallery knows, are in another order.
  const strings elastic{"solve", "--gallery", "elasticity2d:6", "--executor", "host", "--permutation", "rcm"};
  const outcome by_amg = run(with(elastic, {"--preconditioner", "amg", "--rtol", "1e-6"}));
  INFO(by_amg.err);
  CHECK(by_amg.status == 0);

  const outcome refused = run(with(small_host_solve, {"--permutation", "matching"}));
  CHECK(refused.status == 1);
  CHECK(contains(refused.err, "permutation matching destroys symmetry, which method cg needs"));
}

TEST_CASE("float and bicgstab with jacobi solve too") {
  const outcome result = run(with(small_host_solve, {"--precision", "float", "--method", "bicgstab", "--preconditioner",
                                                     "jacobi", "--rtol", "1e-4", "--json", "-"}));
  INFO(result.err);
  CHECK(result.status == 0);
  const json report = json::parse(result.out);
  CHECK(report["precision"] == "float");
  CHECK(report["method"] == "bicgstab");
  CHECK(report["preconditioner"] == "jacobi");
  // Computed by the program in double; 10 times leaves room for the solver's own residual in float.
  CHECK(report["true_relative_residual"].get<double>() <= 1e-3);
}

TEST_CASE("gallery files solve like the gallery itself") {
  const folder here;
  // The name tells nothing: the content decides.
  const outcome made =
      run({"gallery", "elasticity2d:2", "--output", here.at("matrix.txt"), "--rhs-output", here.at("load")});
  INFO(made.err);
  REQUIRE(made.status == 0);
  const strings common{"--executor", "host", "--json", "-", "--max-iterations", "2000"};
  const outcome from_file = run(with({"solve", here.at("matrix.txt"), "--rhs", here.at("load")}, common));
  const outcome from_gallery = run(with({"solve", "--gallery", "elasticity2d:2"}, common));
  CHECK(from_file.status == 0);
  CHECK(from_gallery.status == 0);
  const json one = json::parse(from_file.out), other = json::parse(from_gallery.out);
  for (const char* key : {"n", "nnz", "iterations", "relative_residual", "rhs_norm"}) CHECK(one[key] == other[key]);

  CHECK_FALSE(one.contains("quantity"));
  const json tip = other["quantity"];
  CHECK(tip["name"] == "tip deflection");
  // P L^3 / (3 E I) alone, in plane stress: 10 kN, 1 m, 210 GPa, 0.01 m x 0.25 m. Shear adds a few percent to it, and
  // a mesh of 8 x 2 takes as much away.
  const double bending = 1e4 / (3 * 210e9 * 0.01 * std::pow(0.25, 3) / 12);
  CHECK(std::abs(tip["value"].get<double>() / bending - 1) < 0.15);
  CHECK(contains(from_gallery.err, "Timoshenko"));
}

TEST_CASE("gallery alone lists every name with its help") {
  const outcome list = run({"gallery"});
  CHECK(list.status == 0);
  for (const auto& entry : whilst::gallery_names()) {
    CHECK(contains(list.out, std::string(entry.name)));
    CHECK(contains(list.out, std::string(entry.help)));
  }
}

TEST_CASE("info names the executors and says why one is missing") {
  const outcome text = run({"info"});
  CHECK(text.status == 0);
  const outcome result = run({"info", "--json"});
  REQUIRE(result.status == 0);
  const folder here;
  const outcome to_file = run({"info", "--json", here.at("machine.json")});
  CHECK(to_file.status == 0);
  CHECK(to_file.out.empty());
  CHECK(text_of(here / "machine.json") == result.out);
  CHECK(run({"info", "--json", "-"}).out == result.out);
  const json machine = json::parse(result.out);
  strings names;
  for (const auto& executor : machine["executors"]) {
    names.push_back(executor["name"]);
    CHECK(contains(text.out, names.back()));
    CHECK(executor["available"].get<bool>() == executor["why_not"].get<std::string>().empty());
    if (executor["name"] == "host") CHECK(executor["available"] == true);
  }
  CHECK(names == strings{"host", "stream", "graph", "resident", "batch"});

  // Every GPU lists others alone, and peer memory is there where each lists all.
  const size_t gpus = machine["device_count"];
  REQUIRE(machine["peers"].size() == gpus);
  bool all_reach = gpus > 1;
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    for (const auto& peer : machine["peers"][gpu]) CHECK((peer != gpu && peer < gpus));
    all_reach = all_reach && machine["peers"][gpu].size() == gpus - 1;
    CHECK(contains(text.out, "  GPU " + std::to_string(gpu) + " ") == (gpus > 1));
  }
  strings transports;
  for (const auto& transport : machine["transports"]) {
    transports.push_back(transport["name"]);
    CHECK(contains(text.out, "  " + transports.back() + " "));
    CHECK(transport["available"].get<bool>() == transport["why_not"].get<std::string>().empty());
    const bool is_for_gpus = transports.back() != "threads" && transports.back() != "shared memory";
    if (transports.back() != "nccl windows")  // which depend on how this was built
      CHECK(transport["available"] == (!is_for_gpus || (transports.back() == "peer memory" ? all_reach : gpus > 1)));
  }
  CHECK(transports == strings{"threads", "shared memory", "peer memory", "host memory", "nccl windows"});
  CHECK(contains(text.out, machine["mpi"] == true ? "MPI          built in" : "MPI          not built in"));
  CHECK(contains(text.out, machine["metis"] == true ? "METIS        built in" : "METIS        not built in"));
  CHECK(machine["device_uuid"].get<std::string>().size() == (gpus > 0 ? 40 : 0));  // "GPU-" and 32 digits in 5 groups

  // CUDA itself says of a missing driver that its version is insufficient.
  if (machine["cuda_build"] == true && machine["driver_cuda_version"] == 0)
    CHECK(contains(text.out, "not here: no GPU: no NVIDIA driver is installed, or it is not loaded\n"));

  // The driver's own version where the system tells it, and the CUDA that it is for where CUDA does; never one as the
  // other.
  const std::string driver = machine["driver"];
  const int cuda = machine["driver_cuda_version"];
  std::string told;
  std::ifstream("/sys/module/nvidia/version") >> told;
  CHECK(driver == told);
  const std::string level = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  CHECK(contains(text.out, cuda > 0 ? "for CUDA up to " + level : "\ndriver       " + (told.empty() ? "none" : told)));
  if (!told.empty()) CHECK(contains(text.out, "\ndriver       " + told));
}

TEST_CASE("compare runs what there is and accounts for what there is not") {
  const folder here;
  const outcome result =
      run({"compare", "--gallery", "poisson2d:12", "--json", here.at("report.json"), "--plot", here.at("picture.svg")});
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["n"] == 144);
  // 144 rows, 672 nonzeros of 8 + 4 bytes, 145 offsets of 4, 11 vectors of doubles.
  CHECK(report["ideal_bytes_per_iteration"] == 672 * 12 + 145 * 4 + 11 * 144 * 8);
  REQUIRE(report["executors"].size() == 4);
  CHECK(report["executors"][0]["name"] == "host");
  CHECK(report["executors"][0]["available"] == true);
  CHECK(report["executors"][0]["difference"] == 0.0);
  for (const auto& executor : report["executors"]) {
    INFO(executor["name"]);
    CHECK(contains(result.out, executor["name"]));
    if (!executor["available"].get<bool>()) {
      CHECK(contains(result.out, executor["why_not"]));
      continue;
    }
    CHECK(executor["report"]["converged"] == true);
    CHECK(executor["repeats"].get<int>() >= 1);
    CHECK(executor["seconds_per_iteration"].get<double>() > 0);
    // Both residuals are within 1e-8 |b|; the least eigenvalue, 8 sin^2(pi / 26), and the largest entry, above 10,
    // make that at most 2e-8 * 12 / 0.11 / 10.
    CHECK(executor["difference"].get<double>() <= 2.2e-7);
  }
  for (const auto& baseline : report["baselines"]) {
    CHECK(baseline["available"].get<bool>() == baseline["why_not"].get<std::string>().empty());
  }
  CHECK(contains(text_of(here / "picture.svg"), ">host</text>"));

  CHECK(run({"compare", "--gallery", "poisson2d:12", "--max-iterations", "2"}).status == 2);
}

// The three interrupts alone: the other process must be under way, and not be through, when it gets the signal.
TEST_CASE("an interrupt ends a solve early, and progress, history and report say so", "[alone]") {
  // More than the deadline's minute of iterations each: these end by the interrupt. Krylov's method within
  // Newton's is a loop in a loop.
  for (const strings& problem : {strings{"solve", "--gallery", "poisson1d:400000", "--max-iterations", "1000000"},
                                 {"minimize", "extended-rosenbrock:200000", "--method", "gradient-descent",
                                  "--gradient-tolerance", "0", "--max-iterations", "100000000"},
                                 {"equations", "bratu:1000000", "--method", "newton-krylov"}}) {
    INFO(problem[0]);
    const folder here;
    const outcome result = interrupted(
        with(problem, {"--deadline", "60", "--executor", "host", "--monitor", "--json", here.at("report.json")}));
    INFO(result.out << result.err);
    CHECK(result.status == 2);
    const json report = json::parse(text_of(here / "report.json"));
    CHECK(report["reason"] == "cancelled");
    CHECK(report["converged"] == false);
    CHECK(contains(result.out, "\nresult       cancelled"));
    CHECK(contains(result.out, "\n           0  "));  // the history begins with the start
    // No terminal: lines that are not rewritten, the last of which says what comes.
    CHECK(contains(result.err, "iteration "));
    CHECK(contains(result.err, ", stopping\n"));
    CHECK_FALSE(contains(result.err, "\r"));
  }
}

TEST_CASE("an interrupt ends a comparison with what it has so far", "[alone]") {
  const folder here;
  const outcome result = interrupted({"compare", "--gallery", "poisson1d:400000", "--max-iterations", "1000000",
                                      "--deadline", "60", "--json", here.at("report.json")},
                                     "solver");
  INFO(result.out << result.err);
  CHECK(result.status == 2);
  CHECK(contains(result.out, "cancelled"));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["executors"][0]["report"]["reason"] == "cancelled");
  for (const auto& other : report["executors"]) {
    if (other["name"] != "host" && !other["available"]) CHECK(contains(result.out, other["why_not"]));
  }
}

TEST_CASE("an interrupt or a request to terminate before a solve is told of") {
  const folder here;
  const std::string pipe = here.at("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& [signal, told] : {std::pair(SIGINT, "whilst: interrupted\n"), {SIGTERM, "whilst: terminated\n"}}) {
    const process reading(program_path("whilst"), {"solve", pipe});
    // It has opened the pipe once there is a reader; half a minute is far more than that takes.
    int writer = -1;
    for (int polls = 0; writer < 0 && polls < 1500; ++polls) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
    }
    REQUIRE(writer >= 0);
    reading.send(signal);
    const outcome result = reading.wait();
    ::close(writer);
    CHECK(result.status == -1);  // by the signal, as a shell expects
    CHECK(result.err == told);
    CHECK(result.out.empty());
  }
}

TEST_CASE("without --monitor and a terminal an interrupt is told by the report alone", "[alone]") {
  const outcome result = interrupted({"solve", "--gallery", "poisson1d:400000", "--max-iterations", "1000000",
                                      "--deadline", "60", "--executor", "host"});
  CHECK(result.status == 2);
  CHECK(contains(result.out, "\nresult       cancelled"));
  CHECK(result.err.empty());
}
