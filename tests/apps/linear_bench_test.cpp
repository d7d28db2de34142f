// Runs whilst-bench linear as a script would. Eigen's own solvers say how many iterations there should be.

#include <cmath>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/bench_report.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/apps/well_formed.hpp"
#include "tests/catch.hpp"
#include "whilst/gallery.hpp"

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
  return whilst_test::run_program(whilst_test::program_path("whilst-bench"), with({"linear"}, arguments));
}

/// The report of a run on the host, which keeps to its schema.
json report_of(const strings& arguments, int expected_status) {
  return whilst_test::bench_report("linear", arguments, expected_status);
}

const json& run_in(const json& report, const std::string& library, const std::string& method,
                   const std::string& preconditioner) {
  for (const json& one : report["problems"][0]["runs"])
    if (one["library"] == library && one["method"] == method && one["preconditioner"] == preconditioner) return one;
  FAIL("no run by " << library << " " << method);
  return report;
}

/// How many iterations Eigen takes for a model problem.
template <class Solver>
double iterations_of(const whilst::gallery_problem<double>& problem, double rtol) {
  const auto n = static_cast<Eigen::Index>(problem.matrix.rows());
  const Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor>> A(
      n, n, static_cast<Eigen::Index>(problem.matrix.nonzeros()), problem.matrix.row_offsets_32().data(),
      problem.matrix.column_indices().data(), problem.matrix.values().data());
  Solver solver;
  solver.setTolerance(rtol);
  solver.compute(A);
  const Eigen::VectorXd x = solver.solve(Eigen::Map<const Eigen::VectorXd>(problem.rhs.data(), n));
  REQUIRE(solver.info() == Eigen::Success);
  return static_cast<double>(solver.iterations());
}

using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using conjugate_gradient = Eigen::ConjugateGradient<matrix, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner>;

/// A rotation by a quarter turn: unsymmetric, (x, A x) = 0 for each x. And a matrix whose file breaks off.
constexpr const char* quarter_turn = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -1\n2 1 1\n";
constexpr const char* rectangle = "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 -1\n";
constexpr const char* broken = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -1\n";
constexpr const char* b_of_two = "%%MatrixMarket matrix array real general\n2 1\n-2\n1\n";

}  // namespace

TEST_CASE("whilst-bench linear takes the iterations that Eigen takes") {
  const json report = report_of({"--gallery", "poisson2d:24", "--methods", "cg,pipelined-cg,minres,bicgstab", "--rtol",
                                 "1e-8", "--preconditioners", "none,jacobi", "--baseline"},
                                0);
  const auto problem = whilst::make_gallery<double>("poisson2d:24");
  const double by_eigen = iterations_of<conjugate_gradient>(problem, 1e-8);
  CHECK(std::abs(double(run_in(report, "whilst", "cg", "none")["iterations"]) - by_eigen) <= 0.1 * by_eigen);
  CHECK(run_in(report, "eigen", "cg", "none")["iterations"] == by_eigen);
  // The diagonal is constant: Jacobi changes nothing.
  CHECK(run_in(report, "whilst", "cg", "jacobi")["iterations"] == run_in(report, "whilst", "cg", "none")["iterations"]);
  CHECK(std::abs(double(run_in(report, "whilst", "minres", "none")["iterations"]) -
                 double(run_in(report, "eigen", "minres", "none")["iterations"])) <= 0.1 * by_eigen);
  CHECK(report["problems"][0]["right_side"] == "gallery");
  CHECK(report["runs"] == 8);
  CHECK(report["solved"] == 8);
  for (const json& one : report["problems"][0]["runs"]) {
    INFO(one["library"] << " " << one["method"] << " + " << one["preconditioner"]);
    CHECK(one["solved"] == true);
    CHECK(double(one["true_relative_residual"]) <= 1e-8);
    CHECK(double(one["seconds_to_tolerance"]) > 0);
    CHECK(one["products"] ==
          int(one["iterations"]) * (one["method"] == "bicgstab" || one["method"] == "pipelined-cg" ? 2 : 1));
  }
}

TEST_CASE("whilst-bench linear has amg for the methods that take it") {
  const json report = report_of(
      {"--gallery", "poisson2d:24", "--methods", "cg,lsqr", "--preconditioners", "jacobi,amg", "--baseline"}, 0);
  CHECK(int(run_in(report, "whilst", "cg", "amg")["iterations"]) <
        int(run_in(report, "whilst", "cg", "jacobi")["iterations"]) / 2);
  for (const json& one : report["problems"][0]["runs"])
    if (one["preconditioner"] == "amg") CHECK((one["library"] == "whilst" && one["method"] == "cg"));
}

