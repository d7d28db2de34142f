#pragma once

#include "whilst/host_device.hpp"
#include "whilst/index.hpp"
#include "whilst/views.hpp"

namespace whilst {

/// Differences of successive points, s, and of F there, y: n entries each, place after place of a ring that holds up to
/// `memory` of them. Which of its places is whose is known on the device only. A direction is a combination of F and of
/// them.
template <class T, int memory>
struct ring_of_pairs {
  index n;
  T *S, *Y;
  int depth;  ///< of the places, how many are in use

  ring_of_pairs(index n, int depth, workspace& workspace)
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
    T of_residual, of_s[memory], of_y[memory], s[memory], y[memory];
  };
  WHILST_HD entries read_entry(index i, const shares& made) const {
    entries read;
    read.of_residual = static_cast<T>(made.of_residual);
    for (int k = 0; k < memory; ++k) {
      if (k >= depth) continue;
      read.of_s[k] = static_cast<T>(made.of_s[k]);
      read.of_y[k] = static_cast<T>(made.of_y[k]);
      read.s[k] = S[k * n + i];
      read.y[k] = Y[k * n + i];
    }
    return read;
  }
  WHILST_HD T entry(T residual, const entries& e) const {
    T d = e.of_residual * residual;
    for (int k = 0; k < memory; ++k) {
      if (k >= depth) continue;
      // Where a place holds no pair, its shares are 0, and what lies there may not be a number.
      if (e.of_s[k] != 0 || e.of_y[k] != 0) d += e.of_s[k] * e.s[k] + e.of_y[k] * e.y[k];
    }
    return d;
  }
};

}  // namespace whilst
