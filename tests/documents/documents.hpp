#pragma once

// The documents, for the tests that compare them with what they tell of.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace whilst_test {

/// The source folder: the environment variable WHILST_SOURCE_FOLDER, or where this was compiled.
inline std::filesystem::path source_folder() {
  const char* const given = std::getenv("WHILST_SOURCE_FOLDER");
  return given ? given : WHILST_SOURCE_FOLDER;
}

inline std::string read(const std::filesystem::path& file) {
  INFO(file.string() << "; WHILST_SOURCE_FOLDER says where the sources are");
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline bool begins_with(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

/// The files in a folder of the sources whose names end so, by their paths from the source folder, sorted.
inline std::vector<std::string> files_in(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending)
      names.push_back(folder.empty() ? name : folder + "/" + name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// README and its like, and all pages below docs.
inline std::vector<std::string> documents() {
  std::vector<std::string> names = files_in("", ".md");
  for (const char* const folder : {"docs", "docs/methods", "docs/preconditioners", "docs/tutorials"})
    for (const std::string& page : files_in(folder, ".md")) names.push_back(page);
  return names;
}

}  // namespace whilst_test
