// whilst solve --ranks --partition, and compare: rows that ranks share as a partitioner says.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/mpi_processes.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

using nlohmann::json;
using whilst_test::array_entries;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::program_path;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) { return whilst_test::run_program(program_path("whilst"), arguments); }

bool has_metis() { return json::parse(run({"info", "--json"}).out)["metis"] == true; }

std::vector<std::string> partitions() {
  std::vector<std::string> names{"rows", "rcm"};
  if (has_metis())
    names.emplace_back("metis");
  else
    WARN("left out: --partition metis, since whilst was built without METIS (Debian and Ubuntu: libmetis-dev)");
  return names;
}

int sum(const json& numbers) {
  int all = 0;
  for (const json& one : numbers) all += one.get<int>();
  return all;
}

/// A line of 60 points whose point k, from 0, has the number 7 k mod 60: -x[k-1] + 2 x[k] - x[k+1] = k + 1.
std::string scrambled_line() {
  std::string text = "%%MatrixMarket matrix coordinate real general\n60 60 178\n";
  for (int k = 0; k < 60; ++k)
    for (int j = std::max(k - 1, 0); j <= std::min(k + 1, 59); ++j)
      text += std::to_string(7 * k % 60 + 1) + " " + std::to_string(7 * j % 60 + 1) + (j == k ? " 2\n" : " -1\n");
  return text;
}
std::string load_of_line() {
  std::vector<int> b(60);
  for (int k = 0; k < 60; ++k) b[static_cast<std::size_t>(7 * k % 60)] = k + 1;
  std::string text = "%%MatrixMarket matrix array real general\n60 1\n";
  for (const int one : b) text += std::to_string(one) + "\n";
  return text;
}
/// By hand, with s = k + 1 from 0 at the left end to 61 at the right one: x = s (61^2 - s^2) / 6.
void check_line(const std::filesystem::path& path) {
  const std::vector<double> x = array_entries(path);
  REQUIRE(x.size() == 60);
  for (int k = 0; k < 60; ++k) {
    const double s = k + 1;
    // The residual, 1e-10 times |b| = 272, over the least eigenvalue, 0.00265.
    CHECK(std::abs(x[static_cast<std::size_t>(7 * k % 60)] - s * (61 * 61 - s * s) / 6) <= 1.1e-5);
  }
}

}  // namespace

TEST_CASE("ranks share rows by a partition, and x has the order of the matrix", "[group]") {
  const folder here;
  here.with("A.mtx", scrambled_line());
  here.with("b.mtx", load_of_line());
  for (const std::string& partition : partitions()) {
    for (const int ranks : {1, 2, 3, 5}) {
      CAPTURE(partition, ranks);
      const outcome result = run({"solve", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--executor", "host", "--rtol",
                                  "1e-10", "--ranks", "threads:" + std::to_string(ranks), "--partition", partition,
                                  "--output", here.at("x.mtx"), "--json", here.at("report.json")});
      INFO(result.out << result.err);
      REQUIRE(result.status == 0);
      CHECK(contains(result.out, " a rank, partition " + partition + "\n") == (partition != "rows"));
      check_line(here / "x.mtx");
      const json report = json::parse(text_of(here / "report.json"));
      CHECK(report["partition"] == partition);
      CHECK(report["rows_of_ranks"].size() == static_cast<std::size_t>(ranks));
      CHECK(sum(report["rows_of_ranks"]) == 60);
      CHECK(sum(report["nonzeros_of_ranks"]) == 178);
      // Of a line that was found, each cut makes two; neighbours in the file are 7 points apart.
      if (partition == "rcm") CHECK(sum(report["ghosts_of_ranks"]) == 2 * (ranks - 1));
      if (partition == "metis") CHECK(sum(report["ghosts_of_ranks"]) <= 4 * (ranks - 1));
      if (partition == "rows" && ranks > 1) CHECK(sum(report["ghosts_of_ranks"]) >= 12 * (ranks - 1));
    }
  }
}

TEST_CASE("compare --ranks takes a partition", "[group]") {
  const folder here;
  here.with("A.mtx", scrambled_line());
  for (const std::string& partition : partitions()) {
    CAPTURE(partition);
    const outcome result = run({"compare", here.at("A.mtx"), "--executor", "host", "--ranks", "threads:1,3",
                                "--partition", partition, "--json", here.at("report.json")});
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK(contains(result.out, "\npartition    " + partition + "\n") == (partition != "rows"));
    const json lines = json::parse(text_of(here / "report.json"))["comparison"];
    REQUIRE(lines.size() == 2);
    for (const json& line : lines) {
      CHECK(line["partition"] == partition);
      CHECK(line["true_relative_residual"].get<double>() <= 1.01e-8);
    }
    if (partition == "rcm") CHECK(sum(lines[1]["ghosts_of_ranks"]) == 4);
  }
}

TEST_CASE("ranks as processes share rows by a partition as threads do", "[group]") {
  const std::string launcher = whilst_test::mpirun();
  if (launcher.empty()) {
    WARN("left out: whilst was built without MPI, or there is no mpirun");
    return;
  }
  const folder here;
  here.with("A.mtx", scrambled_line());
  here.with("b.mtx", load_of_line());
  for (const std::string& partition : partitions()) {
    CAPTURE(partition);
    const strings of_both{"solve", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--executor",
                          "host",  "--rtol",         "1e-10", "--partition",    partition};
    const outcome result =
        whilst_test::run_processes(launcher, 3, with(of_both, {"--ranks", "mpi", "--output", here.at("x.mtx")}));
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    check_line(here / "x.mtx");
    REQUIRE(run(with(of_both, {"--ranks", "threads:3", "--output", here.at("y.mtx")})).status == 0);
    CHECK(text_of(here / "x.mtx") == text_of(here / "y.mtx"));  // which have all digits
  }
}

TEST_CASE("partitions that cannot be are refused by name, once", "[group]") {
  const folder here;
  here.with("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2\n2 2 2\n");
  const strings solve{"solve", "--gallery", "poisson1d:20", "--executor", "host"},
      compare{"compare", "--gallery", "poisson1d:20", "--executor", "host"};
  const strings on_two{"--ranks", "threads:2", "--partition"};
  std::vector<whilst_test::wrong_line> wrong{
      {with(with(solve, on_two), {"pigeons"}),
       "--partition pigeons: there is no such partition. Give rows, rcm or metis"},
      {with(with(compare, on_two), {""}), "there is no such partition"},
      {with(solve, {"--partition", "rcm"}), "--partition requires --ranks"},
      {{"compare", "--gallery", "poisson1d:20", "--partition", "rcm"}, "--partition requires --ranks"},
      {{"solve", here.at("wide.mtx"), "--method", "lsqr", "--executor", "host", "--ranks", "threads:2", "--partition",
        "rcm"},
       "the matrix has 2 rows and 3 columns. Give a square one"}};
  if (!has_metis())
    wrong.push_back(
        {with(with(solve, on_two), {"metis"}), "built without METIS. Install METIS (Debian and Ubuntu: libm"});
  whilst_test::check_refused("whilst", run, wrong);
}
