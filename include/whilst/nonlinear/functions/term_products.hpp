#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/derivatives/dual.hpp"

/// @file
/// Products of a term's second derivatives with vectors, for partially_separable. What is kept of a term, its block, is
/// the upper triangle of its Hessian, or, for a term that provides a Jacobian J, J itself: its matrix is then J' J.

namespace whilst::detail {

/// A term 1/2 |r|^2 made from the functor that computes r; its Hessian is the Gauss-Newton matrix J' J.
template <class Residuals>
struct sum_of_residuals {
  static constexpr int unknowns = Residuals::unknowns, residuals = Residuals::residuals;
  static_assert(residuals >= 1, "a block of residuals has one or more");
  Residuals of;

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    S r[residuals];
    of(e, x, static_cast<S*>(r));
    S sum = r[0] * r[0];
    for (int m = 1; m < residuals; ++m) sum += r[m] * r[m];
    return 0.5 * sum;
  }

  /// J, row by row. A few columns at a time, so that values and derivatives do not fill all registers.
  template <class T>
  WHILST_HD void jacobian(index_type e, const T* x, T* J) const {
    constexpr int most = 6, passes = (unknowns + most - 1) / most, width = (unknowns + passes - 1) / passes;
    using number = dual<T, width>;
    for (int first = 0; first < unknowns; first += width) {
      number at[unknowns], r[residuals];
      for (int k = 0; k < unknowns; ++k)
        at[k] = k >= first && k < first + width ? number::variable(x[k], k - first) : number(x[k]);
      of(e, static_cast<const number*>(at), static_cast<number*>(r));
      for (int m = 0; m < residuals; ++m)
        for (int k = 0; k < width && first + k < unknowns; ++k) J[m * unknowns + first + k] = r[m].gradient[k];
    }
  }
  /// The upper triangle of J' J, which is positive semi-definite whether requested or not.
  template <class T>
  WHILST_HD void second_derivatives(index_type e, const T* x, bool, T* upper) const {
    T J[residuals * unknowns];
    jacobian(e, x, static_cast<T*>(J));
    for (int i = 0, at = 0; i < unknowns; ++i)
      for (int j = i; j < unknowns; ++j, ++at) {
        upper[at] = 0;
        for (int m = 0; m < residuals; ++m) upper[at] += J[m * unknowns + i] * J[m * unknowns + j];
      }
  }
};

template <class Term, class T>
concept has_second_derivatives = requires(const Term& term, const T* x, T* upper) {
  term.second_derivatives(index_type{}, x, true, upper);
};
/// Requires that second_derivatives be J' J, too: products and matrix must agree.
template <class Term, class T>
concept has_jacobian = has_second_derivatives<Term, T> && requires(const Term& term, const T* x, T* J) {
  term.jacobian(index_type{}, x, J);
  Term::residuals;
};

/// The number of values in a term's block.
template <class T, class Term>
constexpr int block_size() {
  if constexpr (has_jacobian<Term, T>) {
    return Term::residuals * Term::unknowns;
  } else {
    return Term::unknowns * (Term::unknowns + 1) / 2;
  }
}

/// The blocks of terms as laid out in memory: number k of term e at k * terms + e.
template <class T, class Term>
struct term_blocks {
  static constexpr int K = Term::unknowns;
  index_type terms;
  const std::int32_t* unknowns;  ///< -1: none
  T* blocks;

  struct row {
    T of[K];
  };
  /// The product of term e's matrix with K numbers.
  WHILST_HD row times(index_type e, const T (&v)[K]) const {
    row product{};
    if constexpr (has_jacobian<Term, T>) {
      for (int m = 0; m < Term::residuals; ++m) {
        T J[K], Jv = 0;
        for (int k = 0; k < K; ++k) J[k] = blocks[(m * K + k) * terms + e];
        for (int k = 0; k < K; ++k) Jv += J[k] * v[k];
        for (int k = 0; k < K; ++k) product.of[k] += J[k] * Jv;
      }
    } else {
      for (int i = 0, at = 0; i < K; ++i)
        for (int j = i; j < K; ++j, ++at) {
          const T entry = blocks[at * terms + e];
          product.of[i] += entry * v[j];
          if (i != j) product.of[j] += entry * v[i];
        }
    }
    return product;
  }
};

/// The diagonal entry of each unknown of a term. A term may name an unknown twice.
template <class T, class Term>
struct make_diagonals {
  static constexpr int K = Term::unknowns;
  term_blocks<T, Term> of;
  T* diagonals;
  const int* wanted;

  WHILST_HD void operator()(index_type e) const {
    if (!*wanted) return;
    std::int32_t unknown[K];
    for (int k = 0; k < K; ++k) unknown[k] = of.unknowns[k * of.terms + e];
    T sum[K] = {};
    if constexpr (has_jacobian<Term, T>) {
      for (int m = 0; m < Term::residuals; ++m) {
        T J[K];
        for (int k = 0; k < K; ++k) J[k] = of.blocks[(m * K + k) * of.terms + e];
        for (int i = 0; i < K; ++i)
          for (int j = 0; j < K; ++j)
            if (unknown[i] == unknown[j]) sum[i] += J[i] * J[j];
      }
    } else {
      for (int i = 0, at = 0; i < K; ++i)
        for (int j = i; j < K; ++j, ++at) {
          if (unknown[i] != unknown[j]) continue;
          const T entry = of.blocks[at * of.terms + e];
          sum[i] += entry;
          if (i != j) sum[j] += entry;
        }
    }
    for (int k = 0; k < K; ++k) diagonals[k * of.terms + e] = sum[k];
  }
};

/// The pieces of a product, K per term.
template <class T, class Term>
struct multiply_terms {
  static constexpr bool fetches_constants = true;
  static constexpr int K = Term::unknowns;
  term_blocks<T, Term> of;
  const T* v;
  T* products;

  struct indexes {
    std::int32_t of[K];
  };
  template <class Team>
  WHILST_HD indexes fetch(index_type e, const Team&) const {
    indexes unknown;
    for (int k = 0; k < K; ++k) unknown.of[k] = read_constant(of.unknowns + k * of.terms + e);
    return unknown;
  }
  template <class Team>
  WHILST_HD auto read(index_type e, const Team&, const indexes& unknown) const {
    T at[K];
    for (int k = 0; k < K; ++k) at[k] = unknown.of[k] >= 0 ? v[unknown.of[k]] : T(0);
    return of.times(e, at);
  }
  WHILST_HD void operator()(index_type e, const typename term_blocks<T, Term>::row& product) const {
    for (int k = 0; k < K; ++k) products[k * of.terms + e] = product.of[k];
  }
};

template <class T, class Term>
struct make_jacobians {
  static constexpr int K = Term::unknowns;
  Term term;
  term_blocks<T, Term> to;
  const T* x;
  const int* wanted;

  WHILST_HD void operator()(index_type e) const {
    if (!*wanted) return;
    T at[K], J[block_size<T, Term>()];
    bool is_there[K];
    for (int k = 0; k < K; ++k) {
      const std::int32_t unknown = to.unknowns[k * to.terms + e];
      is_there[k] = unknown >= 0;
      at[k] = is_there[k] ? x[unknown] : T(0);
    }
    term.jacobian(e, static_cast<const T*>(at), static_cast<T*>(J));
    for (int k = 0; k < block_size<T, Term>(); ++k) to.blocks[k * to.terms + e] = is_there[k % K] ? J[k] : T(0);
  }
};

}  // namespace whilst::detail
