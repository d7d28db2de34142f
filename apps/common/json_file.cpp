#include "apps/common/json_file.hpp"

#include "whilst/error.hpp"

namespace whilst::command {

json_destination::json_destination(const std::string& path, const std::vector<const output_file*>& beside, bool quiet)
    : file_("--json", path) {
  bool taken = file_.is_standard_output();
  for (const output_file* other : beside) taken = taken || other->is_standard_output();
  if (taken) text_ = stderr;
  if (quiet) text_ = std::fopen("/dev/null", "w");
  if (quiet && text_ == nullptr) throw error("--quiet", "/dev/null does not open", "Leave --quiet out");
}

void json_destination::write(const json& document) const {
  if (!wanted()) return;
  // Paths need not be UTF-8: replace invalid bytes rather than lose the report.
  file_.write(document.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace whilst::command
