// What the documents show is what runs. Each code block of README, of the pages below docs and of CONTRIBUTING is one
// of these, compared byte by byte:
//
//   <!-- FILE -->           a whole file, as a program of examples/, or a text under docs/output, which is what the
//                           programs of shown_samples.cpp put out
//   <!-- FILE: REGION -->   what stands in the file between "// shown: REGION" and "// end of shown"
//   <!-- part of FILE -->   paragraphs that stand in the file one after another, perhaps with others between them
//   ```console              commands after "$ ", which are run on the host, and what they print
//   ```sh                   commands that are not run here
//
// With WHILST_WRITE_SHOWN=DIR nothing is compared: texts and documents with their quotes renewed are written below DIR,
// which may be the source folder itself. What needs a GPU is left as it was where there is none. Run the program itself
// then, whilst_tests '[shown]', and not ctest: the documents are renewed after the texts.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "tests/documents/documents.hpp"
#include "tests/documents/shown_samples.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {
namespace {

using std::filesystem::path;
using whilst::executor;
using whilst::place;
using namespace whilst::shown;

/// Every region of these must be quoted somewhere.
const std::vector<std::string> samples{"tests/documents/shown_samples.cpp", "tests/documents/shown_snippets_test.cpp",
                                       "tests/documents/shown_methods_test.cpp"};

std::optional<path> folder_to_write() {
  const char* const given = std::getenv("WHILST_WRITE_SHOWN");
  return given && *given ? std::optional<path>(given) : std::nullopt;
}
void write(const path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  REQUIRE(stream.flush().good());
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
      {"levels", false, explain_levels},
  };
  return all;
}
std::string file_of(const std::string& name) { return "docs/output/" + name + ".txt"; }

/// The regions of a file by their names.
std::map<std::string, std::string> regions_of(const std::string& file) {
  std::map<std::string, std::string> all;
  std::string name, text;
  std::size_t indent = 0;
  for (const std::string& line : lines_of(read(source_folder() / file))) {
    const std::size_t begin = line.find_first_not_of(' ');
    const std::string words = begin == std::string::npos ? "" : line.substr(begin);
    if (begins_with(words, "// shown: ")) {
      REQUIRE(name.empty());
      name = words.substr(10);
      indent = begin;
    } else if (words == "// end of shown") {
      REQUIRE(all.emplace(name, std::exchange(text, "")).second);
      name.clear();
    } else if (!name.empty()) {
      text += (line.empty() ? "" : line.substr(indent)) + "\n";
    }
  }
  REQUIRE(name.empty());
  return all;
}

/// Checks that each paragraph of a block stands in the file, in this order, all of a paragraph indented as far.
void check_parts(const std::vector<std::string>& block, const std::string& file) {
  const std::vector<std::string> source = lines_of(read(source_folder() / file));
  auto from = source.begin();
  for (auto begin = block.begin(); begin != block.end();) {
    const auto end = std::find(begin, block.end(), "");
    const std::size_t length = begin->size();
    const auto at = std::find_if(from, source.end(), [&](const std::string& line) {
      if (line.size() < length) return false;
      const std::string indent(line.size() - length, ' ');
      const auto first = source.begin() + (&line - source.data());
      return source.end() - first >= end - begin &&
             std::equal(begin, end, first,
                        [&](const std::string& is, const std::string& in) { return indent + is == in; });
    });
    INFO("the paragraph that begins so: " << *begin);
    CHECK(at != source.end());
    from = at;
    begin = end == block.end() ? end : end + 1;
  }
}

/// The output of "$ build/bin/PROGRAM ARGUMENT..." or, of a program of examples/, "$ build/PROGRAM ARGUMENT...", on the
/// host, in the current folder.
std::vector<std::string> output_of(const std::string& command) {
  strings words;
  std::istringstream stream(command.substr(2));
  for (std::string word; stream >> word;) words.push_back(word);
  const std::string own = "build/bin/", example = "build/";
  REQUIRE(begins_with(words[0], example));
  const bool is_own = begins_with(words[0], own);
  const std::string name = is_own ? words[0].substr(own.size()) : "examples/" + words[0].substr(example.size());
  static const path programs = std::filesystem::absolute(program_path("whilst")).parent_path();
  const outcome result = run_program((programs / name).string(), strings(words.begin() + 1, words.end()));
  INFO(command << "\n" << result.err);
  CHECK(result.status == 0);
  return lines_of(result.out);
}

