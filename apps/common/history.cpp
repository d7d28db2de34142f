#include "apps/common/history.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace whilst::command {

std::string history_csv(const std::vector<history_record>& history) {
  std::string text = "iteration,residual_norm\n";
  for (const auto& record : history) {
    fmt::format_to(std::back_inserter(text), "{},{}\n", record.iteration, record.residual_norm);
  }
  return text;
}

json history_json(const std::vector<history_record>& history) {
  json iterations = json::array(), norms = json::array();
  for (const auto& record : history) {
    iterations.push_back(record.iteration);
    norms.push_back(record.residual_norm);
  }
  return {{"iterations", std::move(iterations)}, {"residual_norms", std::move(norms)}};
}

}  // namespace whilst::command
