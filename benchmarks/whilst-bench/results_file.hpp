#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace whilst_bench {

/// A suite's results: `head`, their origin (version, commit, date, and the machine's processor and device), and
/// `entries` under the name `list`.
nlohmann::ordered_json results_document(nlohmann::ordered_json head, std::string_view list,
                                        const nlohmann::ordered_json& entries);

/// Writes such a document to standard output for "-", nowhere for "". Throws whilst::error if the file cannot be
/// written.
void write_results(const std::string& path, nlohmann::ordered_json head, std::string_view list,
                   const nlohmann::ordered_json& entries);

}  // namespace whilst_bench
