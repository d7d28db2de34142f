#include "apps/common/json_file.hpp"

namespace whilst::command {

json_destination::json_destination(const std::string& path) {
  if (path == "-") {
    to_standard_output_ = true;
  } else {
    file_ = output_file("--json", path);
  }
}

void json_destination::write(const json& document) const {
  if (!wanted()) return;
  // Paths need not be UTF-8: what is not is replaced, rather than the report lost.
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (to_standard_output_) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    file_.write(text);
  }
}

}  // namespace whilst::command
