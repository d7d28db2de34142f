#pragma once

// Functions of batches, and the same for a minimizer of its own.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/host/batches.hpp"
#include "whilst/minimizer.hpp"
#include "whilst/minimizer_batch.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

/// Threads a problem: a thread, parts of a warp, a warp, blocks of two and eight warps. On the host they all mean one.
inline std::vector<int> lanes_of(const std::string& executor) {
  return executor == "host" ? std::vector<int>{0} : std::vector<int>{0, 1, 4, 32, 64, 256};
}

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// One term a function, the same for all.
template <class Term>
struct all_alike {
  Term term;
  WHILST_HD Term of_problem(whilst::index_type) const { return term; }
};

/// 100 (y - x^2)^2 + (1 - x)^2.
struct rosenbrock_pair {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    const S a = x[1] - x[0] * x[0], b = 1.0 - x[0];
    return 100.0 * (a * a) + b * b;
  }
};

/// Problem k, by itself and recorded, on the host.
template <class T, class Term>
whilst::minimize_report minimize_alone(const Term& term, whilst::index_type unknowns,
                                       const std::vector<std::int32_t>& unknowns_of_terms, std::vector<T>& x,
                                       const whilst::minimizer_batch_options& options) {
  whilst::partially_separable<T> f(whilst::place::host(), unknowns);
  f.add("terms", term, unknowns_of_terms);
  whilst::minimizer<T> by(f, {.method = options.method,
                              .line_search = options.line_search,
                              .tolerances = options.tolerances,
                              .max_iterations = options.max_iterations,
                              .max_evaluations = options.max_evaluations,
                              .executor = "host"});
  return by.solve(x);
}

/// Places of terms of K neighbours: 0 .. K - 1, and so on by `step`; past the end there are none.
inline std::vector<std::int32_t> neighbours(whilst::index_type n, int K, int step) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < n; i += step)
    for (std::int32_t k = 0; k < K; ++k) all.push_back(i + k < n ? i + k : -1);
  return all;
}

/// Entries [k n, (k + 1) n).
template <class T>
std::vector<T> part(const std::vector<T>& all, whilst::index_type k, whilst::index_type n) {
  return {all.begin() + k * n, all.begin() + (k + 1) * n};
}

}  // namespace whilst_test
