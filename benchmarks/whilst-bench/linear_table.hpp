#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "benchmarks/whilst-bench/linear_results.hpp"

namespace whilst_bench {

/// The table's first lines and, as they come, its rows: one for each system and preconditioner.
void print_linear_head(std::FILE* out, const linear_options& options, const linear_results& results);
void print_linear_rows(std::FILE* out, const linear_results& results, const linear_entry& entry);
/// What each contender solved, why it failed elsewhere, and what it claimed falsely.
void print_linear_summary(std::FILE* out, const linear_options& options, const linear_results& results);

/// docs/schemas/whilst-bench-linear.json describes it.
nlohmann::ordered_json linear_json(const linear_options& options, const linear_results& results);

/// Performance profiles by time, iterations and products with A.
std::string linear_profile(const linear_options& options, const linear_results& results);

}  // namespace whilst_bench
