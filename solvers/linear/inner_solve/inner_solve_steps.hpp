#pragma once

#include <cmath>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst::inner_solving {

struct inner_scalars {
  double factor;       ///< of the matrix or operator that the inner method reads
  double unit;         ///< what its solutions are multiplied by, as those of a scaled copy of A
  double to_residual;  ///< a power of two: the inner right-hand side is to_residual r
  double to_z;         ///< unit over it
  int found_nothing;
};

/// Once in a solve.
struct limit_loop {
  index_type iterations;
  const double* factor;        ///< of A, as the outer method has it
  const double* unit_of_copy;  ///< for a copy of A times what this is times *factor; null for A itself
  control* loop;
  inner_scalars* s;
  WHILST_HD void operator()() const {
    loop->settings.limit = iterations;
    s->factor = unit_of_copy ? copysign(1.0, *unit_of_copy) : *factor;
    s->unit = unit_of_copy ? fabs(*unit_of_copy) : 1;
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
    s->to_z = power_of_two(exponent) * s->unit;
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
/// z = d in the units of r.
template <class T, class C>
struct take_solution {
  const inner_scalars* s;
  const C* d;
  T* z;
  WHILST_HD auto operator()(index_type i) const {
    const T found = static_cast<T>(s->to_z * static_cast<double>(d[i]));
    z[i] = found;
    return sums{found != 0 ? 1.0 : 0.0, is_finite(static_cast<double>(found)) ? 0.0 : 1.0};
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(C)); }
};
/// A loop that iterates may find 0 all the same, as gmres where it stagnates.
struct judge_solution {
  inner_scalars* s;
  WHILST_HD void operator()(const sums<double, 2>& entries) const {
    s->found_nothing = !(entries[0] > 0) || entries[1] > 0;
  }
};
template <class T>
struct take_residual {
  const inner_scalars* s;
  const T* r;
  T* z;
  WHILST_HD void operator()(index_type i) const {
    if (s->found_nothing) z[i] = r[i];
  }
};

template <class T>
struct narrow {
  constant_slot<const T> values;
  const double* scale;
  float* narrowed;
  WHILST_HD void operator()(index_type k) const {
    narrowed[k] = static_cast<float>(*scale * static_cast<double>(values.get()[k]));
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(float)); }
};

}  // namespace whilst::inner_solving
