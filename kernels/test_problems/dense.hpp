#pragma once

#include <cstdint>
#include <vector>

#include "kernels/test_problems/parts.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst::test_functions {

/// A term of a dense problem: a residual squared, of all unknowns.
template <class Problem>
struct squared_residual {
  static constexpr int unknowns = Problem::unknowns;
  Problem problem;
  template <class S>
  WHILST_HD S operator()(index i, const S* x) const {
    const S r = problem(i, x);
    return r * r;
  }
};

template <int least, int most>
made_problem make_dense(place where, std::string_view name, index n) {
  made_problem made;
  for_each_test_function([&](const auto& problem, const published_minima&) {
    using Problem = std::decay_t<decltype(problem)>;
    constexpr int K = Problem::unknowns;
    if constexpr (!is_sparse<Problem> && K >= least && K <= most) {
      if (K != n || dashed(problem.name) != name) return;
      std::vector<std::int32_t> all;
      for (index i = 0; i < problem.count(); ++i)
        for (int k = 0; k < K; ++k) all.push_back(k);
      auto f = std::make_unique<partially_separable<double>>(where, K);
      f->add(problem.name, squared_residual<Problem>{problem}, all);
      made = std::move(f);
    }
  });
  return made;
}

}  // namespace whilst::test_functions
