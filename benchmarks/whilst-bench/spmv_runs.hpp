#pragma once

#include <string>
#include <vector>

#include "benchmarks/whilst-bench/spmv.hpp"
#include "benchmarks/whilst-bench/spmv_results.hpp"

namespace whilst_bench {

/// The executor that products run by: host, stream or graph. Throws whilst::error if this machine does not have it.
std::string spmv_executor(const spmv_options& options);

/// Adds what "auto" takes, products in each of the formats, those of cuSPARSE on a GPU, and the copy. A: in host
/// memory.
template <class T>
void run_products(const whilst::csr_matrix<T>& A, const std::vector<std::string>& formats, const spmv_options& options,
                  spmv_entry& into);

}  // namespace whilst_bench
