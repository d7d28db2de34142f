// whilst solve --ranks and compare --ranks: threads of one process, and processes under mpirun where that is there.

#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/mpi_processes.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

using nlohmann::json;
using whilst_test::array_entries;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::mpirun;
using whilst_test::outcome;
using whilst_test::process;
using whilst_test::program_path;
using whilst_test::run_processes;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) { return whilst_test::run_program(program_path("whilst"), arguments); }

const strings solve{"solve", "--gallery", "poisson1d:20", "--executor", "host", "--rtol", "1e-10"};

/// -x[i-1] + 2 x[i] - x[i+1] = 1 with zeros at both ends: x[i] = i (n + 1 - i) / 2, i from 1. The error is at most the
/// residual, 1e-10 sqrt(20), over the least eigenvalue, 0.0223: below 1e-7.
void check_solution(const std::filesystem::path& path) {
  const auto x = array_entries(path);
  REQUIRE(x.size() == 20);
  for (int i = 1; i <= 20; ++i) CHECK(std::abs(x[static_cast<size_t>(i - 1)] - i * (21 - i) / 2.0) < 1e-7);
}

void check_report(const json& report, int ranks, const std::string& kind, const std::string& transport) {
  CHECK(report["converged"] == true);
  CHECK(report["ranks"] == ranks);
  CHECK(report["ranks_are"] == kind);
  CHECK(report["transport"] == transport);
  CHECK_FALSE(report.contains("lost_rank"));
  int rows = 0, nonzeros = 0;
  REQUIRE(report["rows_of_ranks"].size() == static_cast<size_t>(ranks));
  for (int q = 0; q < ranks; ++q) {
    rows += report["rows_of_ranks"][static_cast<size_t>(q)].get<int>();
    nonzeros += report["nonzeros_of_ranks"][static_cast<size_t>(q)].get<int>();
    // Of a line, an entry on each side that has another rank.
    CHECK(report["ghosts_of_ranks"][static_cast<size_t>(q)] == (q > 0) + (q + 1 < ranks));
  }
  CHECK(rows == 20);
  CHECK(nonzeros == 58);
}

}  // namespace

TEST_CASE("ranks as threads solve, and rank 0 alone reports and writes", "[group]") {
  for (const int ranks : {1, 2, 3}) {
    INFO(ranks);
    const folder here;
    const outcome result = run(
        with(solve, {"--ranks", "threads:" + std::to_string(ranks), "--output", here.at("x.mtx"), "--json",
                     here.at("report.json"), "--history", here.at("history.csv"), "--plot", here.at("picture.svg")}));
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "20 rows, 58 nonzeros"));
    CHECK(contains(result.out, ranks == 1 ? "ranks        1 thread, transport: one rank"
                                          : "ranks        " + std::to_string(ranks) + " threads, transport: threads"));
    const size_t told = result.out.find("converged_rtol");
    REQUIRE(told != std::string::npos);
    CHECK(result.out.find("converged_rtol", told + 1) == std::string::npos);
    CHECK(here.files() == 4);
    check_solution(here / "x.mtx");
    check_report(json::parse(text_of(here / "report.json")), ranks, "threads", ranks == 1 ? "one rank" : "threads");
  }
}

TEST_CASE("ranks as threads: a file, a right-hand side, float, and the limit", "[group]") {
  const folder here;
  // [2 -1; -1 2] x = [1 0] has the solution [2 1] / 3; the third of three ranks has no row.
  here.with("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  here.with("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n0\n");
  const strings of_file{"solve", here.at("A.mtx"), "--rhs",     here.at("b.mtx"), "--executor",
                        "host",  "--ranks",        "threads:3", "--output",       here.at("x.mtx")};
  for (const char* precision : {"double", "float"}) {
    const outcome result = run(with(of_file, {"--precision", precision, "--rtol", "1e-6", "--method", "minres"}));
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    const auto x = array_entries(here / "x.mtx");
    REQUIRE(x.size() == 2);
    CHECK(std::abs(x[0] - 2.0 / 3) < 1e-5);
    CHECK(std::abs(x[1] - 1.0 / 3) < 1e-5);
  }
  const outcome limited = run(with(solve, {"--ranks", "threads:2", "--max-iterations", "2", "--monitor"}));
  CHECK(limited.status == 2);
  CHECK(contains(limited.out, "iteration_limit"));
  CHECK(contains(limited.out, "iteration       residual"));
  CHECK(contains(run(with(solve, {"--ranks", "threads:2", "--explain"})).out, "\nprogram"));
}

TEST_CASE("ranks as threads exchange by the transport that is named", "[group]") {
  const folder here;
  const outcome result = run(with(solve, {"--ranks", "threads:3", "--transport", "shared-memory", "--output",
                                          here.at("x.mtx"), "--json", here.at("report.json")}));
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.out, "ranks        3 threads, transport: shared memory\n"));
  check_solution(here / "x.mtx");
  check_report(json::parse(text_of(here / "report.json")), 3, "threads", "shared memory");
}

