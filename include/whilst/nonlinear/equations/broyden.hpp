#pragma once

#include "whilst/dense/small_elimination.hpp"
#include "whilst/nonlinear/equations/judge_residual.hpp"
#include "whilst/nonlinear/equations/posed_equations.hpp"
#include "whilst/nonlinear/equations/ring_of_pairs.hpp"

namespace whilst {

/// Broyden's good method with limited memory: C. G. Broyden, "A class of methods for solving nonlinear simultaneous
/// equations", Math. Comp. 19 (1965); in the compact form of R. H. Byrd, J. Nocedal, R. B. Schnabel, "Representations
/// of quasi-Newton matrices and their use in limited memory methods", Math. Programming 63 (1994), theorem 6.1. With
/// the initial matrix I / gamma, the Sherman-Morrison-Woodbury formula gives the inverse
///
///   B^-1 = gamma I - (gamma Y - S) M^-1 gamma S',   M = gamma S'Y - (S'S below its diagonal),
///
/// so it needs only one pass over memory for S'F and the products with the newest pair, and a system of one equation
/// per pair. Elimination, oldest pair first, has the updates' denominators as pivots; a pair whose denominator nearly
/// vanishes is dropped.
template <class T>
struct broyden {
  static constexpr const char* name = "broyden";
  static constexpr int memory = 8;
  using trial_judge = judge_residual<residual_rule::hardly_raise>;

  struct alignas(16) kept {
    int pairs, next;  ///< how many there are; the place of the next one
    double scale;     ///< gamma
    double sf[memory];
    double sy[memory][memory];  ///< sy[i][j] = s_i' y_j, by place
    double ss[memory][memory];  ///< ss[i][j] = s_i' s_j if j is no newer than i
  };
  using ring_type = ring_of_pairs<T, memory>;
  using handed = typename ring_type::shares;

  descent_vectors<T> v;
  ring_type ring;
  kept* pairs;

  broyden(const descent_vectors<T>& v, descent_state*, const descent_settings*, const posed_equations<T>&,
          workspace& workspace)
      : v(v), ring(v.n, memory, workspace), pairs(workspace.take<kept>(1)) {}

  /// S'F, and S's and Y's with the new s (its own pair included, in its place), and y'y of the new pair.
  static constexpr int products = 3 * memory + 1;
  struct places {
    int pairs, next;
    T x, residual, s[memory], y[memory];
  };
  WHILST_HD places read_products(index_type i) const {
    places read{pairs->pairs, pairs->next, v.x[i], v.gradient[i], {}, {}};
    for (int k = 0; k < memory; ++k) {
      read.s[k] = ring.S[k * v.n + i];
      read.y[k] = ring.Y[k * v.n + i];
    }
    return read;
  }
  WHILST_HD sums<double, products> multiply(index_type i, T residual, T x, T, const places& old) const {
    sums<double, products> share{};
    const T step = x - old.x, change = residual - old.residual;
    ring.S[old.next * v.n + i] = step;
    ring.Y[old.next * v.n + i] = change;
    const double F = residual, s = step;
    for (int k = 0; k < memory; ++k) {
      // Stale data in other places may be NaN.
      const bool is_new = k == old.next, is_there = ring.by_age(old.next, k) < old.pairs;
      if (!is_new && !is_there) continue;
      const double sk = is_new ? step : old.s[k], yk = is_new ? change : old.y[k];
      share.value[k] = F * sk;
      share.value[memory + k] = s * sk;
      share.value[2 * memory + k] = s * yk;
    }
    share.value[3 * memory] = static_cast<double>(change) * change;
    return share;
  }
  WHILST_HD const kept* numbers() const { return pairs; }

  template <class Team>
  WHILST_HD proposal choose(const Team& team, const double* of, const accepted_step& step, const kept& p,
                            handed& made) const {
    kept& to = *pairs;
    if (step.first) {
      if (team.rank() == 0) to.pairs = to.next = 0;
      return {};
    }
    const int newest = p.next, before = ring.kept_beside_new(p.pairs, step.steepest);
    const int count = before + 1, next = ring.after(newest);
    const double new_ss = of[memory + newest], new_sy = of[2 * memory + newest], new_yy = of[3 * memory];
    const double scale = before == 0 ? scale_of(new_ss, new_sy, new_yy) : p.scale;

    // By age from here on: 0 is the new pair.
    small_system<memory, Team::size()> system;
    double least[memory], weight[memory], sf[memory];
    int place[memory];
    for (int a = 0; a < memory; ++a) {
      place[a] = ring.by_age(next, a);
      sf[a] = of[place[a]];
      least[a] = least_denominator * (a == 0 ? new_ss : p.ss[place[a]][place[a]]);
    }
    system.each_column(team, [&](int c, double(&column)[memory]) {
      for (int a = 0; a < memory; ++a) {
        if (c == memory) {
          column[a] = a < count ? scale * sf[a] : 0;
          continue;
        }
        const int i = place[a], j = ring.by_age(next, c);
        const double sy = a == 0 ? of[2 * memory + j] : c == 0 ? sf[a] - p.sf[i] : p.sy[i][j];
        const double ss = a == 0 ? of[memory + j] : p.ss[i][j];
        column[a] = a < count && c < count ? scale * sy - (a < c ? ss : 0) : 0;
        to.sy[i][j] = sy;
        if (a == 0) to.ss[i][j] = ss;
      }
    });
    system.template solve<true>(team, count, least, weight);

    bool is_finite_one = is_finite(scale);
    for (int a = 0; a < memory; ++a) is_finite_one = is_finite_one && is_finite(weight[a]);
    if (team.rank() == 0) {
      to.pairs = count;
      to.next = next;
      to.scale = scale;
      made.of_residual = -scale;
      for (int a = 0; a < memory; ++a) {
        to.sf[place[a]] = sf[a];
        made.of_s[place[a]] = -weight[a];
        made.of_y[place[a]] = scale * weight[a];
      }
    }
    return is_finite_one ? whole_step(step) : proposal{};
  }

  /// For the updates, relative to s's.
  static constexpr double least_denominator = 1e-3;
  /// The multiple of the identity that best maps y to s; its sign tells whether F points towards the solution or away
  /// from it.
  WHILST_HD static double scale_of(double ss, double sy, double yy) {
    constexpr double least_cosine = 0.1;
    const double length = sqrt(ss / yy), scale = sy / yy;
    return fabs(scale) > least_cosine * length ? scale : sy < 0 ? -least_cosine * length : least_cosine * length;
  }

  WHILST_HD auto read_entry(index_type i) const { return ring.read_entry(i); }
  WHILST_HD T entry(T residual, T, T, const typename ring_type::entries& e, const handed& made) const {
    return ring.entry(residual, e, made);
  }
};

}  // namespace whilst
