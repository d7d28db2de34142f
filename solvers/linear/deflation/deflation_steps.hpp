#pragma once

#include <cmath>

#include "solvers/linear/eigenvalues/dense_by_team.hpp"
#include "solvers/linear/vector_block.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::deflating {

/// E = Z'(A Z), row by row, and the squares of A Z's norms: a block an entry.
template <class T>
struct products_of_all {
  static constexpr bool whole_block = true;
  index_type n;
  int count;
  const T *Z, *AZ;
  double *E, *squares_of_AZ;
  static constexpr int threads_wanted() { return 256; }
  template <class Team>
  WHILST_HD void operator()(index_type entry, const Team& team) const {
    const T *const z = Z + entry / count * n, *const Az = AZ + entry % count * n;
    sums<double, 2> share{};
    for (index_type i = team.rank(); i < n; i += team.size()) {
      const double of_Az = static_cast<double>(Az[i]);
      share.value[0] += static_cast<double>(z[i]) * of_Az;
      share.value[1] += of_Az * of_Az;
    }
    share = team.sum(share);
    if (team.rank() != 0) return;
    E[entry] = share[0];
    if (entry / count == entry % count) squares_of_AZ[entry / count] = share[1];
  }
  index_type bytes(index_type) const { return 2 * count * n * static_cast<index_type>(sizeof(T)); }
};

/// About the largest entry of *scale A, whose entries are of about 1 in the mean: their 16-norm, which is above it by
/// less than 4 for any 32-bit number of them.
template <class T>
struct add_sixteenth_powers {
  constant_slot<const T> values;
  const double* scale;
  WHILST_HD auto operator()(index_type k) const {
    double power = *scale * static_cast<double>(values.get()[k]);
    for (int times = 0; times < 4; ++times) power *= power;
    return sums{power};
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
};
struct note_largest {
  double* largest;
  WHILST_HD void operator()(const sums<double, 1>& powers) const { *largest = sqrt(sqrt(sqrt(sqrt(powers[0])))); }
};

/// What is made of a k x k matrix E, in memory of the place.
struct small_matrices {
  int count;
  double *E, *combination, *weights;
  double *row, *column, *unknown_of, *equation_of, *best;  ///< work
  double* largest;                                         ///< entry of *scale A; not used where there are no entries
  plane_rotation* rotations;

  static index_type numbers(int count) { return index_type{2} * count * count + index_type{6} * count + 1; }
  small_matrices(int count, double* memory, plane_rotation* rotations)
      : count(count),
        E(memory),
        combination(E + count * count),
        weights(combination + count * count),
        row(weights + count),
        column(row + count),
        unknown_of(column + count),
        equation_of(unknown_of + count),
        best(equation_of + count),
        largest(best + count),
        rotations(rotations) {}
};

/// What the numbers of A and A Z are known to.
struct rounding {
  double epsilon;
  const double* largest;  ///< entry of *scale A; null where it is about 1
};
/// Up to that, a pivot or an eigenvalue of *scale E is rounding, and counts as lost: of A Z, or of the entries of A
/// that cancel in it. `row` holds the squares of A Z's norms.
WHILST_HD inline double lost_of(const small_matrices& of, const rounding& known, double scale) {
  double largest = 0;
  for (int j = 0; j < of.count; ++j) largest = fmax(largest, of.row[j]);
  return known.epsilon * fmax(known.largest ? *known.largest : 1, fabs(scale) * sqrt(largest));
}

/// Of a symmetric E the eigenvectors, as columns of `combination`, and the inverses of the eigenvalues as weights, 0
/// for those that are lost.
struct take_eigenvectors {
  static constexpr bool whole_block = true;
  small_matrices of;
  rounding known;
  const double* scale;  ///< of E
  static constexpr int threads_wanted() { return 256; }
  template <class Team>
  WHILST_HD void operator()(index_type, const Team& team) const {
    const int k = of.count;
    entries_of_thread(team, k).each(k, k, [&](int i, int j) {
      double &above = of.E[i * k + j], &below = of.E[j * k + i];
      if (i <= j) above = below = *scale * 0.5 * (above + below);
    });
    team.sync();
    diagonalize(team, k, k, of.E, of.combination, of.rotations);
    const double lost = lost_of(of, known, *scale);
    for (int j = static_cast<int>(team.rank()); j < k; j += static_cast<int>(team.size())) {
      const double eigenvalue = of.E[j * k + j];
      of.weights[j] = fabs(eigenvalue) > lost ? 1 / eigenvalue : 0;
    }
  }
};

/// Of any E the transposed inverse as `combination`, by Jordan's exchange of an unknown with an equation, each time at
/// the largest entry left: x_q = (y_p - sum a_pj x_j) / a_pq. Unknowns and equations whose pivots would be lost are
/// left out.
struct take_inverse {
  static constexpr bool whole_block = true;
  small_matrices of;
  rounding known;
  const double* scale;  ///< of E
  static constexpr int threads_wanted() { return 256; }
  template <class Team>
  WHILST_HD void operator()(index_type, const Team& team) const {
    const int k = of.count, rank = static_cast<int>(team.rank()), size = static_cast<int>(team.size());
    const entries_of_thread square(team, k);
    square.each(k, k, [&](int i, int j) { of.E[i * k + j] *= *scale; });
    for (int i = rank; i < k; i += size) of.unknown_of[i] = of.equation_of[i] = none;
    const double lost = lost_of(of, known, *scale);
    for (int turn = 0; turn < k; ++turn) {
      team.sync();
      for (int i = rank; i < k; i += size) of.best[i] = column_of_largest(i);
      team.sync();
      int p = 0, q = 0;
      double pivot = 0;
      for (int i = 0; i < k; ++i) {
        const int j = static_cast<int>(of.best[i]);
        const double entry = j >= 0 ? of.E[i * k + j] : 0;
        if (fabs(entry) > fabs(pivot)) {
          pivot = entry;
          p = i;
          q = j;
        }
      }
      if (!(fabs(pivot) > lost)) break;
      for (int j = rank; j < k; j += size) {
        of.row[j] = of.E[p * k + j] / pivot;
        of.column[j] = of.E[j * k + q];
      }
      team.sync();
      square.each(k, k, [&](int i, int j) {
        double& x = of.E[i * k + j];
        if (i == p) {
          x = j == q ? 1 / pivot : -of.row[j];
        } else {
          x = j == q ? of.column[i] / pivot : x - of.column[i] * of.row[j];
        }
      });
      if (rank == 0) {
        of.unknown_of[p] = q;
        of.equation_of[q] = p;
      }
    }
    team.sync();
    square.each(k, k, [&](int j, int m) {
      const int p = static_cast<int>(of.equation_of[m]), q = static_cast<int>(of.unknown_of[j]);
      of.combination[j * k + m] = p >= 0 && q >= 0 ? of.E[p * k + q] : 0;
    });
  }

