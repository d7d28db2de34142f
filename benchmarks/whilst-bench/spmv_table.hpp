#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/spmv.hpp"
#include "benchmarks/whilst-bench/spmv_results.hpp"

namespace whilst_bench {

/// The first lines, those of a matrix, and what was left out or is wrong.
void print_spmv_head(std::FILE* out, const spmv_options& options, const spmv_results& results);
void print_spmv_entry(std::FILE* out, const spmv_entry& entry);
void print_spmv_summary(std::FILE* out, const spmv_results& results);

/// docs/schemas/whilst-bench-spmv.json describes it.
nlohmann::ordered_json spmv_json(const spmv_options& options, const spmv_results& results);

}  // namespace whilst_bench
