#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// Differences of successive points, s, and of F there, y: n entries each, place after place of a ring that holds up to
/// `memory` of them. Which of its places is whose is known on the device only. A direction is a combination of F and of
/// them.
template <class T, int memory>
struct ring_of_pairs {
  index_type n;
  T *S, *Y;
  int depth;  ///< of the places, how many are in use

  ring_of_pairs(index_type n, int depth, workspace& workspace)
      : n(n), S(workspace.take<T>(depth * n)), Y(workspace.take<T>(depth * n)), depth(depth) {}

  /// Of the pair whose age is k, below `depth`, its place, age 0 being that of the pair before `next`; and of a place
  /// the age.
  WHILST_HD int by_age(int next, int k) const {
    const int place = next - 1 - k;
    return place < 0 ? place + depth : place;
  }
  WHILST_HD int after(int place) const { return place + 1 < depth ? place + 1 : 0; }
  /// How many older pairs stay when one comes. Its place may be the oldest one's; and after a step along -F, the others
  /// led nowhere.
  WHILST_HD int kept_beside_new(int pairs, bool steepest) const {
    return steepest ? 0 : pairs < depth ? pairs : depth - 1;
  }

  /// What d is made of, by place.
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
      // Where a place holds no pair, its shares are 0, and what lies there may not be a number.
      if (of_s != 0 || of_y != 0) d += of_s * e.s[k] + of_y * e.y[k];
    }
    return d;
  }
};

}  // namespace whilst
