#pragma once

#include "solvers/descent.hpp"
#include "whilst/objective.hpp"

namespace whilst {

/// L-BFGS: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35 (1980), the two-loop
/// recursion; on inner products instead of vectors, as W. Chen, Z. Wang, J. Zhou, "Large-scale L-BFGS using MapReduce",
/// NIPS 27 (2014), so that all its sums are one pass over memory, and the direction is another.
///
/// Pairs s, y lie in a ring; which of its places is whose is known on the device only. Of the products of pairs, those
/// with the newest y follow from products with gradients, S'y = S'g - S'g_old, so only these are summed.
template <class T>
struct limited_memory_bfgs {
  static constexpr const char* name = "lbfgs";
  static constexpr int memory = 10;

  struct alignas(16) kept {
    int pairs, next;                ///< how many there are; the place of the one to come
    double scale;                   ///< s'y / y'y of the newest
    double sg[memory], yg[memory];  ///< S'g and Y'g, by place
    double sy[memory][memory];      ///< sy[k][j]: y of place k by the s of place j, the older one, or its own
    double yy[memory][memory];      ///< likewise
    double of_gradient, of_s[memory], of_y[memory];  ///< what d is made of
  };

  /// Of the pair whose age is k its place, age 0 being that of the pair before `next`; and of a place the age.
  WHILST_HD static constexpr int by_age(int next, int k) { return (next + 2 * memory - 1 - k) % memory; }

  descent_vectors<T> v;
  T *S, *Y;  ///< place after place
  kept* pairs;

  limited_memory_bfgs(const descent_vectors<T>& v, descent_state*, const descent_settings*, const objective<T>&,
                      workspace& workspace)
      : v(v), S(workspace.take<T>(memory * v.n)), Y(workspace.take<T>(memory * v.n)), pairs(workspace.take<kept>(1)) {}

  /// S'g, Y'g, then s'y and y'y of the new pair. It is put into its place at once: nobody else reads that.
  static constexpr int products = 2 * memory + 2;
  struct places {
    int pairs, next;
    T x, gradient, s[memory], y[memory];
  };
  WHILST_HD places read_products(index i) const {
    places read{pairs->pairs, pairs->next, v.x[i], v.gradient[i], {}, {}};
    for (int k = 0; k < memory; ++k) {
      read.s[k] = S[k * v.n + i];
      read.y[k] = Y[k * v.n + i];
    }
    return read;
  }
  WHILST_HD sums<double, products> multiply(index i, T gradient, T x, T, const places& old) const {
    sums<double, products> share{};
    const T step = x - old.x, change = gradient - old.gradient;
    const double g = gradient;
    S[old.next * v.n + i] = step;
    Y[old.next * v.n + i] = change;
    for (int k = 0; k < memory; ++k) {
      // What lies in other places may not be a number.
      const bool is_new = k == old.next, is_there = by_age(old.next, k) < old.pairs;
      if (is_new || is_there) share.value[k] = g * (is_new ? step : old.s[k]);
      if (is_new || is_there) share.value[memory + k] = g * (is_new ? change : old.y[k]);
    }
    share.value[2 * memory] = static_cast<double>(step) * change;
    share.value[2 * memory + 1] = static_cast<double>(change) * change;
    return share;
  }
  WHILST_HD const kept* numbers() const { return pairs; }

