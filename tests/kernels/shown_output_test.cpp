// What the documents show is what runs: the texts under docs/output are what the programs of shown_samples.cpp put out,
// and the code blocks that a comment marks quote those texts, or the regions of that file, byte by byte.
//
// With WHILST_WRITE_SHOWN=DIR nothing is compared: texts and documents with their quotes renewed are written below DIR,
// which may be the source folder itself. What needs a GPU is left as it was where there is none. Run the program itself
// then, whilst_tests '[shown]', and not ctest: the documents are renewed after the texts.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/launch/cuda.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/shown_samples.hpp"

namespace whilst_test {
namespace {

using std::filesystem::path;
using whilst::executor;
using whilst::place;
using namespace whilst::shown;

const std::string samples = "tests/kernels/shown_samples.cpp";

/// The source folder: the environment variable WHILST_SOURCE_FOLDER, or where this was compiled.
path source_folder() {
  const char* const given = std::getenv("WHILST_SOURCE_FOLDER");
  return given ? given : WHILST_SOURCE_FOLDER;
}
std::optional<path> folder_to_write() {
  const char* const given = std::getenv("WHILST_WRITE_SHOWN");
  return given && *given ? std::optional<path>(given) : std::nullopt;
}
std::string read(const path& file) {
  INFO(file.string() << "; WHILST_SOURCE_FOLDER says where the sources are");
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}
void write(const path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  REQUIRE(stream.flush().good());
}
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct output {
  std::string name;
  bool needs_gpu;
  std::function<std::string()> make;
};
const std::vector<output>& outputs() {
  static const std::vector<output> all{
      {"parameters", false, [] { return run_decay(place::host(), executor::host).parameters; }},
      {"nest", false, [] { return run_decay(place::host(), executor::host).nest; }},
      {"nest-graph", true, [] { return run_decay(place::gpu(0), executor::graph).nest; }},
      {"memory", false, [] { return run_decay(place::host(), executor::host).memory; }},
      {"strict", false, [] { return check_frozen(place::host(), executor::host, /*starts_over=*/false); }},
      {"strict-graph", true, [] { return check_frozen(place::gpu(0), executor::graph, /*starts_over=*/true); }},
      {"refusals", false, collect_refusals},
      {"doctor", true, collect_diagnoses},
      {"conjugate-gradient", false, explain_conjugate_gradient},
  };
  return all;
}
std::string file_of(const std::string& name) { return "docs/output/" + name + ".txt"; }

/// What marks may name: a text's path, or "FILE: REGION". A text that was just written counts.
using quotable = std::map<std::string, std::string>;

void add_regions(quotable& all) {
  std::string name, text;
  std::size_t indent = 0;
  for (const std::string& line : lines_of(read(source_folder() / samples))) {
    const std::size_t begin = line.find_first_not_of(' ');
    const std::string words = begin == std::string::npos ? "" : line.substr(begin);
    if (words.rfind("// shown: ", 0) == 0) {
      REQUIRE(name.empty());
      name = words.substr(10);
      indent = begin;
    } else if (words == "// end of shown") {
      REQUIRE(all.emplace(samples + ": " + name, std::exchange(text, "")).second);
      name.clear();
    } else if (!name.empty()) {
      text += (line.empty() ? "" : line.substr(indent)) + "\n";
    }
  }
  REQUIRE(name.empty());
}
quotable everything_quotable() {
  quotable all;
  for (const output& one : outputs()) {
    const std::string file = file_of(one.name);
    const auto written = folder_to_write() ? *folder_to_write() / file : path();
    all[file] = read(std::filesystem::exists(written) ? written : source_folder() / file);
  }
  add_regions(all);
  return all;
}

/// The document as it should be: each code block after a mark holds what the mark names. Notes the names in `quoted`.
std::string renewed(const std::string& document, const quotable& all, std::set<std::string>& quoted) {
  const std::vector<std::string> lines = lines_of(document);
  std::string text;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    text += lines[k] + "\n";
    const bool is_mark = lines[k].rfind("<!-- docs/output/", 0) == 0 || lines[k].rfind("<!-- " + samples, 0) == 0;
    if (!is_mark) continue;
    const std::string name = lines[k].substr(5, lines[k].rfind(" -->") - 5);
    INFO(name);
    REQUIRE(all.count(name) == 1);
    REQUIRE(k + 1 < lines.size());
    REQUIRE(lines[k + 1].rfind("```", 0) == 0);
    text += lines[k + 1] + "\n" + all.at(name) + "```\n";
    for (k += 2; k < lines.size() && lines[k] != "```";) ++k;
    REQUIRE(k < lines.size());
    quoted.insert(name);
  }
  return text;
}

/// u after some time steps of u' = -rate u^3 by implicit Euler: bisection, no derivative.
double decayed(double u, double h, double rate, int steps) {
  for (int step = 0; step < steps; ++step) {
    double low = 0, high = u;
    for (int halving = 0; halving < 100; ++halving) {
      const double x = (low + high) / 2;
      (x + h * rate * x * x * x < u ? low : high) = x;
    }
    u = low;
  }
  return u;
}

}  // namespace

