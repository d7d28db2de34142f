// whilst eigen, as a person or script would run it.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

using nlohmann::json;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) {
  return whilst_test::run_program(whilst_test::program_path("whilst"), arguments);
}

/// [2 1; 1 2]: 1 with (1, -1), 3 with (1, 1).
std::string write_matrix(const folder& here) {
  return here.with("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 1\n2 2 2\n");
}

}  // namespace

TEST_CASE("whilst eigen tells what to do where a preconditioner wants a definite matrix") {
  const folder here;
  const std::string A =
      here.with("B.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 4\n2 2 1\n");
  const outcome result = run({"eigen", A, "--count", "1", "--executor", "host", "--preconditioner", "chebyshev"});
  CHECK(contains(result.out, "indefinite_operator: the matrix is not definite"));
  CHECK(contains(result.out, "try --preconditioner none, or jacobi\n"));
}

TEST_CASE("whilst eigen prints a row for each pair, and writes vectors and a report") {
  const folder here;
  for (const char* precision : {"double", "float"}) {
    INFO(precision);
    const outcome result =
        run({"eigen", write_matrix(here), "--count", "2", "--executor", "host", "--precision", precision, "--rtol",
             "1e-5", "--output", here.at("X.mtx"), "--json", here.at("report.json"), "--history",
             here.at("history.csv"), "--plot", here.at("plot.svg")});
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.out, "the 2 smallest"));
    CHECK(contains(result.out, "converged_rtol: the residuals of all pairs fell to rtol times the norm of the matrix"));
    CHECK(contains(result.out, "||A|| = 3"));
    const json report = json::parse(text_of(here / "report.json"));
    CHECK(report["converged"] == true);
    CHECK(report["method"] == "lobpcg");
    CHECK(report["which"] == "smallest");
    CHECK(report["matrix_norm"] == 3);
    REQUIRE(report["eigenvalues"].size() == 2);
    CHECK(report["eigenvalues"][0].get<double>() == Approx(1).epsilon(1e-6));
    CHECK(report["eigenvalues"][1].get<double>() == Approx(3).epsilon(1e-6));
    REQUIRE(report["true_residual_norms"].size() == 2);
    CHECK(report["true_residual_norms"][0].get<double>() <= 3.1e-5);
    std::ifstream file(here / "X.mtx");
    std::string line;
    std::getline(file, line);
    CHECK(line == "%%MatrixMarket matrix coordinate real general");
    int rows = 0, columns = 0, entries = 0;
    file >> rows >> columns >> entries;
    CHECK(rows == 2);
    CHECK(columns == 2);
    CHECK(entries == 4);
    CHECK(contains(text_of(here / "history.csv"), "iteration,residual_norm\n"));
    CHECK(contains(text_of(here / "plot.svg"), "largest residual over ||A||"));
  }
}

TEST_CASE("whilst eigen finds the largest pairs of a model problem, and says how it ended") {
  const strings problem{"eigen", "--gallery", "poisson2d:12", "--count", "3", "--executor", "host", "--json", "-"};
  const outcome largest = run(with(problem, {"--largest", "--preconditioner", "jacobi", "--block-columns", "8"}));
  CHECK(largest.status == 0);
  const json report = json::parse(largest.out);
  CHECK(report["block_columns"] == 8);
  CHECK(report["preconditioner"] == "jacobi");
  const double half = std::sin(std::acos(-1.0) / 26);
  CHECK(report["eigenvalues"][0].get<double>() == Approx(8 - 8 * half * half).epsilon(1e-10));

  const outcome limited = run(with(problem, {"--max-iterations", "2", "--monitor"}));
  CHECK(limited.status == 2);
  CHECK(json::parse(limited.out)["reason"] == "iteration_limit");
  CHECK(contains(limited.err, "try more --block-columns"));
  CHECK(contains(limited.err, "iteration       residual       relative"));

  CHECK(run(with(problem, {"--quiet"})).err.empty());
}

TEST_CASE("whilst eigen with amg, whose nodes the gallery knows") {
  const strings problem{"eigen", "--gallery", "elasticity2d:12", "--count", "3", "--executor", "host", "--json", "-"};
  const outcome by_amg = run(with(problem, {"--preconditioner", "amg,coarsest_rows=60"})),
                by_jacobi = run(with(problem, {"--preconditioner", "jacobi"}));
  INFO(by_amg.err);
  CHECK(by_amg.status == 0);
  CHECK(contains(by_amg.err, "M            amg, "));
  const json report = json::parse(by_amg.out), other = json::parse(by_jacobi.out);
  CHECK(report["preconditioner"] == "amg,coarsest_rows=60");
  CHECK(report["preconditioner_choice"].get<std::string>().find("amg, ") == 0);
  CHECK(2 * report["iterations"].get<int>() < other["iterations"].get<int>());
  for (int k = 0; k < 3; ++k)
    CHECK(report["eigenvalues"][k].get<double>() == Approx(other["eigenvalues"][k].get<double>()).epsilon(1e-6));
}

TEST_CASE("what whilst eigen refuses") {
  const folder here;
  const std::string crooked =
      here.with("B.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n");
  struct refusal {
    strings arguments;
    const char* says;
  };
  for (const refusal& one :
       {refusal{{"eigen"}, "there is no matrix"},
        {{"eigen", crooked}, "the matrix is not symmetric"},
        {{"eigen", write_matrix(here), "--count", "3"}, "the matrix has 2 rows, and 3 pairs are wanted"},
        {{"eigen", write_matrix(here), "--count", "17"}, "--count"},
        {{"eigen", write_matrix(here), "--executor", "resident"}, "resident"},
        {{"eigen", write_matrix(here), "--rtol", "1"}, "--rtol"},
        {{"eigen", write_matrix(here), "--preconditioner", "amgx"}, "amgx"},
        {{"eigen", write_matrix(here), "--largest", "--preconditioner", "amg"}, "For the largest pairs use none"}}) {
    INFO(one.says);
    const outcome result = run(one.arguments);
    CHECK(result.status == 1);
    CHECK(contains(result.err, one.says));
  }
  const outcome help = run({"eigen", "--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.out, "LOBPCG"));
  CHECK(contains(help.out, "Exit status: 0 converged; 2 not converged"));
}
