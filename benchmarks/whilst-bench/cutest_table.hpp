#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "benchmarks/whilst-bench/cutest_results.hpp"

namespace whilst_bench {

/// The table's first lines and, as they come, its rows: one for each problem and number of unknowns.
void print_cutest_head(std::FILE* out, const cutest_options& options, const cutest_results& results);
void print_cutest_row(std::FILE* out, const cutest_results& results, const cutest_entry& entry);
/// What each method solved, why it failed elsewhere, which minima it found, and what it claimed falsely.
void print_cutest_summary(std::FILE* out, const cutest_options& options, const cutest_results& results);

/// docs/schemas/whilst-bench-cutest.json describes it.
nlohmann::ordered_json cutest_json(const cutest_options& options, const cutest_results& results);

/// Performance profiles by time, iterations and evaluations.
std::string cutest_profile(const cutest_options& options, const cutest_results& results);

}  // namespace whilst_bench
