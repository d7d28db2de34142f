#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/problems/test_functions/cutest.hpp"
#include "tests/catch.hpp"
#include "whilst/derivative_check.hpp"

namespace problems = whilst::test_functions;

TEST_CASE("CUTEst's problems: derivatives of the terms, second ones included") {
  problems::for_each_cutest_problem([]<class F>(const F&) {
    const auto n = static_cast<std::int32_t>(std::max<whilst::index_type>(F::least, 12));
    F::wire(n, [&]<class Term>(const char* name, const Term& term, const std::vector<std::int32_t>& unknowns) {
      constexpr int K = Term::unknowns;
      const std::size_t terms = unknowns.size() / K;
      for (const std::size_t e : {std::size_t(0), terms / 2, terms - 1}) {
        std::array<double, K> at{};
        for (std::size_t k = 0; k < K; ++k) {
          const std::int32_t j = unknowns[e * K + k];
          if (j < 0) continue;
          // Off the start, where some derivatives vanish.
          const double entry = F::start(j, n);
          at[k] = entry + 0.01 * (1 + j) * (entry == 0 ? 1 : entry);
        }
        const auto check = whilst::check_derivatives<K>(
            [&](const auto* x) { return term(static_cast<whilst::index_type>(e), x); }, at.data());
        INFO(F::name << ", " << name << " " << e << ": " << check.message);
        CHECK(check.agrees);
      }
    });
  });
}