TEST_CASE("ranks: what they do not have is refused by name, once", "[group]") {
  const folder here;
  here.with(
      "B.mtx", "%%MatrixMarket matrix array real general\n20 2\n" + [] {
        std::string ones;
        for (int k = 0; k < 40; ++k) ones += "1\n";
        return ones;
      }());
  const auto on_two = [](const strings& more) { return with(with(solve, {"--ranks", "threads:2"}), more); };
  whilst_test::check_refused(
      "whilst", run,
      {{with(solve, {"--ranks", "4"}), "--ranks 4: that is no kind of ranks. Give mpi, or threads:P"},
       {with(solve, {"--ranks", "threads:0"}), "threads:P with P from 1 to 64"},
       {with(solve, {"--ranks", "threads:65"}), "threads:P with P from 1 to 64"},
       {with(solve, {"--ranks", "threads:2x"}), "threads:P with P from 1 to 64"},
       {on_two({"--transport", "pigeons"}), "there is no transport called 'pigeons'. Use one of auto, threads"},
       {on_two({"--transport", "peer-memory"}), "peer memory is for ranks on GPUs, and these run on the host"},
       {with(solve, {"--transport", "threads"}), "--transport: there are no ranks. Give --ranks, too"},
       {on_two({"--device", "0"}), "--device with --ranks: it is not for several ranks"},
       {on_two({"--null-space-vectors", here.at("B.mtx")}), "--null-space-vectors with --ranks"},
       {on_two({"--deflation", here.at("B.mtx")}), "--deflation with --ranks"},
       {on_two({"--rhs", here.at("B.mtx")}), "--rhs with --ranks: it has 2 columns"},
       {on_two({"--null-space", "constant"}), "a null space is not for several ranks"},
       {on_two({"--scaling", "rows"}), "is not for several ranks"},
       {on_two({"--permutation", "rcm"}), "permutation rcm is not for several ranks"},
       {on_two({"--format", "ell"}), "format ell is not for several ranks"},
       {on_two({"--method", "idr"}), "method 'idr' is not for several ranks"},
       {on_two({"--output", "/no/such/folder/x"}), "/no/such/folder/x"},
       {{"solve", "--gallery", "nonsense:3", "--ranks", "threads:2"}, "there is no problem named \"nonsense\""}});
}

TEST_CASE("ranks as threads: an interrupt stops all", "[group]") {
  // A tolerance that no solve reaches.
  const process solving(program_path("whilst"), {"solve", "--gallery", "poisson2d:200", "--executor", "host", "--rtol",
                                                 "0", "--max-iterations", "100000000", "--ranks", "threads:2"});
  for (int polls = 0; !contains(solving.out(), "executor") && polls < 1500; ++polls)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  solving.send(SIGINT);
  const outcome result = solving.wait();
  INFO(result.out << result.err);
  CHECK(result.status == 2);
  CHECK(contains(result.out, "cancelled"));
}

TEST_CASE("ranks as processes solve, and rank 0 alone reports and writes", "[group]") {
  const std::string launcher = mpirun();
  if (launcher.empty()) {
    WARN("left out: whilst was built without MPI, or there is no mpirun");
    return;
  }
  for (const int ranks : {1, 3}) {
    INFO(ranks);
    const folder here;
    const outcome result =
        run_processes(launcher, ranks,
                      with(solve, {"--ranks", "mpi", "--output", here.at("x.mtx"), "--json", here.at("report.json")}));
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const size_t told = result.out.find("converged_rtol");
    REQUIRE(told != std::string::npos);
    CHECK(result.out.find("converged_rtol", told + 1) == std::string::npos);
    CHECK(here.files() == 2);
    check_solution(here / "x.mtx");
    check_report(json::parse(text_of(here / "report.json")), ranks, "processes",
                 ranks == 1 ? "one rank" : "shared memory");
  }
  const outcome limited = run_processes(launcher, 2, with(solve, {"--ranks", "mpi", "--max-iterations", "2"}));
  CHECK(limited.status == 2);
  CHECK(contains(limited.out, "iteration_limit"));
  const outcome wrong = run_processes(launcher, 2, {"solve", "--gallery", "nonsense:3", "--ranks", "mpi"});
  CHECK(wrong.status == 1);
  const std::string message = "whilst: making the gallery problem";
  REQUIRE(contains(wrong.err, message));
  CHECK(wrong.err.find(message, wrong.err.find(message) + 1) == std::string::npos);
}

