// What whilst says, and leaves alone, where it is asked for what it cannot do.

#include <sys/stat.h>

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
           {{}, "SUBCOMMAND", "--help"},
           {{"slove"}, "\"slove\"", "solve, compare, eigen, minimize, equations, gallery, info, completion, man"},
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
           {with(problem, {"--method", "sor"}), "--method", "bicgstab, bicgstabl, idr, gmres"},
           {with(problem, {"--restart", "0"}), "--restart", "from 1 to 1000"},
           {with(problem, {"--shadow-dimension", "17"}), "--shadow-dimension", "from 1 to 16"},
           {with(problem, {"--polynomial-degree", "two"}), "--polynomial-degree", "from 1 to 8"},
           {with(problem, {"--preconditioner", "ilut"}), "--preconditioner",
            "give one of auto, none, jacobi, amg, multigrid, ilu, ic, fsai, spai, block_jacobi"},
           {with(problem, {"--preconditioner", "jacobi,strength=1"}), "--preconditioner",
            "none, jacobi, amg, multigrid, ilu, ic, fsai, spai"},
           {with(problem, {"--preconditioner", "amg,levels=2"}), "no setting called 'levels'",
            "precision, coarsening, strength, interpolation_entries, aggressive_levels, coarsest_rows, most_levels, "
            "cycle, revisited_level, smoother, "
            "sweeps, "
            "unknowns_a_node"},
           {with(problem, {"--preconditioner", "amg,strength=2"}), "strength is 2", "Use 0 to 1"},
           {with(problem, {"--preconditioner", "amg,strength=much"}), "strength", "Give a number"},
           {with(problem, {"--preconditioner", "ilu,strength=1"}), "no setting called 'strength'",
            "drop, fill, levels, matching, pivoting, order"},
           {with(problem, {"--preconditioner", "ic,pivoting=1"}), "no setting called 'pivoting'",
            "drop, fill, levels, order"},
           {with(problem, {"--preconditioner", "ilu,drop=2"}), "drop is 2", "Use 0 to 1"},
           {with(problem, {"--preconditioner", "ilu,pivoting=1,levels=0"}), "pivoting is 1", "leave out levels"},
           {with(problem, {"--preconditioner", "ic,levels=few"}), "levels", "Give a whole number"},
           {with(problem, {"--preconditioner", "ilu", "--method", "cgls"}), "preconditioner ilu is for A",
            "Use none or jacobi"},
           {with(problem, {"--preconditioner", "ic", "--executor", "resident"}), "executor resident is one kernel",
            "Use executor graph, stream or host"},
           {with(problem, {"--preconditioner", "amg", "--method", "lsqr"}), "preconditioner amg is for A",
            "Use none or jacobi"},
           {with(problem, {"--preconditioner", "amg", "--executor", "resident"}), "executor resident is one kernel",
            "Use executor graph, stream or host"},
           {{"eigen", "--gallery", "poisson1d:20", "--preconditioner", "ilut"},
            "--preconditioner",
            "give one of auto, none, jacobi, amg"},
           {{"eigen", "--gallery", "poisson1d:20", "--preconditioner", "ilu"}, "ilu is not symmetric", "Use ic"},
           {with(problem, {"--null-space", "ones"}), "--null-space", "none, constant"},
           {with(problem, {"--null-space", "constant"}), "not in the null space", "none"},
           {with(problem, {"--null-space", "constant", "--null-space-vectors", "V.mtx"}), "--null-space", "--help"},
           {with(problem, {"--format", "coo"}), "--format", "auto, csr, bsr, sell, ell, balanced"},
           {with(problem, {"--format", "bsr"}), "storing a matrix as bsr", "auto"},
           {with(problem, {"--precision", "half"}), "--precision", "double, float"},
           {with(problem, {"--tolerance", "1"}), "--tolerance", "solve --help"},
           {with(problem, {"--output", "-", "--json", "-"}), "--json -", "same file as --output"},
           {{"solve", "-", "--rhs", "-"}, "--rhs -", "another path"},
           {{"completion", "tcsh"}, "tcsh", "bash, zsh, fish"},
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
  CHECK(missing.err == "whilst: reading " + here.at("missing.mtx") + ": no such file. Give a Matrix Market file\n");

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
  SECTION("a file that is replaced keeps its mode, and a new one has that of the umask") {
    for (const char* name : {"report.json", "x.mtx"}) {
      std::ofstream(here / name) << "former";
      fs::permissions(here / name, fs::perms(0600));
    }
    const mode_t former = ::umask(027);
    const outcome result = run(with(small_host_solve, {"--json", here.at("report.json"), "--output", here.at("x.mtx"),
                                                       "--history", here.at("history.csv")}));
    ::umask(former);
    CHECK(result.status == 0);
    CHECK(fs::status(here / "report.json").permissions() == fs::perms(0600));
    CHECK(fs::status(here / "x.mtx").permissions() == fs::perms(0600));
    CHECK(fs::status(here / "history.csv").permissions() == fs::perms(0640));
  }
  SECTION("no name that another may foresee is written through, or stands in the way") {
    std::ofstream(here / "victim") << "precious";
    // The shell's number becomes the program's.
    const std::string whilst = whilst_test::program_path("whilst"), temporary = fs::temp_directory_path().string();
    const auto prepared = [&](const std::string& link, const std::string& options) {
      return whilst_test::run_program(
          "/bin/sh", {"-c", "ln -s " + here.at("victim") + " \"" + link + "\"; exec " + fs::absolute(whilst).string() +
                                " solve --gallery poisson1d:20 --executor host " + options + " > /dev/null"});
    };
    CHECK(prepared(temporary + "/whilst---output.$$", "--output /dev/stdout").status == 0);
    CHECK(prepared(here.at("h.csv") + ".partial-$$", "--history " + here.at("h.csv")).status == 0);
    CHECK(contains(text_of(here / "h.csv"), "iteration,residual_norm"));
    CHECK(text_of(here / "victim") == "precious");
    for (const auto& found : fs::directory_iterator(temporary)) {
      if (contains(found.path().filename().string(), "whilst---output.")) fs::remove(found);
    }
  }
  SECTION("standard output is a stream, wherever it leads") {
    for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
      INFO(name);
      const outcome result = run(with(small_host_solve, {"--output", name}));
      CHECK(result.status == 0);
      // Into a file here: the text for a person stays where it is.
      CHECK(contains(result.out, "%%MatrixMarket matrix array real general\n20 1\n"));
      CHECK(contains(name[0] == '-' ? result.err : result.out, "converged_rtol"));
      CHECK(result.out.rfind("%%MatrixMarket", 0) == (name[0] == '-' ? 0 : std::string::npos));
    }
    const outcome history = run(with(small_host_solve, {"--history", "-", "--quiet"}));
    CHECK(history.out.rfind("iteration,residual_norm\n", 0) == 0);
    CHECK(history.err.empty());
  }
  SECTION("links in a circle are an error that says so") {
    fs::create_symlink("b", here / "a");
    fs::create_symlink("a", here / "b");
    const outcome result = run(with(small_host_solve, {"--json", here.at("a")}));
    CHECK(result.status == 1);
    CHECK(contains(result.err, "circle"));
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

TEST_CASE("control characters of names and arguments reach no terminal") {
  const folder here;
  const std::string name = "a\033]0;title\007b\n.mtx", shown = "a\\x1b]0;title\\x07b\\x0a.mtx";
  for (const strings& arguments : {strings{"solve", name},
                                   {"solve", "--gallery", "poisson1d:20", "--rhs", name},
                                   {name},
                                   {"info", name},
                                   {"solve", "--gallery", name},
                                   {"solve", "--gallery", "poisson1d:20", "--json", "no/" + name}}) {
    const outcome result = run(arguments);
    INFO(result.err);
    CHECK(result.status == 1);
    CHECK(contains(result.err, shown));
    CHECK(result.err.find_first_of("\033\007") == std::string::npos);
    CHECK(result.err.find('\n') == result.err.size() - 1);
  }
  REQUIRE(run({"gallery", "poisson1d:5", "--output", here.at(name)}).status == 0);
  const outcome result = run({"solve", here.at(name), "--executor", "host"});
  CHECK(result.status == 0);
  CHECK(contains(result.out, shown));
  CHECK(result.out.find('\033') == std::string::npos);
}
