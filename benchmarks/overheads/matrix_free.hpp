#pragma once

#include "benchmarks/overheads/linear_runs.hpp"

namespace overheads {

/// Times a method on the same matrix without a matrix in memory: "cg" or "pipelined-cg".
timing time_matrix_free(problem& given, const std::string& method, index_type side, const way& how, run_lengths lengths,
                        double budget);

}  // namespace overheads
