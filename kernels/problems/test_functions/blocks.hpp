#pragma once

#include <cstdint>
#include <vector>

#include "kernels/problems/test_functions/problem.hpp"

/// The problems' residuals as blocks: assembled_equations adds them up, partially_separable their squares.
namespace whilst::test_functions {

/// Residual i of a problem_of_size: a block reads all unknowns.
template <class Problem>
struct residual_of_all {
  static constexpr int unknowns = Problem::unknowns, equations = 1;
  Problem problem;
  template <class S>
  WHILST_HD void operator()(index_type i, const S* x, S* r) const {
    r[0] = problem(i, x);
  }
};

/// Residual i of a sparse problem: a block reads F::width unknowns, given by unknown_of.
template <class F>
struct residual_of_few {
  static constexpr int unknowns = F::width, equations = 1;
  F problem;

  template <class S>
  struct view {
    const F& problem;
    index_type i;
    const S* x;
    WHILST_HD const S& operator[](index_type j) const {
      if constexpr (requires { problem.first(i); }) {
        return x[j - problem.first(i)];
      } else {
        return x[problem.position(i, j)];
      }
    }
  };
  template <class S>
  WHILST_HD void operator()(index_type i, const S* x, S* r) const {
    r[0] = problem.residual(i, view<S>{problem, i, x});
  }
};

/// The k-th unknown that residual i of a sparse problem reads; -1: there is none.
template <class F>
index_type unknown_of(const F& f, index_type i, int k) {
  if constexpr (requires { f.first(i); }) {
    const index_type j = f.first(i) + k;
    return j >= 0 && j < f.n ? j : -1;
  } else {
    return f.neighbour(i, k);
  }
}

/// One block per residual.
template <class Block>
struct wired_blocks {
  Block block;
  std::vector<std::int32_t> unknowns;  ///< Block::unknowns for each block
};
template <class F, int N>
wired_blocks<residual_of_all<problem_of_size<F, N>>> residual_blocks(const problem_of_size<F, N>& problem) {
  std::vector<std::int32_t> unknowns;
  for (index_type i = 0; i < problem.count(); ++i)
    for (int k = 0; k < N; ++k) unknowns.push_back(k);
  return {{problem}, std::move(unknowns)};
}
template <class F>
wired_blocks<residual_of_few<F>> residual_blocks(const F& problem) {
  std::vector<std::int32_t> unknowns;
  unknowns.reserve(static_cast<std::size_t>(problem.count() * F::width));
  for (index_type i = 0; i < problem.count(); ++i)
    for (int k = 0; k < F::width; ++k) unknowns.push_back(static_cast<std::int32_t>(unknown_of(problem, i, k)));
  return {{problem}, std::move(unknowns)};
}

/// A block's outputs, squared and added up.
template <class Block>
struct squares_of {
  static constexpr int unknowns = Block::unknowns;
  Block block;
  template <class S>
  WHILST_HD S operator()(index_type i, const S* x) const {
    S r[Block::equations];
    block(i, x, static_cast<S*>(r));
    S sum = r[0] * r[0];
    for (int m = 1; m < Block::equations; ++m) sum += r[m] * r[m];
    return sum;
  }
};

}  // namespace whilst::test_functions
