#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::ssor {

/// The entries of A beside its diagonal, as a pattern of 2 n rows: row k has those of the k-th row in the order of
/// colours that lie in columns of earlier colours, row n + k those in columns of later ones.
struct halves_of_rows {
  multigrid::pattern_view A;
  const std::int32_t *rows, *colour;

  template <class Use>
  WHILST_HD void each(index_type k, const Use& use) const {
    const bool is_earlier = k < A.rows;
    const std::int32_t i = rows[is_earlier ? k : k - A.rows], own = colour[i];
    for (std::int32_t e = A.offsets[i]; e < A.offsets[i + 1]; ++e) {
      const std::int32_t other = colour[A.indices[e]];
      if (is_earlier ? other < own : other > own) use(e);
    }
  }
};
struct count_entries {
  halves_of_rows of;
  std::int32_t* counts;
  WHILST_HD void operator()(index_type k) const {
    std::int32_t count = 0;
    of.each(k, [&](std::int32_t) { ++count; });
    counts[k] = count;
  }
};
/// Their columns, and which entries of A they are.
struct put_entries {
  halves_of_rows of;
  const std::int32_t* offsets;
  std::int32_t *columns, *sources;
  WHILST_HD void operator()(index_type k) const {
    std::int32_t at = offsets[k];
    of.each(k, [&](std::int32_t e) {
      columns[at] = of.A.indices[e];
      sources[at++] = e;
    });
  }
};

/// *factor A, where a sweep reads it.
template <class T>
struct copy_values {
  constant_slot<const T> values;
  const double* factor;
  const std::int32_t* sources;
  T* copied;
  WHILST_HD void operator()(index_type at) const {
    copied[at] = static_cast<T>(*factor * static_cast<double>(values.get()[sources[at]]));
  }
  index_type bytes(index_type n) const {
    return n * (2 * static_cast<index_type>(sizeof(T)) + static_cast<index_type>(sizeof(std::int32_t)));
  }
};
/// The inverse of the diagonal of *factor A, or of its sizes, in the order of colours; 1 where it is 0.
template <class T>
struct invert_diagonal_by_colours {
  multigrid::pattern_view A;
  constant_slot<const T> values;
  const double* factor;
  bool absolute;
  const std::int32_t* rows;
  T* inverse;
  WHILST_HD void operator()(index_type k) const {
    const std::int32_t i = rows[k];
    double d = 0;
    for (std::int32_t e = A.offsets[i]; e < A.offsets[i + 1]; ++e)
      if (A.indices[e] == i) d += static_cast<double>(values.get()[e]);
    d *= *factor;
    inverse[k] = static_cast<T>(d == 0 ? 1 : 1 / (absolute ? fabs(d) : d));
  }
};

/// What becomes of the sum over one half of a colour's row: z_i = (1 - omega) z_i + omega (r_i - sums of both halves) /
/// a_ii. The sum over the other half is that of the visit before, since no row of that half has changed since: V.
/// Conrad, Y. Wallach, "A faster SSOR algorithm", Numer. Math. 27 (1977) 371-372.
///
/// Arrays begin with the colour's first row, but for r and z.
template <class T>
struct relax_row {
  const std::int32_t* rows;
  const T *inverse_diagonal, *r;
  T* z;
  T* other_half;       ///< null where a row of this colour has one half alone
  bool reads, writes;  ///< the other half: not in the first visit, and not in the last
  bool from_zero;      ///< z has not been set
  int times;           ///< 2 where a sweep turns, so that the same colour comes twice
  T omega;

  WHILST_HD void operator()(index_type k, T sum) const {
    const std::int32_t i = rows[k];
    const T both = other_half && reads ? sum + other_half[k] : sum;
    if (other_half && writes) other_half[k] = sum;
    const T kept = 1 - omega, change = omega * inverse_diagonal[k] * (r[i] - both);
    T value = from_zero || kept == 0 ? T(0) : z[i];
    for (int j = 0; j < times; ++j) value = kept * value + change;
    z[i] = value;
  }
  index_type bytes(index_type n) const {
    const int vectors = 3 + (other_half && reads) + (other_half && writes) + !(from_zero || omega == 1);
    return n * (vectors * static_cast<index_type>(sizeof(T)) + static_cast<index_type>(sizeof(std::int32_t)));
  }
};

}  // namespace whilst::ssor
