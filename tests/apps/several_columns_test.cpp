// whilst solve with several right-hand sides.

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

/// [2 -1; -1 2] X = [1 0 3; 1 0 0] has the solution [1 0 2; 1 0 1].
void write_system(const folder& here) {
  std::ofstream(here / "A.mtx") << "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n";
  std::ofstream(here / "B.mtx") << "%%MatrixMarket matrix array real general\n2 3\n1\n1\n0\n0\n3\n0\n";
}

}  // namespace

TEST_CASE("a --rhs file with three columns gives a row and a solution for each") {
  const folder here;
  write_system(here);
  for (const char* method : {"cg", "minres"}) {
    INFO(method);
    const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("B.mtx"), "--method", method, "--executor",
                                "host", "--output", here.at("X.mtx"), "--json", here.at("report.json")});
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(contains(result.out, "3 of 3 columns converged"));
    CHECK(contains(result.out, "column  iterations"));
    CHECK(contains(result.out, "one column after another") == (method == std::string("minres")));
    const json report = json::parse(text_of(here / "report.json"));
    CHECK(report["converged"] == true);
    CHECK(report["columns"].size() == 3);
    CHECK(report["columns"][0]["iterations"] == 1);  // [1 1] is an eigenvector
    CHECK(report["columns"][1]["iterations"] == 0);
    CHECK(report["columns"][2]["iterations"] == 2);
    std::ifstream file(here / "X.mtx");
    std::string line;
    std::getline(file, line);
    CHECK(line == "%%MatrixMarket matrix coordinate real general");
    int rows = 0, columns = 0, entries = 0;
    file >> rows >> columns >> entries;
    CHECK(rows == 2);
    CHECK(columns == 3);
    REQUIRE(entries == 6);
    const double exact[2][3] = {{1, 0, 2}, {1, 0, 1}};
    for (int entry = 0; entry < 6; ++entry) {
      int i = 0, k = 0;
      double value = 0;
      file >> i >> k >> value;
      CHECK(std::abs(value - exact[i - 1][k - 1]) < 1e-7);
    }
    // What was written can be read as right-hand sides.
    CHECK(run({"solve", here.at("A.mtx"), "--rhs", here.at("X.mtx"), "--executor", "host"}).status == 0);
  }
}

TEST_CASE("several columns by amg say what was made, and explain it") {
  const folder here;
  write_system(here);
  const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("B.mtx"), "--executor", "host",
                              "--preconditioner", "amg", "--explain", "--json", here.at("report.json")});
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.out, "M            amg, 1 level of 2 rows"));
  CHECK(contains(result.out, "3 columns converged"));
  CHECK(contains(result.out, "step 'the coarsest level' over 2"));
  CHECK(contains(result.out, "preconditioner amg: V-cycle"));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["preconditioner"] == "amg");
  CHECK(report["preconditioner_choice"].get<std::string>().find("amg, 1 level") == 0);
}

TEST_CASE("several columns: what is missing is refused by name") {
  const folder here;
  write_system(here);
  const strings solve{"solve", here.at("A.mtx"), "--rhs", here.at("B.mtx"), "--executor", "host"};
  for (const strings& more : {strings{"--monitor"}, {"--history", here.at("h.csv")}, {"--plot", here.at("p.svg")}}) {
    const outcome result = run(with(solve, more));
    CHECK(result.status == 1);
    CHECK(contains(result.err, "--rhs has 3 columns, and there is no "));
  }
  const outcome compared = run({"compare", here.at("A.mtx"), "--rhs", here.at("B.mtx")});
  CHECK(compared.status == 1);
  CHECK(contains(compared.err, "--rhs has 3 columns"));
  std::ofstream wide(here / "wide.mtx");
  wide << "%%MatrixMarket matrix array real general\n2 65\n";
  for (int entry = 0; entry < 130; ++entry) wide << "1\n";
  wide.close();
  const outcome too_many = run({"solve", here.at("A.mtx"), "--rhs", here.at("wide.mtx"), "--executor", "host"});
  CHECK(too_many.status == 1);
  CHECK(contains(too_many.err, "the number of columns is 65"));
  std::ofstream(here / "long.mtx") << "%%MatrixMarket matrix array real general\n3 2\n1\n1\n1\n1\n1\n1\n";
  CHECK(contains(run({"solve", here.at("A.mtx"), "--rhs", here.at("long.mtx"), "--executor", "host"}).err,
                 "it has 3 entries and the matrix 2 rows"));
  const outcome by_ilu = run(with(solve, {"--preconditioner", "ilu"}));
  CHECK(by_ilu.status == 0);
  CHECK(contains(by_ilu.out, "one column after another, since preconditioner ilu is not symmetric"));
  const outcome limited = run(with(solve, {"--max-iterations", "1"}));
  CHECK(limited.status == 2);
  CHECK(contains(limited.out, "iteration_limit"));
}