TEST_CASE("ranks as processes and ranks as threads find the same digits", "[group]") {
  const std::string launcher = mpirun();
  if (launcher.empty()) {
    WARN("left out: whilst was built without MPI, or there is no mpirun");
    return;
  }
  for (const char* method : {"cg", "pipelined-cg"}) {
    INFO(method);
    const folder here;
    const strings of_both{"solve",    "--gallery", "poisson2d:31", "--executor", "host",
                          "--method", method,      "--rtol",       "1e-10"};
    REQUIRE(run_processes(launcher, 3, with(of_both, {"--ranks", "mpi", "--output", here.at("x.mtx")})).status == 0);
    REQUIRE(run(with(of_both, {"--ranks", "threads:3", "--output", here.at("y.mtx")})).status == 0);
    CHECK(array_entries(here / "x.mtx").size() == 31 * 31);
    CHECK(text_of(here / "x.mtx") == text_of(here / "y.mtx"));  // which have all digits
  }
}

namespace {

const strings compare{"compare",          "--gallery", "poisson2d:12", "--executor", "host",
                      "--preconditioner", "jacobi",    "--rtol",       "1e-10"};

/// A line of the table and its entry of --json, beside what the first line's took.
void check_line(const outcome& result, const json& line, const json& first, int ranks, const std::string& kind,
                const std::string& transport) {
  INFO(ranks);
  CHECK(line["available"] == true);
  CHECK(line["ranks"] == ranks);
  CHECK(line["ranks_are"] == kind);
  CHECK(line["transport"] == transport);
  CHECK(line["reason"] == "converged_rtol");
  CHECK(line["report"]["executor"] == "host");
  // Sums that round differently may move the end by an iteration.
  CHECK(std::abs(line["iterations"].get<int>() - first["iterations"].get<int>()) <= 1);
  CHECK(line["true_relative_residual"].get<double>() <= 1.01e-10);
  CHECK(line["repeats"].get<int>() >= 1);
  const double taken = line["seconds_per_iteration"].get<double>();
  CHECK(taken > 0);
  const double of_first = first["seconds_per_iteration"].get<double>();
  CHECK(std::abs(line["speed_up"].get<double>() * taken / of_first - 1) < 1e-12);  // 4500 epsilon: two roundings
  int rows = 0;
  for (const json& one : line["rows_of_ranks"]) rows += one.get<int>();
  CHECK(line["rows_of_ranks"].size() == static_cast<size_t>(ranks));
  CHECK(rows == 144);
  const std::regex row("\n *" + std::to_string(ranks) + " +" + line["iterations"].dump() + " .*x +[0-9.e-]+ +" +
                       transport + " +converged_rtol\n");
  CHECK(std::regex_search(result.out, row));
}

}  // namespace

TEST_CASE("compare --ranks has a line for each number of threads", "[group]") {
  const folder here;
  const outcome result = run(
      with(compare, {"--ranks", "threads:1,2,4", "--json", here.at("report.json"), "--plot", here.at("picture.svg")}));
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(result.err.empty());
  CHECK(contains(result.out, "144 rows, 672 nonzeros"));
  CHECK(result.out.find("matrix") == result.out.rfind("matrix"));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["n"] == 144);
  CHECK(report["preconditioner"] == "jacobi");
  const json& lines = report["comparison"];
  REQUIRE(lines.size() == 3);
  check_line(result, lines[0], lines[0], 1, "threads", "one rank");
  check_line(result, lines[1], lines[0], 2, "threads", "threads");
  check_line(result, lines[2], lines[0], 4, "threads", "threads");
  CHECK(lines[0]["speed_up"] == 1.0);
  CHECK(lines[2]["report"]["history"].size() >= 2);
  for (const char* label : {">1 rank</text>", ">2 ranks</text>", ">4 ranks</text>"})
    CHECK(contains(text_of(here / "picture.svg"), label));

  const outcome limited = run(with(compare, {"--ranks", "threads:2", "--max-iterations", "2", "--precision", "float"}));
  CHECK(limited.status == 2);
  CHECK(contains(limited.out, "iteration_limit"));
  // b = 0: no iteration to time.
  here.with("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  here.with("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n0\n0\n");
  const outcome none = run({"compare", here.at("A.mtx"), "--rhs", here.at("b.mtx"), "--executor", "host", "--ranks",
                            "threads:1,3", "--json", "-", "--quiet"});
  CHECK(none.status == 0);
  CHECK(json::parse(none.out)["comparison"][1]["speed_up"].is_null());
}

