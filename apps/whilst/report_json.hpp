#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "output_file.hpp"
#include "whilst/machine.hpp"
#include "whilst/report.hpp"

namespace whilst::command {

/// Keeps keys in the order in which they were added.
using json = nlohmann::ordered_json;

/// The report of one solve. NaN and infinity become null, for JSON has no such numbers.
json report_json(const report& result);
/// The machine, for `whilst info --json`.
json machine_json(const machine_description& machine);
/// {"iterations": [...], "residual_norms": [...]}.
json history_json(const std::vector<history_record>& history);

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
