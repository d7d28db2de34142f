#pragma once

#include <string>
#include <vector>

#include "apps/common/json_file.hpp"
#include "whilst/report.hpp"

namespace whilst::command {

/// The text of a history file: "iteration,residual_norm" and one line per record.
std::string history_csv(const std::vector<history_record>& history);
/// {"iterations": [...], "residual_norms": [...]}.
json history_json(const std::vector<history_record>& history);

}  // namespace whilst::command