 private:
  static constexpr double none = -1;
  /// Of the unknowns that are left, if equation i is.
  WHILST_HD double column_of_largest(int i) const {
    int found = -1;
    double largest = 0;
    for (int j = 0; of.unknown_of[i] < 0 && j < of.count; ++j) {
      const double entry = fabs(of.E[i * of.count + j]);
      if (of.equation_of[j] < 0 && entry > largest) {
        largest = entry;
        found = j;
      }
    }
    return found;
  }
};

/// Row i of *scale times vectors times the combination; null for 1 and for the identity. into may be the vectors.
template <class T>
struct combine_vectors {
  static constexpr int most = 64;
  index_type n;
  int count;
  const T* vectors;
  const double *combination, *scale;
  T* into;
  WHILST_HD void operator()(index_type i) const {
    double row[most];
    const double factor = scale ? *scale : 1;
    for (int j = 0; j < count; ++j) row[j] = factor * static_cast<double>(vectors[j * n + i]);
    for (int m = 0; m < count; ++m) {
      double sum = combination ? 0 : row[m];
      for (int j = 0; combination && j < count; ++j) sum += row[j] * combination[j * count + m];
      into[m * n + i] = static_cast<T>(sum);
    }
  }
  index_type bytes(index_type) const { return 2 * count * n * static_cast<index_type>(sizeof(T)); }
};

/// Some entries of c = E^-1 Z'r, and of what the last step subtracts in Z's span: -Q r, with *unit for the scale of E.
struct note_coordinates {
  int count;
  const double* weights;  ///< null for ones
  const double* unit;     ///< null for 1
  bool absolute;
  double *c, *subtracted;
  WHILST_HD void operator()(const sums<double, products_at_once>& total) const {
    for (int k = 0; k < products_at_once; ++k) {
      if (k >= count) continue;
      const double weight = weights ? weights[k] : 1, in_Q = (unit ? *unit : 1) * weight;
      c[k] = weight * total[k];
      subtracted[k] = -(absolute ? fabs(in_Q) : in_Q) * total[k];
    }
  }
};
/// The same for E^-1 (A Z)'z, by which P' subtracts from z.
struct add_coordinates {
  int count;
  const double* weights;
  double* subtracted;
  WHILST_HD void operator()(const sums<double, products_at_once>& total) const {
    for (int k = 0; k < products_at_once; ++k)
      if (k < count) subtracted[k] += weights[k] * total[k];
  }
};

}  // namespace whilst::deflating