/// Whether a line that was printed is the one that is shown, but for what differs between machines.
bool is_same(const std::string& shown, const std::string& printed) {
  if (shown == printed) return true;
  const std::string word = shown.substr(0, shown.find(' '));
  if (!begins_with(printed, word + " ")) return false;
  if (word == "machine" || word == "time") return true;
  if (word != "residual" && word != "pair") return false;
  // Where the compiler fuses multiplications and additions the last of many residuals is another one by far less.
  std::istringstream in_shown(shown), in_printed(printed);
  for (std::string one, other; in_shown >> one;) {
    if (!(in_printed >> other)) return false;
    if (one == other) continue;
    if (!std::isdigit(one[0]) || !std::isdigit(other[0])) return false;
    if (std::stod(other) != Approx(std::stod(one)).epsilon(0.005)) return false;
  }
  return !(in_printed >> std::ws).good();
}

/// A transcript as it should be: the commands with what they print, lines that differ as they may left as they are.
std::string run_again(const std::vector<std::string>& shown) {
  const folder here;
  const path before = std::filesystem::current_path();
  ::setenv("WHILST_EXECUTOR", "host", 1);
  std::string text;
  for (std::size_t k = 0; k < shown.size();) {
    REQUIRE(begins_with(shown[k], "$ "));
    const std::string command = shown[k++];
    std::filesystem::current_path(here / "");
    const std::vector<std::string> printed = output_of(command);
    std::filesystem::current_path(before);
    text += command + "\n";
    for (const std::string& line : printed) {
      const bool is_there = k < shown.size() && !begins_with(shown[k], "$ ");
      text += (is_there && is_same(shown[k], line) ? shown[k] : line) + "\n";
      k += is_there;
    }
    while (k < shown.size() && !begins_with(shown[k], "$ ")) ++k;  // more is shown than was printed
  }
  ::unsetenv("WHILST_EXECUTOR");
  return text;
}

/// What a mark names. A text that was just written counts.
std::string quoted_text(const std::string& mark) {
  const std::size_t colon = mark.find(": ");
  if (colon == std::string::npos) {
    const path written = folder_to_write() ? *folder_to_write() / mark : path();
    return read(std::filesystem::exists(written) ? written : source_folder() / mark);
  }
  const auto regions = regions_of(mark.substr(0, colon));
  REQUIRE(regions.count(mark.substr(colon + 2)) == 1);
  return regions.at(mark.substr(colon + 2));
}

/// The document as it should be. Notes in `quoted` what its marks name.
std::string renewed(const std::string& document, bool has_free_blocks, std::set<std::string>& quoted) {
  const std::vector<std::string> lines = lines_of(document);
  const std::string part_of = "part of ";
  std::string text;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    text += lines[k] + "\n";
    if (!begins_with(lines[k], "```")) continue;
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(k) + 1, end = std::find(begin, lines.end(), "```");
    REQUIRE(end != lines.end());
    const std::vector<std::string> shown(begin, end);
    const bool is_marked = k > 0 && begins_with(lines[k - 1], "<!-- ");
    const std::string mark = is_marked ? lines[k - 1].substr(5, lines[k - 1].rfind(" -->") - 5) : "";
    INFO("line " << k + 1 << ": " << lines[k] << " " << mark);
    if (is_marked && !begins_with(mark, part_of)) {
      text += quoted_text(mark);
      quoted.insert(mark);
    } else if (lines[k] == "```console") {
      text += run_again(shown);
    } else {
      if (is_marked) check_parts(shown, mark.substr(part_of.size()));
      if (!is_marked && lines[k] != "```sh" && !has_free_blocks)
        FAIL_CHECK("a block that is neither marked nor ```console or ```sh: nobody knows whether it runs");
      for (const std::string& line : shown) text += line + "\n";
    }
    text += "```\n";
    k += shown.size() + 1;
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

TEST_CASE("documents quote programs, outputs and transcripts as they are", "[shown]") {
  std::set<std::string> quoted;
  for (const std::string& name : documents()) {
    INFO(name);
    const std::string document = read(source_folder() / name);
    // Trees and sketches among what it shows are no quotes.
    const std::string fresh = renewed(document, name == "docs/architecture.md", quoted);
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
  std::vector<std::string> kept = files_in("examples", ".cpp");
  for (const output& one : outputs()) kept.push_back(file_of(one.name));
  for (const std::string& file : samples)
    for (const auto& [region, text] : regions_of(file)) kept.push_back(std::string(file).append(": ").append(region));
  for (const std::string& name : kept) {
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
