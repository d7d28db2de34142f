#pragma once

#include <cstdio>

#include "apps/common/json_file.hpp"
#include "elastic.hpp"

namespace whilst::elastic {

/// What is simulated, and what runs it.
void print_problem(std::FILE* out, const elastic_options& options, const scene& start, const simulation& run);
void print_table_head(std::FILE* out);
/// step: counted from 1.
void print_step(std::FILE* out, const step_record& record, index_type step, double step_size);
void print_summary(std::FILE* out, const elastic_result& result);
void print_comparison(std::FILE* out, const elastic_options& options, const elastic_result& result);
/// The report that --json writes.
command::json result_json(const elastic_options& options, const elastic_result& result);

}  // namespace whilst::elastic