TEST_CASE("compare --ranks refuses by name what ranks do not have, once", "[group]") {
  const folder here;
  here.with("B.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n1\n");
  here.with("A.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  const auto on_two = [](const strings& more) { return with(with(compare, {"--ranks", "threads:1,2"}), more); };
  whilst_test::check_refused(
      "whilst", run,
      {{with(compare, {"--ranks", "4"}), "--ranks 4: that is no kind of ranks. Give mpi, or threads: and numbers"},
       {with(compare, {"--ranks", "threads:"}), "numbers from 1 to 64, as threads:1,2,4"},
       {with(compare, {"--ranks", "threads:1,0"}), "numbers from 1 to 64, as threads:1,2,4"},
       {with(compare, {"--ranks", "threads:1,,2"}), "numbers from 1 to 64, as threads:1,2,4"},
       {with(compare, {"--ranks", "threads:1,2,"}), "numbers from 1 to 64, as threads:1,2,4"},
       {with(compare, {"--ranks", "threads:1;2"}), "numbers from 1 to 64, as threads:1,2,4"},
       {with(solve, {"--ranks", "threads:1,2"}), "threads:P with P from 1 to 64"},
       {with(compare, {}), "--executor requires --ranks"},
       {on_two({"--device", "0"}), "--device with --ranks: it is not for several ranks"},
       {on_two({"--beside", "amg"}), "--beside with --ranks: it is not for several ranks"},
       {on_two({"--scaling", "rows"}), "is not for several ranks"},
       {on_two({"--permutation", "rcm"}), "permutation rcm is not for several ranks"},
       {on_two({"--format", "ell"}), "format ell is not for several ranks"},
       {on_two({"--method", "idr"}), "method 'idr' is not for several ranks"},
       {on_two({"--json", "/no/such/folder/x"}), "/no/such/folder/x"},
       {{"compare", here.at("A.mtx"), "--rhs", here.at("B.mtx"), "--ranks", "threads:2"},
        "--rhs with --ranks: it has 2 columns"},
       {{"compare", "--gallery", "nonsense:3", "--ranks", "threads:2"}, "there is no problem named \"nonsense\""}});
}

TEST_CASE("compare --ranks: an interrupt ends it with what it has so far", "[group]") {
  const folder here;
  const process comparing(program_path("whilst"), {"compare", "--gallery", "poisson2d:200", "--executor", "host",
                                                   "--rtol", "0", "--max-iterations", "100000000", "--ranks",
                                                   "threads:2,3", "--json", here.at("report.json")});
  for (int polls = 0; !contains(comparing.out(), "solver") && polls < 1500; ++polls)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  comparing.send(SIGINT);
  const outcome result = comparing.wait();
  INFO(result.out << result.err);
  CHECK(result.status == 2);
  CHECK(contains(result.out, "cancelled"));
  CHECK(contains(result.out, "3 ranks: not run: interrupted"));
  const json lines = json::parse(text_of(here / "report.json"))["comparison"];
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["reason"] == "cancelled");
  CHECK(lines[1]["available"] == false);
}

TEST_CASE("compare --ranks mpi has the line of the processes", "[group]") {
  const std::string launcher = mpirun();
  if (launcher.empty()) {
    WARN("left out: whilst was built without MPI, or there is no mpirun");
    return;
  }
  const folder here;
  const outcome result =
      run_processes(launcher, 3, with(compare, {"--ranks", "mpi", "--json", here.at("report.json")}));
  INFO(result.out << result.err);
  REQUIRE(result.status == 0);
  CHECK(result.out.find("matrix") == result.out.rfind("matrix"));
  const json lines = json::parse(text_of(here / "report.json"))["comparison"];
  REQUIRE(lines.size() == 1);
  check_line(result, lines[0], lines[0], 3, "processes", "shared memory");
  const outcome wrong = run_processes(launcher, 2, with(compare, {"--ranks", "mpi", "--beside", "amg"}));
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.err, "--beside with --ranks"));
}
