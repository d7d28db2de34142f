#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "whilst/basics/error.hpp"
#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/derivatives/dual.hpp"

/// The building blocks of the problems of kernels/problems/test_functions/test_functions.hpp, and helpers for them.
namespace whilst::test_functions {

/// The number type of x[j].
template <class X>
using scalar_of = std::remove_cv_t<std::remove_reference_t<decltype(std::declval<const X&>()[index_type{}])>>;

/// K consecutive unknowns as dual variables: reads x[j] with derivative 1 in direction j - first. x is not owned.
template <class T, int K>
struct window {
  const T* x;
  index_type first;
  WHILST_HD dual<T, K> operator[](index_type j) const {
    return dual<T, K>::variable(x[j], static_cast<int>(j - first));
  }
};

/// Base of the problems whose sizes the paper fixes.
template <int N, int M>
struct fixed_size {
  static constexpr index_type n = N;
  WHILST_HD static constexpr index_type count() { return M; }
};

/// f(x), summing residuals in order. x as in residual.
template <class F, class X>
WHILST_HD scalar_of<X> sum_of_squares(const F& f, const X& x) {
  scalar_of<X> sum = 0;
  for (index_type i = 0; i < f.count(); ++i) {
    const scalar_of<X> r = f.residual(i, x);
    sum += r * r;
  }
  return sum;
}

/// A problem whose number of unknowns is known at compile time, as small dense least squares needs.
template <class F, int N>
struct problem_of_size : F {
  static constexpr int unknowns = N;
  template <class S>
  WHILST_HD S operator()(index_type i, const S* x) const {
    return F::residual(i, x);
  }
};

/// Throws whilst::error if N is not the function's n.
template <int N, class F>
problem_of_size<F, N> of_size(const F& f) {
  if (f.n != N)
    throw error(std::string("making the problem ") + F::name,
                "it has " + std::to_string(f.n) + " unknowns, not " + std::to_string(N),
                "Set its n to the same number");
  return {f};
}

}  // namespace whilst::test_functions
