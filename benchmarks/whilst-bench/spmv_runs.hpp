#pragma once

#include <string>
#include <vector>

#include "benchmarks/whilst-bench/spmv.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst_bench {

/// Products with one matrix in one format, or a copy.
struct spmv_run {
  std::string name;
  std::string why_not = {};  ///< empty if there is a result
  double seconds = 0;        ///< of one product
  double bytes = 0;          ///< that it moves
  double difference = 0;
};

/// The executor that products run by: host, stream or graph. Throws whilst::error if this machine does not have it.
std::string spmv_executor(const spmv_options& options);

/// The formats asked for, and the copy.
template <class T>
std::vector<spmv_run> run_products(const whilst::csr_matrix<T>& A, const std::vector<std::string>& formats,
                                   const spmv_options& options);

}  // namespace whilst_bench
