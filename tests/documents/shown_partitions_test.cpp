// The table of ghosts in docs/several-gpus.md is what the program prints.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "tests/documents/documents.hpp"

namespace whilst_test {
namespace {

/// The cells of a table's line, without spaces and backquotes.
strings cells_of(const std::string& line) {
  strings cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    std::erase_if(cell, [](char c) { return c == ' ' || c == '`'; });
    cells.push_back(cell);
  }
  return cells;
}

nlohmann::json told_by(const strings& arguments) {
  const outcome result = run_program(program_path("whilst"), arguments);
  INFO(result.err);
  REQUIRE(!result.out.empty());
  return nlohmann::json::parse(result.out);
}

int most_ghosts(const std::string& problem, const std::string& partition) {
  const auto report = told_by({"solve", "--gallery", problem, "--ranks", "threads:8", "--partition", partition,
                               "--executor", "host", "--max-iterations", "0", "--quiet", "--json", "-"});
  int most = 0;
  for (const auto& ghosts : report["ghosts_of_ranks"]) most = std::max(most, ghosts.get<int>());
  return most;
}

}  // namespace

TEST_CASE("the page about several GPUs has the ghosts of each partition", "[shown]") {
  const std::vector<std::string> lines = lines_of(read(source_folder() / "docs/several-gpus.md"));
  auto line = std::find(lines.begin(), lines.end(), "<!-- ghosts -->");
  REQUIRE(lines.end() - line > 4);
  const strings partitions = cells_of(*++line);
  REQUIRE(partitions == strings{"matrix", "rows", "rcm", "metis"});
  const bool has_metis = told_by({"info", "--json"})["metis"] == true;
  if (!has_metis) WARN("left out: the column of METIS, which whilst was built without");
  int problems = 0;
  for (++line; begins_with(*++line, "|"); ++problems) {
    const strings cells = cells_of(*line);
    REQUIRE(cells.size() == partitions.size());
    for (std::size_t k = 1; k < cells.size(); ++k) {
      if (partitions[k] == "metis" && !has_metis) continue;
      CAPTURE(cells[0], partitions[k]);
      const int shown = std::stoi(cells[k]), printed = most_ghosts(cells[0], partitions[k]);
      // Another METIS, or another C library's numbers by chance, may find others.
      CHECK(std::abs(shown - printed) <= (partitions[k] == "metis" ? shown / 10 : 0));
    }
  }
  CHECK(problems == 3);
}

}  // namespace whilst_test
