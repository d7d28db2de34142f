#pragma once

#include "kernels/problems/test_functions/blocks.hpp"
#include "kernels/problems/test_problems/parts.hpp"
#include "whilst/nonlinear/functions/partially_separable.hpp"

namespace whilst::test_functions {

template <int least, int most>
made_problem make_dense(place where, std::string_view name, index_type n) {
  made_problem made;
  for_each_test_function([&](const auto& problem, const published_minima&) {
    using Problem = std::decay_t<decltype(problem)>;
    constexpr int K = Problem::unknowns;
    if constexpr (!is_sparse<Problem> && K >= least && K <= most) {
      if (K != n || dashed(problem.name) != name) return;
      const auto [block, unknowns] = residual_blocks(problem);
      auto f = std::make_unique<partially_separable<double>>(where, K);
      f->add(problem.name, squares_of<std::decay_t<decltype(block)>>{block}, unknowns);
      made = std::move(f);
    }
  });
  return made;
}

}  // namespace whilst::test_functions
