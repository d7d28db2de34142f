#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/whilst-bench/linear_cases.hpp"

namespace whilst_bench {

/// Products with one matrix in one way.
struct spmv_run {
  std::string library, format;  ///< "whilst" and "bsr", or "cusparse" and "csr-alg2"
  std::string why_not = {};     ///< empty if there is a result
  double seconds = NAN;         ///< of one product
  double bytes = NAN;           ///< that one reads and writes; x counted once
  double error = NAN;           ///< of y, by true_product::error_of

  bool is_measured() const { return why_not.empty(); }
  bool is_right() const { return error <= 1; }
  std::string label() const { return library == "whilst" ? format : library + " " + format; }
};

struct spmv_entry {
  linear_case from;
  whilst::index_type rows = 0, columns = 0, nonzeros = 0;
  whilst::index_type longest_row = 0;
  /// What format auto takes, and why.
  std::string automatic = {}, why_automatic = {};
  /// A copy that moves as many bytes as csr.
  double copy_seconds = NAN, copy_bytes = NAN;
  std::vector<spmv_run> runs = {};

  /// The right product of a library that takes the least time; null if there is none.
  const spmv_run* fastest(const std::string& library) const {
    const spmv_run* best = nullptr;
    for (const spmv_run& one : runs)
      if (one.library == library && one.is_measured() && one.is_right() && (!best || one.seconds < best->seconds))
        best = &one;
    return best;
  }
  /// A run's time over that of cuSPARSE's fastest; NaN without either.
  double relative_to_cusparse(const spmv_run& run) const {
    const spmv_run* const best = fastest("cusparse");
    return best && run.is_measured() ? run.seconds / best->seconds : NAN;
  }
};

struct spmv_results {
  std::string executor;                           ///< host, stream or graph
  std::string cusparse_version, why_no_cusparse;  ///< one of them is empty
  std::vector<spmv_entry> entries = {};
  std::vector<left_out_file> left_out = {};

  int measured() const;
  int wrong() const;  ///< products that are not right
};

}  // namespace whilst_bench
