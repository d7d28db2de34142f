#pragma once

#include <limits>
#include <string>
#include <utility>

#include "kernels/problems/test_problems/cutest_problems.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/derivatives/dual.hpp"
#include "whilst/nonlinear/functions/partially_separable.hpp"

/// What the sources of cutest_problems.hpp share. They are separate files because each problem compiles to several
/// kernels.
namespace whilst::test_functions {

template <class F>
std::vector<double> standard_start(index_type n) {
  std::vector<double> x;
  for (index_type j = 0; j < n; ++j) x.push_back(F::start(j, n));
  return x;
}

template <class F>
std::unique_ptr<objective<double>> make_objective(place where, index_type n) {
  if (n < F::least || n % F::multiple != 0 || n > std::numeric_limits<std::int32_t>::max())
    throw error(
        "making the problem " + std::string(F::name), "it cannot have " + std::to_string(n) + " unknowns",
        "Give " + std::to_string(F::least) + " or more, below 2^31, and a multiple of " + std::to_string(F::multiple));
  auto f = std::make_unique<partially_separable<double>>(where, n);
  F::wire(static_cast<std::int32_t>(n),
          [&](const char* name, const auto& term, const std::vector<std::int32_t>& unknowns) {
            f->add(name, term, unknowns);
          });
  return f;
}

template <class F>
value_and_gradient evaluate_terms_of(const std::vector<double>& x) {
  double value = 0;
  std::vector<double> gradient(x.size());
  const auto add = [&]<class Term>(const char*, const Term& term, const std::vector<std::int32_t>& unknowns) {
    constexpr int K = Term::unknowns;
    using number = dual<double, K>;
    for (std::size_t at = 0; at < unknowns.size(); at += K) {
      number of_term[K];
      for (int k = 0; k < K; ++k) {
        const std::int32_t unknown = unknowns[at + static_cast<std::size_t>(k)];
        of_term[k] = unknown < 0 ? number(0) : number::variable(x[static_cast<std::size_t>(unknown)], k);
      }
      const number result = term(static_cast<index_type>(at / K), static_cast<const number*>(of_term));
      value += result.value;
      for (int k = 0; k < K; ++k)
        if (const std::int32_t unknown = unknowns[at + static_cast<std::size_t>(k)]; unknown >= 0)
          gradient[static_cast<std::size_t>(unknown)] += result.gradient[k];
    }
  };
  F::wire(static_cast<std::int32_t>(x.size()), add);
  return {value, std::move(gradient)};
}

template <class F>
constexpr bool is_unbounded = requires {
  F::is_unbounded;
};

template <class... F>
void describe(problem_list<F...>, std::vector<cutest_problem>& into) {
  (into.push_back({.name = F::name,
                   .least = F::least,
                   .multiple = F::multiple,
                   .is_unbounded = is_unbounded<F>,
                   .minimum = F::minimum,
                   .start = standard_start<F>,
                   .make = make_objective<F>,
                   .evaluate = evaluate_terms_of<F>}),
   ...);
}

}  // namespace whilst::test_functions
