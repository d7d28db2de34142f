// What whilst offers at the edges: standard input, silence, its version, its manual page and completions, numbers whose
// squares overflow or vanish.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/version.hpp"

namespace {

namespace fs = std::filesystem;
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

const strings small_host_solve{"solve", "--gallery", "poisson1d:20", "--executor", "host"};

struct solved {
  json report;
  std::vector<double> x;
  std::string err;
};
/// Solves for (1, 1.1, 1.2, ...) times `scale`.
solved solve_at_scale(double scale) {
  const folder here;
  std::ostringstream b;
  b.precision(17);
  b << "%%MatrixMarket matrix array real general\n20 1\n";
  for (int i = 0; i < 20; ++i) b << (1 + 0.1 * i) * scale << "\n";
  const outcome result =
      run(with(small_host_solve, {"--rhs", here.with("b.mtx", b.str()), "--output", here.at("x.mtx"), "--json", "-"}));
  INFO(result.err);
  REQUIRE(result.status == 0);
  return {json::parse(result.out), array_entries(here / "x.mtx"), result.err};
}

}  // namespace

TEST_CASE("the name - is standard input, plain or gzip, and nothing is read of what is no Matrix Market file") {
  const folder here;
  const std::string text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 2 2\n";
  std::ofstream(here / "A.mtx") << text;
  const auto run_with = [&](const strings& arguments, const std::string& input) {
    return whilst_test::run_program(program_path("whilst"), with(arguments, {"--executor", "host"}), input);
  };
  const outcome result = run_with({"solve", "-", "--output", "-", "--quiet"}, here.at("A.mtx"));
  CHECK(result.status == 0);
  CHECK(result.out == "%%MatrixMarket matrix array real general\n2 1\n0.25\n0.5\n");
  CHECK(result.err.empty());
  REQUIRE(std::system(("gzip -k " + here.at("A.mtx")).c_str()) == 0);
  const outcome packed = run_with({"solve", "-"}, here.at("A.mtx.gz"));
  CHECK(packed.status == 0);
  CHECK(contains(packed.out, "matrix       standard input: 2 rows, 2 nonzeros"));
  const outcome endless = run_with({"solve", "-"}, "/dev/zero");
  CHECK(endless.status == 1);
  CHECK(contains(endless.err, "standard input:1:1: found"));
}

TEST_CASE("with --quiet a program prints errors only, and leaves files and exit status as they are") {
  const folder here;
  for (const strings& arguments : {small_host_solve,
                                   {"compare", "--gallery", "poisson1d:20"},
                                   {"minimize", "rosenbrock", "--executor", "host"},
                                   {"equations", "rosenbrock", "--method", "newton", "--executor", "host"}}) {
    const outcome result = run(with(arguments, {"-q", "--json", here.at("report.json")}));
    INFO(arguments[0]);
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
    CHECK(json::parse(text_of(here / "report.json")).is_object());
  }
  const outcome limited = run(with(small_host_solve, {"--quiet", "--max-iterations", "1"}));
  CHECK(limited.status == 2);
  CHECK(limited.out.empty());
  CHECK_FALSE(run({"solve", here.at("none.mtx"), "--quiet"}).err.empty());
}

TEST_CASE("the commit that a report names is the one that was built, whatever the environment says later") {
  const outcome version = run({"--version"});
  ::setenv("WHILST_COMMIT", "of another program", 1);
  const outcome report = run({"compare", "--gallery", "poisson1d:5", "--json", "-", "--quiet"});
  ::unsetenv("WHILST_COMMIT");
  const std::string commit = json::parse(report.out)["commit"];
  CHECK(version.out ==
        std::string("whilst ") + whilst::version + (commit == "unknown" ? "" : " (commit " + commit + ")") + "\n");
}

TEST_CASE("manual page and completions tell every command and option that --help does") {
  const outcome page = run({"man"});
  CHECK(page.status == 0);
  CHECK(page.out.rfind(".TH WHILST 1", 0) == 0);
  std::string unescaped;  // minus signs are \- in roff
  for (std::size_t i = 0; i < page.out.size(); ++i) {
    if (page.out[i] != '\\' || page.out[i + 1] != '-') unescaped += page.out[i];
  }
  const outcome bash = run({"completion", "bash"}), zsh = run({"completion", "zsh"}),
                fish = run({"completion", "fish"});
  int options = 0;
  for (const std::string command :
       {"solve", "compare", "eigen", "minimize", "equations", "gallery", "info", "completion", "man"}) {
    std::istringstream help(run({command, "--help"}).out);
    for (std::string word; help >> word;) {
      if (word.rfind("--", 0) != 0 && word.rfind("-h,--", 0) != 0) continue;
      const std::string name = word.substr(word.find("--"), word.find_last_not_of(",.;)") + 1 - word.find("--"));
      INFO(command << " " << name);
      CHECK(contains(unescaped, name));
      CHECK(contains(bash.out, name));
      CHECK(contains(zsh.out, "'" + name + "["));
      CHECK(contains(fish.out, "-l " + name.substr(2)));
      ++options;
    }
  }
  CHECK(options > 60);
  CHECK(contains(unescaped, "Stop at |b - A x| <= rtol |b| (default 1e-8)"));
  CHECK(contains(zsh.out, ":value:(auto none jacobi amg "));
  CHECK(contains(fish.out,
                 "-l preconditioner -x -a 'auto none jacobi amg multigrid ilu ic fsai spai block_jacobi ssor schwarz "
                 "chebyshev neumann solve'"));
}

