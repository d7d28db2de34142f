#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// Differences of successive points, s, and of F there, y: n entries each, stored by place in a ring that holds up to
/// `memory` of them. Only the device knows which place holds which pair. A direction is a combination of F and the
/// pairs.
template <class T, int memory>
struct ring_of_pairs {
  index_type n;
  T *S, *Y;
  int depth;  ///< the number of places in use

  ring_of_pairs(index_type n, int depth, workspace& workspace)
      : n(n), S(workspace.take<T>(depth * n)), Y(workspace.take<T>(depth * n)), depth(depth) {}

  /// The place of the pair of age k, below `depth`, where age 0 is the pair before `next`; and the age of a place.
  WHILST_HD int by_age(int next, int k) const {
    const int place = next - 1 - k;
    return place < 0 ? place + depth : place;
  }
  WHILST_HD int after(int place) const { return place + 1 < depth ? place + 1 : 0; }
  /// How many older pairs stay when a new one arrives. It may take the oldest one's place; and after a step along -F
  /// the others are discarded.
  WHILST_HD int kept_beside_new(int pairs, bool steepest) const {
    return steepest ? 0 : pairs < depth ? pairs : depth - 1;
  }

  /// The coefficients of d, by place.
  struct shares {
    double of_residual, of_s[memory], of_y[memory];
  };
  struct entries {
    T s[memory], y[memory];
  };
  WHILST_HD entries read_entry(index_type i) const {
    entries read;
    for (int k = 0; k < memory; ++k) {
      if (k >= depth) continue;
      read.s[k] = S[k * n + i];
      read.y[k] = Y[k * n + i];
    }
    return read;
  }
  WHILST_HD T entry(T residual, const entries& e, const shares& made) const {
    T d = static_cast<T>(made.of_residual) * residual;
    for (int k = 0; k < memory; ++k) {
      if (k >= depth) continue;
      const T of_s = static_cast<T>(made.of_s[k]), of_y = static_cast<T>(made.of_y[k]);
      // If a place holds no pair, its coefficients are 0, and its stale data may be NaN.
      if (of_s != 0 || of_y != 0) d += of_s * e.s[k] + of_y * e.y[k];
    }
    return d;
  }
};

}  // namespace whilst
