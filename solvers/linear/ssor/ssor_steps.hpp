#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::ssor {

/// A pattern of 3 n rows holds the entries of A by parts of their rows: rows k, n + k and 2 n + k are those of the k-th
/// row in the order of colours that lie in columns of earlier colours, in columns of later ones, and on the diagonal.
enum part { of_earlier, of_later, of_diagonal };

/// The row of entry e.
WHILST_HD inline std::int32_t row_of_entry(const multigrid::pattern_view& A, index_type e) {
  index_type begin = 0, end = A.rows;  // offsets[begin] <= e < offsets[end]
  while (end - begin > 1) {
    const index_type middle = begin + (end - begin) / 2;
    (A.offsets[middle] <= e ? begin : end) = middle;
  }
  return static_cast<std::int32_t>(begin);
}

struct put_positions {
  const std::int32_t* rows;
  std::int32_t* position;
  WHILST_HD void operator()(index_type k) const { position[rows[k]] = static_cast<std::int32_t>(k); }
};
/// The row of that pattern in which each entry lies, as a matrix with one entry a row, whose transpose it then is: so
/// no thread goes through a row, however long.
struct choose_parts {
  multigrid::pattern_view A;
  const std::int32_t *colour, *position;
  std::int32_t *numbers, *row_of_parts;
  WHILST_HD void operator()(index_type e) const {
    numbers[e] = static_cast<std::int32_t>(e);
    if (e == A.nonzeros) return;
    const std::int32_t i = row_of_entry(A, e), j = A.indices[e];
    const part lies = j == i ? of_diagonal : colour[j] < colour[i] ? of_earlier : of_later;
    row_of_parts[e] = static_cast<std::int32_t>(lies * A.rows + position[i]);
  }
};
struct copy_offsets {
  const std::int32_t* from;
  std::int32_t* to;
  WHILST_HD void operator()(index_type k) const { to[k] = from[k]; }
};
/// Of the entries by parts, which entries of A they are, and of those beside the diagonal their columns.
struct put_sources {
  const std::int32_t *from, *indices;
  std::int32_t beside_diagonal;
  std::int32_t *sources, *columns;
  WHILST_HD void operator()(index_type at) const {
    sources[at] = from[at];
    if (at < beside_diagonal) columns[at] = indices[from[at]];
  }
};

/// The inverse of the diagonal of *factor A in the order of colours; 1 where it is 0. is_negative, by rows of A, for
/// methods that need a definite M: takes the diagonal's signs, and the inverse is that of its sizes; else null.
template <class T>
struct invert_diagonal_by_colours {
  constant_slot<const T> values;
  const double* factor;
  const std::int32_t *begins, *sources;  ///< the diagonal's entries, which may be in parts
  const std::int32_t* rows;
  T* inverse;
  bool* is_negative;
  WHILST_HD void operator()(index_type k) const {
    double d = 0;
    for (std::int32_t at = begins[k]; at < begins[k + 1]; ++at) d += static_cast<double>(values.get()[sources[at]]);
    d *= *factor;
    inverse[k] = static_cast<T>(d == 0 ? 1 : 1 / (is_negative ? fabs(d) : d));
    if (is_negative) is_negative[rows[k]] = d < 0;
  }
};
/// *factor A, where a sweep reads it. Entries change their sign where the diagonals of row and column are negative, so
/// that -A has the M of A.
template <class T>
struct copy_values {
  constant_slot<const T> values;
  const double* factor;
  const std::int32_t *sources, *columns;
  T* copied;
  multigrid::pattern_view A;
  const bool* is_negative;
  WHILST_HD void operator()(index_type at) const {
    const std::int32_t e = sources[at];
    const double a = *factor * static_cast<double>(values.get()[e]);
    const bool turns = is_negative && is_negative[columns[at]] && is_negative[row_of_entry(A, e)];
    copied[at] = static_cast<T>(turns ? -a : a);
  }
  index_type bytes(index_type n) const {
    const int indices = is_negative ? 2 : 1;
    return n * (2 * static_cast<index_type>(sizeof(T)) + indices * static_cast<index_type>(sizeof(std::int32_t)));
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
