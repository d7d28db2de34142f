#pragma once

#include "apps/common/json_file.hpp"
#include "whilst/machine.hpp"
#include "whilst/report.hpp"

namespace whilst::command {

/// The report of one solve, without its history.
json report_json(const report& result);
/// The machine, for `whilst info --json`.
json machine_json(const machine_description& machine);

}  // namespace whilst::command