  /// The two loops, on products. Each thread has the numbers of the pair whose age is its rank, or one thread those of
  /// all pairs.
  template <class Team>
  WHILST_HD proposal choose(const Team& team, const sums<double, products>& of, const accepted_step& step,
                            const kept& p) const {
    kept& to = *pairs;
    if (step.first) {
      if (team.rank() == 0) to.pairs = to.next = 0;
      return {};
    }
    constexpr int size = Team::size(), held = (memory + size - 1) / size;
    const double new_sy = of[2 * memory], new_yy = of[2 * memory + 1];
    constexpr double epsilon = sizeof(T) == 4 ? 1.2e-7 : 2.2e-16;
    const bool curved = new_sy > epsilon * new_yy;
    // The place of the new pair may have been the oldest one's; and after steepest descent, the others led nowhere.
    const int place_of_new = p.next, before = step.steepest ? 0 : p.pairs < memory ? p.pairs : memory - 1;
    const int count = before + curved, next = curved ? (place_of_new + 1) % memory : place_of_new;
    const double scale = curved ? new_sy / new_yy : p.scale;

    int place[held];
    bool is_there[held];
    double sg[held], yg[held], alpha[held], q[held], yq[held], of_s[held], inverse[held], next_one[held];
    double s_new[held], y_new[held];  // products with the y of the new pair
    double s_by[held][memory], y_by[held][memory], y_with[held][memory];
    for (int h = 0; h < held; ++h) {
      const int age = team.rank() + h * size;
      const int k = place[h] = by_age(next, age < memory ? age : 0);
      is_there[h] = age < count;
      sg[h] = yg[h] = alpha[h] = of_s[h] = 0;
      for (int j = 0; j < memory; ++j) {
        if (j == k) sg[h] = of[j];
        if (j == k) yg[h] = of[memory + j];
      }
      const bool is_new = curved && age == 0;
      s_new[h] = is_new ? new_sy : sg[h] - p.sg[k];
      y_new[h] = is_new ? new_yy : yg[h] - p.yg[k];
      inverse[h] = 1 / (is_new ? new_sy : p.sy[k][k]);
      for (int a = 0; a < memory; ++a) {
        const int j = by_age(next, a);
        const bool with_new = curved && a == 0;
        s_by[h][a] = with_new ? s_new[h] : p.sy[j][k];
        y_by[h][a] = with_new ? y_new[h] : p.yy[j][k];
        y_with[h][a] = p.sy[k][j];
      }
      q[h] = sg[h];
      yq[h] = yg[h];
    }
    const auto own = [&](const double(&value)[held], int age) { return team.broadcast(value[age / size], age % size); };
    const auto sum_of_older = [&](const double(&x)[held], const double(&y)[held]) {
      double sum = 0;
      for (int h = 0; h < held; ++h)
        if (is_there[h] && team.rank() + h * size > 0) sum += x[h] * y[h];
      return team.sum(sum);
    };

    for (int a = 0; a < memory; ++a) {  // from the newest on
      if (a >= count) break;
      for (int h = 0; h < held; ++h) next_one[h] = q[h] * inverse[h];
      const double alpha_a = own(next_one, a);
      for (int h = 0; h < held; ++h) {
        if (team.rank() + h * size == a) alpha[h] = alpha_a;
        q[h] -= alpha_a * s_by[h][a];
        if (a == 0 || !curved || team.rank() + h * size > 0) yq[h] -= alpha_a * y_by[h][a];
      }
    }
    if (curved) {  // what the newest y has to do with the others is with them
      const double more = sum_of_older(alpha, y_new);
      if (team.rank() == 0) yq[0] -= more;
    }
    double ys[held] = {};
    for (int a = memory - 1; a >= 0; --a) {  // from the oldest on
      if (a >= count) continue;
      if (a == 0 && curved) {
        const double more = sum_of_older(of_s, s_new);
        if (team.rank() == 0) ys[0] = more;
      }
      for (int h = 0; h < held; ++h) next_one[h] = alpha[h] - inverse[h] * (scale * yq[h] + ys[h]);
      const double of_s_a = own(next_one, a);
      for (int h = 0; h < held; ++h) {
        if (team.rank() + h * size == a) of_s[h] = of_s_a;
        ys[h] += of_s_a * y_with[h][a];
      }
    }

    double slope = 0;
    for (int h = 0; h < held; ++h) {
      const int k = place[h];
      if (team.rank() + h * size >= memory) continue;
      to.sg[k] = sg[h];
      to.yg[k] = yg[h];
      to.of_s[k] = is_there[h] ? -of_s[h] : 0;
      to.of_y[k] = is_there[h] ? scale * alpha[h] : 0;
      if (is_there[h]) slope += scale * alpha[h] * yg[h] - of_s[h] * sg[h];
      if (!curved) continue;
      to.sy[place_of_new][k] = s_new[h];
      to.yy[place_of_new][k] = to.yy[k][place_of_new] = y_new[h];
    }
    slope = team.sum(slope) - scale * step.gradient_norm * step.gradient_norm;
    if (team.rank() == 0) {
      to.pairs = count;
      to.next = next;
      to.scale = scale;
      to.of_gradient = -scale;
    }
    return count > 0 ? proposal{slope, 1} : proposal{};
  }

  struct coefficients {
    T of_gradient, of_s[memory], of_y[memory], s[memory], y[memory];
  };
  WHILST_HD coefficients read_entry(index i) const {
    coefficients read;
    read.of_gradient = static_cast<T>(pairs->of_gradient);
    for (int k = 0; k < memory; ++k) {
      read.of_s[k] = static_cast<T>(pairs->of_s[k]);
      read.of_y[k] = static_cast<T>(pairs->of_y[k]);
      read.s[k] = S[k * v.n + i];
      read.y[k] = Y[k * v.n + i];
    }
    return read;
  }
  WHILST_HD static T entry(T gradient, T, T, const coefficients& c) {
    T d = c.of_gradient * gradient;
    for (int k = 0; k < memory; ++k) {
      // Where a place holds no pair, its shares are 0, and what lies there may not be a number.
      if (c.of_s[k] != 0 || c.of_y[k] != 0) d += c.of_s[k] * c.s[k] + c.of_y[k] * c.y[k];
    }
    return d;
  }
};

}  // namespace whilst
