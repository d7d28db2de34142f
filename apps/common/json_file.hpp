#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/output_file.hpp"

namespace whilst::command {

/// Keeps keys in insertion order. NaN and infinity become null, since JSON has no such numbers.
using json = nlohmann::ordered_json;

/// Where `--json` writes: a file, standard output for "-", or nowhere; and where the human-readable text goes then.
class json_destination {
 public:
  /// beside: the program's other files, which may also be standard output. quiet: suppress the text.
  explicit json_destination(const std::string& path, const std::vector<const output_file*>& beside = {},
                            bool quiet = false);

  bool wanted() const { return file_.wanted(); }
  const output_file& file() const { return file_; }
  /// Where human-readable text goes: standard error if a result takes standard output.
  std::FILE* text() const { return text_; }
  void write(const json& document) const;

 private:
  output_file file_;
  std::FILE* text_ = stdout;
};

}  // namespace whilst::command