TEST_CASE("bash completes commands, options and values") {
  if (!fs::exists("/bin/bash")) return;
  const folder here;
  const std::string script = here.with("whilst.bash", run({"completion", "bash"}).out);
  const auto completed = [&](const std::string& words) {
    return whilst_test::run_program(
               "/bin/bash", {"-c", "source " + script + "; COMP_WORDS=(whilst " + words +
                                       "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _whilst; echo \"${COMPREPLY[*]}\""})
        .out;
  };
  CHECK(completed("so") == "solve\n");
  CHECK(completed("--ver") == "--version\n");
  CHECK(completed("solve --preco") == "--preconditioner\n");
  CHECK(completed("solve --preconditioner a") == "auto amg\n");
  CHECK(completed("solve --preconditioner i") == "ilu ic\n");
  CHECK(completed("solve --method b") == "bicgstab bicgstabl\n");
  CHECK(completed("minimize --method newton") == "newton newton-cg\n");
  CHECK(completed("compare --json " + here.at("whi")) == script + "\n");
  CHECK(completed("solve " + here.at("whi")) == script + "\n");
  CHECK(completed("solve --rtol 1") == "\n");
  CHECK(completed("completion z") == "zsh\n");
}

TEST_CASE("a picture's legend is below its axes, where it covers no curve") {
  const folder here;
  // Conjugate gradients need all 200 iterations here: the curve stays high until the last one.
  const std::string b = here.with("b.mtx", "%%MatrixMarket matrix coordinate real general\n200 1 1\n1 1 1\n");
  REQUIRE(
      run({"solve", "--gallery", "poisson1d:200", "--rhs", b, "--executor", "host", "--plot", here.at("picture.svg")})
          .status == 0);
  const std::string picture = text_of(here / "picture.svg");
  const auto number_after = [&](const std::string& words, std::size_t from) {
    const std::size_t at = picture.find(words, from);
    REQUIRE(at != std::string::npos);
    return std::stod(picture.substr(at + words.size()));
  };
  const std::size_t frame = picture.rfind("<rect", picture.find("fill=\"none\" stroke=\"#444\""));
  const double foot = number_after(" y=\"", frame) + number_after(" height=\"", frame);
  const double total = number_after(" height=\"", 0);
  for (const char* label : {">host</text>", ">tolerance</text>"}) {
    const double y = number_after(" y=\"", picture.rfind("<text", picture.find(label)));
    CHECK(y > foot + 40);  // below the axis' own words
    CHECK(y < total - 5);
  }
}

TEST_CASE("right-hand sides whose squares overflow or vanish are solved like others") {
  const solved usual = solve_at_scale(1);
  // Both residuals are at most rtol |b|, so both x differ by at most twice that over the least eigenvalue.
  const double least_eigenvalue = 2 - 2 * std::cos(std::numbers::pi / 21);
  const double bound = 2 * 1e-8 * usual.report["rhs_norm"].get<double>() / least_eigenvalue;
  for (const double scale : {1e-170, 1e170}) {
    INFO(scale);
    const solved scaled = solve_at_scale(scale);
    const int iterations = scaled.report["iterations"];
    CHECK(iterations > 0);
    CHECK(std::abs(iterations - usual.report["iterations"].get<int>()) <= 1);
    REQUIRE(scaled.x.size() == usual.x.size());
    for (std::size_t i = 0; i < usual.x.size(); ++i) CHECK(std::abs(scaled.x[i] / scale - usual.x[i]) <= bound);
  }
}

TEST_CASE("the residual that solve computes itself is right at every scale") {
  for (const double scale : {1e-170, 1.0, 1e170}) {
    INFO(scale);
    const solved scaled = solve_at_scale(scale);
    const json residual = scaled.report["true_relative_residual"];
    REQUIRE(residual.is_number());
    CHECK(residual.get<double>() > 0);  // some of 20 entries are rounded
    CHECK(residual.get<double>() <= 1e-8);
    CHECK_FALSE(contains(scaled.err, "warning"));
  }
}
