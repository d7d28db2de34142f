#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// What the steps of deeper_cycle make of products, and of vectors. A row's own entries are read before they are
/// written, so what a row alone reads may be what it writes.

/// y = before + *factor times what is put; null for 0 and for 1.
template <class Y>
struct put_answer {
  Y* y = nullptr;
  const Y* before = nullptr;
  const double* factor = nullptr;

  template <class C>
  WHILST_HD void operator()(index_type i, C value) const {
    const Y answer = factor ? static_cast<Y>(*factor * static_cast<double>(value)) : static_cast<Y>(value);
    y[i] = before ? before[i] + answer : answer;
  }
  index_type bytes(index_type n) const { return (before ? 2 : 1) * n * static_cast<index_type>(sizeof(Y)); }
};
/// t = b - A x
template <class C>
struct put_residual {
  const C* b;
  C* t;
  WHILST_HD void operator()(index_type i, C Ax) const { t[i] = b[i] - Ax; }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(C)); }
};
/// x + w M (b - A x) for a diagonal M.
template <class C, class Put>
struct put_sweep {
  const C *b, *x, *M;
  C weight;
  Put put;
  WHILST_HD void operator()(index_type i, C Ax) const { put(i, x[i] + weight * M[i] * (b[i] - Ax)); }
  index_type bytes(index_type n) const { return put.bytes(n) + 3 * n * static_cast<index_type>(sizeof(C)); }
};
/// x + w M t for an M of blocks, by rows; x is null for 0. V: the numbers of M.
template <class C, class V, class Put>
struct smooth_by_blocks {
  int block;
  const V* M;
  C weight;
  const C *t, *x;
  Put put;

  WHILST_HD void operator()(index_type i) const {
    const index_type first = i / block * block;
    C sum = 0;
    for (int k = 0; k < block; ++k) sum += static_cast<C>(M[i * block + k]) * t[first + k];
    put(i, (x ? x[i] : C(0)) + weight * sum);
  }
  index_type bytes(index_type n) const {
    return put.bytes(n) +
           n * ((x ? 2 : 1) * static_cast<index_type>(sizeof(C)) + block * static_cast<index_type>(sizeof(V)));
  }
};

/// Of a K-cycle's level: see deeper_cycle::solve_by_krylov.
struct krylov_scalars {
  double rho, alpha;           ///< of the first step
  double of_first, of_second;  ///< what the directions are multiplied by in the end
};
/// A c; (u, A c) and (u, b), where u is c, or null for A c.
template <class C>
struct first_direction {
  const C *u, *b;
  C* Ac;
  WHILST_HD auto operator()(index_type i, C value) const {
    Ac[i] = value;
    const double product = static_cast<double>(value), with = u ? static_cast<double>(u[i]) : product;
    return sums{with * product, with * static_cast<double>(b[i])};
  }
  index_type bytes(index_type n) const { return (u ? 3 : 2) * n * static_cast<index_type>(sizeof(C)); }
};
struct choose_first_step {
  krylov_scalars* s;
  WHILST_HD void operator()(const sums<double, 2>& total) const {
    s->rho = total[0];
    s->alpha = total[0] == 0 ? 0 : total[1] / total[0];
  }
};
template <class C>
struct recede {
  const krylov_scalars* s;
  const C* Ac;
  C* b;
  WHILST_HD void operator()(index_type i) const {
    b[i] = static_cast<C>(static_cast<double>(b[i]) - s->alpha * static_cast<double>(Ac[i]));
  }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(C)); }
};
/// (w, A c), (w, A d) and (w, b), where w is d, or null for A d.
template <class C>
struct second_direction {
  const C *w, *b, *Ac;
  WHILST_HD auto operator()(index_type i, C value) const {
    const double product = static_cast<double>(value), with = w ? static_cast<double>(w[i]) : product;
    return sums{with * static_cast<double>(Ac[i]), with * product, with * static_cast<double>(b[i])};
  }
  index_type bytes(index_type n) const { return (w ? 3 : 2) * n * static_cast<index_type>(sizeof(C)); }
};
/// A second direction that the first one holds already, but for rounding, is left out.
struct choose_both_steps {
  krylov_scalars* s;
  double lost_share;
  WHILST_HD void operator()(const sums<double, 3>& total) const {
    const double gamma = s->rho == 0 ? 0 : total[0] / s->rho, delta = total[1] - gamma * total[0];
    s->of_second = fabs(delta) > lost_share * fabs(total[1]) ? total[2] / delta : 0;
    s->of_first = s->alpha - gamma * s->of_second;
  }
};
template <class C>
struct combine_directions {
  const krylov_scalars* s;
  const C* d;
  C* e;
  WHILST_HD void operator()(index_type i) const {
    e[i] = static_cast<C>(s->of_first * static_cast<double>(e[i]) + s->of_second * static_cast<double>(d[i]));
  }
  index_type bytes(index_type n) const { return 3 * n * static_cast<index_type>(sizeof(C)); }
};

}  // namespace whilst::multigrid
