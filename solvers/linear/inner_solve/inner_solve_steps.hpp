#pragma once

#include <cmath>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst::inner_solving {

struct inner_scalars {
  double factor;       ///< of A, as the outer method has it
  double to_residual;  ///< a power of two: the inner right-hand side is to_residual r
  double to_z;         ///< its inverse
};

/// Once in a solve.
struct limit_loop {
  index_type iterations;
  const double* factor;
  control* loop;
  inner_scalars* s;
  WHILST_HD void operator()() const {
    loop->settings.limit = iterations;
    s->factor = *factor;
  }
};

template <class T>
struct size_of_residual {
  const T* r;
  WHILST_HD auto operator()(index_type i) const {
    const squares rr = squares_of(static_cast<double>(r[i]));
    return sums{rr.ordinary, rr.great, rr.small};
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
};
/// The inner loop's scale, and what it compares norms with: those of r, as linear_solve has it.
struct begin_within {
  double rtol;
  control* loop;
  inner_scalars* s;
  WHILST_HD void operator()(const sums<double, 3>& rr) const {
    const double norm = norm_of({rr[0], rr[1], rr[2]});
    const int exponent = norm > 0 && is_finite(norm) ? binary_exponent(norm) : 0;
    s->to_residual = power_of_two(-exponent);
    s->to_z = power_of_two(exponent);
    loop->norm_exponent = exponent;
    loop->residual_norm = norm;
    loop->rtol_norm = rtol * norm;
    loop->atol_norm = 0;
    loop->divergence_norm = HUGE_VAL;
  }
};
template <class T, class C>
struct scale_residual {
  const inner_scalars* s;
  const T* r;
  C *scaled, *d;
  WHILST_HD void operator()(index_type i) const {
    scaled[i] = static_cast<C>(s->to_residual * static_cast<double>(r[i]));
    d[i] = 0;
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + 2 * sizeof(C)); }
};
/// z = d in the units of r; r itself where the loop has found nothing, or no number.
template <class T, class C>
struct take_solution {
  const inner_scalars* s;
  const control* loop;
  const T* r;
  const C* d;
  T* z;
  WHILST_HD void operator()(index_type i) const {
    const double found = s->to_z * static_cast<double>(d[i]);
    z[i] = loop->iteration > 0 && is_finite(static_cast<double>(static_cast<T>(found))) ? static_cast<T>(found) : r[i];
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(2 * sizeof(T) + sizeof(C)); }
};

template <class T>
struct narrow {
  constant_slot<const T> values;
  float* narrowed;
  WHILST_HD void operator()(index_type k) const { narrowed[k] = static_cast<float>(values.get()[k]); }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(float)); }
};

}  // namespace whilst::inner_solving
