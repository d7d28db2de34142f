// Links within the documents lead to files and headings that are there.

#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/documents/documents.hpp"

namespace whilst_test {
namespace {

/// A document without its code blocks.
std::string prose(const std::string& document) {
  std::string text;
  bool in_code = false;
  for (const std::string& line : lines_of(document)) {
    const bool is_fence = begins_with(line, "```");
    if (is_fence) in_code = !in_code;
    if (!in_code && !is_fence) text += line + "\n";
  }
  return text;
}

/// The anchors that GitHub makes of headings: small letters and digits, hyphens for spaces, a number for a repetition.
std::set<std::string> anchors(const std::string& document) {
  std::set<std::string> all;
  std::map<std::string, int> times;
  for (const std::string& line : lines_of(prose(document))) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(level + 1)) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c == ' ')
        anchor += '-';
    }
    const int before = times[anchor]++;
    all.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return all;
}

}  // namespace

TEST_CASE("links in documents lead to files and headings that are there", "[shown]") {
  std::vector<std::string> names = documents();
  names.push_back("benchmarks/results/README.md");
  int followed = 0;
  for (const std::string& name : names) {
    const std::string text = prose(read(source_folder() / name));
    const std::regex link(R"(\]\(([^)\s]+)\))");
    for (std::sregex_iterator found(text.begin(), text.end(), link), none; found != none; ++found) {
      const std::string target = (*found)[1];
      if (target.find("://") != std::string::npos) continue;
      INFO(name << ": " << target);
      const std::size_t hash = target.find('#');
      const std::string path = target.substr(0, hash);
      const auto file = path.empty() ? source_folder() / name : (source_folder() / name).parent_path() / path;
      CHECK(std::filesystem::exists(file));
      ++followed;
      if (hash != std::string::npos && std::filesystem::exists(file))
        CHECK(anchors(read(file)).count(target.substr(hash + 1)) == 1);
    }
  }
  CHECK(followed > 50);
}

}  // namespace whilst_test