TEST_CASE("whilst-bench linear has ilu and ic for the methods that take them") {
  const json report = report_of({"--gallery", "poisson2d:24", "--methods", "cg,bicgstab,lsqr", "--preconditioners",
                                 "jacobi,ilu,ic", "--baseline"},
                                0);
  const auto iterations = [&](const char* method, const char* preconditioner) {
    return int(run_in(report, "whilst", method, preconditioner)["iterations"]);
  };
  CHECK(iterations("cg", "ic") < iterations("cg", "jacobi") / 2);
  CHECK(iterations("bicgstab", "ilu") < iterations("bicgstab", "jacobi") / 2);
  CHECK(iterations("bicgstab", "ic") < iterations("bicgstab", "jacobi") / 2);
  int made = 0;
  for (const json& one : report["problems"][0]["runs"])
    if (one["preconditioner"] != "jacobi") {
      CHECK(one["library"] == "whilst");
      ++made;
    }
  CHECK(made == 3);
}

TEST_CASE("whilst-bench linear has fsai and spai for the methods that take them") {
  const json report = report_of(
      {"--gallery", "poisson2d:24", "--methods", "cg,bicgstab,lsqr", "--preconditioners", "jacobi,fsai,spai"}, 0);
  const auto iterations = [&](const char* method, const char* preconditioner) {
    return int(run_in(report, "whilst", method, preconditioner)["iterations"]);
  };
  CHECK(iterations("cg", "fsai") < iterations("cg", "jacobi"));
  CHECK(iterations("bicgstab", "spai") < iterations("bicgstab", "jacobi"));
  int made = 0;
  for (const json& one : report["problems"][0]["runs"]) made += one["preconditioner"] != "jacobi";
  CHECK(made == 3);
}

TEST_CASE("whilst-bench linear has auto as a method and as a preconditioner") {
  const json report =
      report_of({"--gallery", "poisson2d:24", "--methods", "auto,cg", "--preconditioners", "jacobi,auto"}, 0);
  CHECK(report["problems"][0]["runs"].size() == 4);
  CHECK(int(run_in(report, "whilst", "auto", "auto")["iterations"]) <
        int(run_in(report, "whilst", "auto", "jacobi")["iterations"]) / 2);
}

TEST_CASE("whilst-bench linear counts what cannot be solved as failed, with its reason") {
  const folder here;
  here.with("turn.mtx", quarter_turn);
  const json report = report_of({"--data", here.at("."), "--methods", "cg,gmres", "--preconditioners", "none"}, 2);
  CHECK(report["problems"][0]["name"] == "turn");
  CHECK(report["problems"][0]["right_side"] == "ones-solution");
  const json failed = run_in(report, "whilst", "cg", "none");
  CHECK(failed["solved"] == false);
  CHECK(failed["reason"] == "indefinite_operator");
  CHECK(failed["seconds_to_tolerance"].is_null());
  CHECK(run_in(report, "whilst", "gmres", "none")["solved"] == true);
  CHECK(report["solved"] == 1);
  CHECK(report["runs"] == 2);
  CHECK(report["methods"][0]["failures"] == json{{"indefinite_operator", 1}});

  const outcome table = run({"--data", here.at("."), "--methods", "cg,gmres", "--executor", "host"});
  CHECK(contains(table.out, "indef. A"));
  CHECK(contains(table.out, "linear: 2 of 4 runs solved, 1 of 1 systems by one or another; no false claim\n"));
  CHECK(table.err.empty());  // progress is for terminals
}

TEST_CASE("whilst-bench linear believes no solver, but looks at the residual") {
  // Eigen squares the norm of b, finds 0, and takes x = 0 for the solution.
  const folder here;
  here.with("tiny.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 3\n");
  here.with("tiny_b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1e-170\n1e-170\n");
  const strings arguments{"--data", here.at("."), "--methods", "cg", "--baseline", "--preconditioners", "none"};
  const json report = report_of(arguments, 0);  // baselines do not count
  CHECK(run_in(report, "whilst", "cg", "none")["solved"] == true);
  const json claim = run_in(report, "eigen", "cg", "none");
  CHECK(claim["solved"] == false);
  CHECK(claim["false_claim"] == true);
  CHECK(claim["reason"] == "converged_rtol");
  CHECK(double(claim["true_relative_residual"]) == 1);
  CHECK(report["false_claims"] == 0);  // of the library's
  CHECK(contains(run(arguments).out, "false claim of a baseline: tiny by eigen:cg reports converged_rtol"));
}

