#pragma once

#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/problems/test_functions/blocks.hpp"
#include "kernels/problems/test_functions/systems.hpp"
#include "kernels/problems/test_problems/parts.hpp"
#include "whilst/nonlinear/functions/assembled_equations.hpp"

namespace whilst::test_functions {

/// The problem with n unknowns.
template <class F>
F at_size(const F& problem, index_type n) {
  if constexpr (is_sparse<F>) {
    return F{n};
  } else {
    return problem;
  }
}

template <class T, bool sparse>
made_system<T> make_system(place where, std::string_view name, index_type n) {
  made_system<T> made;
  for_each_test_system([&]<class F>(const F& usual, const known_root&) {
    if constexpr (is_sparse<F> == sparse) {
      if (dashed(usual.name) != name) return;
      const auto [block, unknowns] = residual_blocks(at_size(usual, n));
      std::vector<std::int32_t> own(static_cast<std::size_t>(n));
      std::iota(own.begin(), own.end(), 0);
      auto F_of_x = std::make_unique<assembled_equations<T>>(where, n);
      F_of_x->add(usual.name, block, unknowns, own);
      made = std::move(F_of_x);
    }
  });
  return made;
}

}  // namespace whilst::test_functions
