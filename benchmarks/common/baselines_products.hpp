#pragma once

/// Products with a matrix by cuSPARSE, as a yardstick. Linked by the benchmarks; no part of the library.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "whilst/csr_matrix.hpp"

namespace whilst {

/// y = A x in one of cuSPARSE's ways.
template <class T>
struct product_baseline {
  std::string name;          ///< "csr-alg1"
  std::string why_not = {};  ///< empty if there is a result
  double seconds = 0;        ///< of one product
  double bytes = 0;          ///< that it reads of the matrix
  std::vector<T> y = {};
};

/// How the caller measures. It gets run(count), which makes so many products, waits for them and returns the seconds of
/// that, and returns those of one product.
using product_stopwatch = std::function<double(const std::function<double(index_type count)>& run)>;

/// As "12.6.3"; empty if this build has no cuSPARSE.
std::string cusparse_version();
/// Why cusparse_products has no results; empty if it has.
std::string why_no_cusparse();

/// Products on the current device: CSR by algorithms 1 and 2, each after its preprocessing; BSR with the blocks of
/// format bsr, by bsrmv and, from cuSPARSE 12.6.3 on, by the generic interface; and SELL, in slices of 32 rows in their
/// own order. Products of a run follow each other on one stream, in one CUDA graph where cuSPARSE can be captured. What
/// cuSPARSE refuses has a reason instead of a result. None if why_no_cusparse() says why.
///
/// A: in host memory; x: host memory, an entry for each column. What fails in a product is told in its why_not.
template <class T>
std::vector<product_baseline<T>> cusparse_products(const csr_matrix<T>& A, std::span<const T> x,
                                                   const product_stopwatch& watch);

}  // namespace whilst
