#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/output_file.hpp"

namespace whilst::command {

/// Keeps keys in the order in which they were added. NaN and infinity become null, for JSON has no such numbers.
using json = nlohmann::ordered_json;

/// Where `--json` goes: a file, standard output for "-", or nowhere; and with it the text for a person.
class json_destination {
 public:
  /// beside: the program's other files, which may be standard output, too. quiet: nobody wants the text.
  explicit json_destination(const std::string& path, const std::vector<const output_file*>& beside = {},
                            bool quiet = false);

  bool wanted() const { return file_.wanted(); }
  const output_file& file() const { return file_; }
  /// Where text for a person goes: standard error where standard output is a result's.
  std::FILE* text() const { return text_; }
  void write(const json& document) const;

 private:
  output_file file_;
  std::FILE* text_ = stdout;
};

}  // namespace whilst::command
