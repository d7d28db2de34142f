// What whilst says, and leaves alone, where it is asked for what it cannot do.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;
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

const strings small_host_solve{"solve", "--gallery", "poisson1d:20", "--executor", "host"};

}  // namespace

TEST_CASE("a wrong command line exits with 1, names the option and says what to give") {
  struct wrong {
    strings arguments;
    std::string names, cure;
  };
  const strings problem{"solve", "--gallery", "poisson1d:20"};
  const auto number = std::string("give a");
  for (const wrong& example : std::vector<wrong>{
           {{}, "subcommand", "--help"},
           {{"slove"}, "\"slove\"", "solve, compare, minimize, equations, gallery, info"},
           {{"solve"}, "matrix", "--gallery"},
           {with(problem, {"A.mtx"}), "two matrices", "either"},
           {with(problem, {"--rtol", "-1"}), "--rtol", number},
           {with(problem, {"--rtol", "nan"}), "--rtol", number},
           {with(problem, {"--rtol", "2"}), "--rtol", number},
           {with(problem, {"--atol", "-1e-3"}), "--atol", number},
           {with(problem, {"--max-iterations", "-5"}), "--max-iterations", number},
           {with(problem, {"--max-iterations", "many"}), "--max-iterations", number},
           {with(problem, {"--max-iterations", "99999999999999999999"}), "--max-iterations", number},
           {with(problem, {"--deadline", "0"}), "--deadline", "give seconds"},
           {with(problem, {"--unroll", "-1"}), "--unroll", number},
           {with(problem, {"--threads", "-1"}), "--threads", number},
           {with(problem, {"--threads", "1025"}), "--threads", number},
           {{"minimize", "rosenbrock", "--threads", "two"}, "--threads", number},
           {with(problem, {"--device", "-3"}), "--device", number},
           {with(problem, {"--executor", "gpu"}), "--executor", "auto, host, stream, graph, resident"},
           {with(problem, {"--method", "gmres"}), "--method", "cg, bicgstab"},
           {with(problem, {"--preconditioner", "ilu"}), "--preconditioner", "none, jacobi"},
           {with(problem, {"--precision", "half"}), "--precision", "double, float"},
           {with(problem, {"--tolerance", "1"}), "--tolerance", "solve --help"},
           {with(problem, {"--output", "-"}), "--output", "/dev/stdout"},
           {{"solve", "--gallery", "poisson9d:20"}, "poisson9d", "poisson2d"},
           {{"solve", "--gallery", "poisson2d:-2"}, "-2", "Give"},
           {{"gallery", "poisson2d:4"}, "poisson2d:4", "--output"},
       }) {
    const outcome result = run(example.arguments);
    INFO(result.err);
    CHECK(result.status == 1);
    CHECK(result.out.empty());
    CHECK(contains(result.err, example.names));
    CHECK(contains(result.err, example.cure));
  }
}

TEST_CASE("input that cannot be used is an error that names it") {
  const folder here;
  const outcome missing = run({"solve", here.at("missing.mtx")});
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "missing.mtx"));

  std::ofstream(here / "wide.mtx") << "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 1 1\n";
  const outcome wide = run({"solve", here.at("wide.mtx"), "--executor", "host"});
  CHECK(wide.status == 1);
  CHECK(contains(wide.err, "1 rows and 2 columns"));

  std::ofstream(here / "short.mtx") << "%%MatrixMarket matrix array real general\n2 1\n1\n1\n";
  const outcome rhs = run(with(small_host_solve, {"--rhs", here.at("short.mtx")}));
  CHECK(rhs.status == 1);
  CHECK(contains(rhs.err, "2 entries and the matrix 20 rows"));
}

TEST_CASE("paths are tried before anything else is done, and files are whole or untouched") {
  const folder here;
  SECTION("a folder that is not there is found before the matrix is even looked for") {
    const outcome result = run({"solve", here.at("missing.mtx"), "--json", here.at("nowhere/report.json")});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "nowhere"));
    CHECK_FALSE(contains(result.err, "missing.mtx"));
  }
  SECTION("a folder is no file") {
    const outcome result = run(with(small_host_solve, {"--plot", here.at("")}));
    CHECK(result.status == 1);
    CHECK(contains(result.err, "--plot"));
  }
  SECTION("an error leaves a former file as it was") {
    std::ofstream(here / "report.json") << "former";
    CHECK(run({"solve", here.at("missing.mtx"), "--json", here.at("report.json")}).status == 1);
    CHECK(text_of(here / "report.json") == "former");
    CHECK(here.files() == 1);
  }
  SECTION("a symbolic link stays one") {
    fs::create_symlink("report.json", here / "link.json");
    CHECK(run(with(small_host_solve, {"--json", here.at("link.json")})).status == 0);
    CHECK(fs::is_symlink(here / "link.json"));
    CHECK(json::parse(text_of(here / "report.json"))["converged"] == true);
  }
  SECTION("two results cannot share a file, nor replace an input") {
    CHECK(run(with(small_host_solve, {"--json", here.at("one"), "--history", here.at("./one")})).status == 1);
    REQUIRE(run({"gallery", "poisson1d:5", "--output", here.at("A.mtx")}).status == 0);
    const std::string before = text_of(here / "A.mtx");
    CHECK(run({"solve", here.at("A.mtx"), "--output", here.at("A.mtx")}).status == 1);
    CHECK(text_of(here / "A.mtx") == before);
    CHECK(here.files() == 1);
  }
  SECTION("devices are written to, not replaced") {
    CHECK(run(with(small_host_solve, {"--output", "/dev/null", "--json", "/dev/null"})).status == 0);
    CHECK(fs::is_character_file("/dev/null"));
  }
  SECTION("what cannot be written in the end is an error") {
    if (!fs::exists("/dev/full")) return;
    const outcome result = run(with(small_host_solve, {"--json", "/dev/full"}));
    CHECK(result.status == 1);
    CHECK(contains(result.err, "/dev/full"));
  }
}