TEST_CASE("whilst-bench linear takes right-hand sides from files, and tells what it leaves out") {
  const folder here;
  here.with("turn.mtx", quarter_turn);
  here.with("turn_b.mtx", b_of_two);
  here.with("rectangle.mtx", rectangle);
  const strings arguments{"--data", here.at("."), "--methods", "gmres", "--preconditioners", "none"};
  const json report = report_of(arguments, 0);
  REQUIRE(report["problems"].size() == 1);
  CHECK(report["problems"][0]["right_side"] == "file");
  CHECK(contains(report["problems"][0]["right_side_file"], "turn_b.mtx"));
  REQUIRE(report["left_out"].size() == 1);
  CHECK(report["left_out"][0]["name"] == "rectangle");
  // What should have been a system makes the exit status 2.
  here.with("broken.mtx", broken);
  const json with_broken = report_of(arguments, 2);
  REQUIRE(with_broken["left_out"].size() == 2);
  CHECK(contains(with_broken["left_out"][1]["why"], "broken.mtx:"));
}

TEST_CASE("whilst-bench linear reads a list of cases and draws performance profiles") {
  const folder here;
  here.with("turn.mtx", quarter_turn);
  const std::string cases = here.with("cases.json", R"([{"filename": "turn.mtx", "methods": ["gmres"]},
      {"gallery": "poisson1d:20", "methods": ["cg", "gmres"], "preconditioners": ["none"]}])");
  const json report = report_of({"--cases", cases, "--profile", here.at("profile.svg")}, 0);
  REQUIRE(report["problems"].size() == 2);
  CHECK(report["problems"][0]["runs"].size() == 2);
  CHECK(report["problems"][1]["runs"].size() == 2);
  const std::string picture = text_of(here / "profile.svg");
  CHECK(whilst_test::is_well_formed(picture));
  for (const char* part : {"<svg xmlns=\"http://www.w3.org/2000/svg\"", ">time</text>", ">iterations</text>",
                           ">gmres</text>", ">gmres + jacobi</text>", "2 linear systems to 1e-08"}) {
    INFO(part);
    CHECK(contains(picture, part));
  }
}

TEST_CASE("whilst-bench linear refuses what it cannot mean") {
  const folder here;
  const auto in_file = [&](const std::string& name, const std::string& text) {
    return strings{"--cases", here.with(name, text)};
  };
  std::filesystem::create_directory(here / "empty");
  check_refused(
      "whilst-bench", run,
      {{{}, "there is no system to solve"},
       {{"--gallery", "small", "--methods", "cg,newton"}, "no method called \"newton\". Give all, or some of cg,"},
       {{"--gallery", "small", "--preconditioners", "ilut"}, "no preconditioner called \"ilut\""},
       {{"--gallery", "poisson"}, "no problem called \"poisson\""},
       {{"--data", here.at("missing")}, "there is no such folder"},
       {{"--data", here.at("empty")}, "no .mtx or .mtx.gz file"},
       {{"--cases", here.at("missing.json")}, "the file cannot be read"},
       {in_file("a.json", "[{\"filename\": "), "it is no JSON"},
       {in_file("b.json", "{}"), "it is no list"},
       {in_file("c.json", "[{\"file\": \"A.mtx\"}]"), "case 1: there is no key \"file\""},
       {in_file("d.json", "[{\"filename\": \"A.mtx\"}]"), "no such file"},
       {in_file("e.json", "[{\"gallery\": \"poisson1d:9\", \"methods\": \"cg\"}]"), "no list of names"},
       {in_file("f.json", "[{\"gallery\": \"poisson1d:9\", \"methods\": [\"gc\"]}]"), "no method called \"gc\""},
       {{"--gallery", "poisson1d:9", "--profile", here.at("missing/profile.svg")}, "--profile"}});
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  for (const char* part : {"Examples", "Exit status", "--cases", "--profile", "in long double", "FILE_b.mtx"})
    CHECK(contains(help.out, part));
}
