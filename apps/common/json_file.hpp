#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/output_file.hpp"

namespace whilst::command {

/// Keeps keys in the order in which they were added. NaN and infinity become null, for JSON has no such numbers.
using json = nlohmann::ordered_json;

/// Where `--json` goes: a file, standard output for "-", or nowhere.
class json_destination {
 public:
  explicit json_destination(const std::string& path);

  bool wanted() const { return to_standard_output_ || file_.wanted(); }
  const output_file& file() const { return file_; }
  /// Where text for a person goes: standard error where standard output is the report's.
  std::FILE* text() const { return to_standard_output_ ? stderr : stdout; }
  void write(const json& document) const;

 private:
  bool to_standard_output_ = false;
  output_file file_;
};

}  // namespace whilst::command
