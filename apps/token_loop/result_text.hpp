#pragma once

#include <cstdio>

#include "apps/common/json_file.hpp"
#include "token_loop.hpp"

namespace whilst::token_loop {

void print_problem(std::FILE* out, const token_loop_options& options, const token_loop_result& result);
/// The table of all ways, and their output.
void print_ways(std::FILE* out, const token_loop_options& options, const token_loop_result& result);
command::json result_json(const token_loop_options& options, const token_loop_result& result);

}  // namespace whilst::token_loop