TEST_CASE("the outputs that documents show are what runs put out", "[shown]") {
  for (const output& one : outputs()) {
    INFO(file_of(one.name));
    if (one.needs_gpu && whilst::cuda::device_count() == 0) {
      WARN("left out where there is no GPU: " << file_of(one.name));
      continue;
    }
    const std::string text = one.make();
    if (const auto folder = folder_to_write()) {
      write(*folder / file_of(one.name), text);
      continue;
    }
    CHECK(text == read(source_folder() / file_of(one.name)));
  }
}

TEST_CASE("documents quote the outputs and the code that made them", "[shown]") {
  const quotable all = everything_quotable();
  std::set<std::string> quoted;
  for (const char* const name : {"README.md", "docs/architecture.md"}) {
    INFO(name);
    const std::string document = read(source_folder() / name), fresh = renewed(document, all, quoted);
    if (const auto folder = folder_to_write()) {
      write(*folder / name, fresh);
      continue;
    }
    const std::vector<std::string> is = lines_of(document), should_be = lines_of(fresh);
    const auto parted = std::mismatch(is.begin(), is.end(), should_be.begin(), should_be.end());
    if (parted.first != is.end() && parted.second != should_be.end()) {
      INFO("line " << parted.first - is.begin() + 1);
      CHECK(*parted.first == *parted.second);
    }
    CHECK((document == fresh));
  }
  // Nothing is kept that nobody sees.
  for (const auto& [name, text] : all) {
    INFO(name);
    CHECK(quoted.count(name) == 1);
  }
}

TEST_CASE("the shown launches compute what a plain loop does, on every executor", "[shown]") {
  const double first = decayed(1, 0.1, 1, 8), second = decayed(first, 0.05, 1, 8), third = decayed(2, 0.05, 1, 8);
  const std::vector<double> expected{first, second, third, decayed(third, 0.05, 4, 8)};
  // Half of the sixth digit after the point, and what Newton's tolerance leaves.
  constexpr double shown_digits = 0.51e-6;
  const std::string on_host = run_decay(place::host(), executor::host).parameters;
  const std::vector<std::string> lines = lines_of(on_host);
  REQUIRE(lines.size() == expected.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    INFO(lines[k]);
    const std::size_t at = lines[k].find("u = ", 30);
    REQUIRE(at != std::string::npos);
    CHECK(std::abs(std::stod(lines[k].substr(at + 4)) - expected[k]) <= shown_digits);
  }
  if (whilst::cuda::device_count() == 0) return;
  // The same lines: no norm of a Newton step is near the tolerance, so rounding changes no count.
  for (const executor how : {executor::stream, executor::graph})
    CHECK(run_decay(place::gpu(0), how).parameters == on_host);
}

}  // namespace whilst_test
