#pragma once

#include "whilst/dense/small_elimination.hpp"
#include "whilst/nonlinear/equations/judge_residual.hpp"
#include "whilst/nonlinear/equations/posed_equations.hpp"
#include "whilst/nonlinear/equations/ring_of_pairs.hpp"

namespace whilst {

/// Anderson acceleration of the fixed-point iteration x = g(x), where F(x) = x - g(x): D. G. Anderson, "Iterative
/// procedures for nonlinear integral equations", J. ACM 12 (1965); in the form of H. F. Walker, P. Ni, "Anderson
/// acceleration for fixed-point iterations", SIAM J. Numer. Anal. 49 (2011), by differences of points and of F:
///
///   d = -mixing F - (S - mixing Y) theta,   theta = argmin ||F - Y theta||
///
/// by the normal equations, which are sums; differences that newer ones nearly span are dropped. It restarts only if
/// four lengths along d all led to more than twice the lowest ||F|| since the last restart.
template <class T>
struct anderson {
  static constexpr const char* name = "anderson";
  static constexpr int memory = 10;
  using trial_judge = judge_residual<residual_rule::hardly_raise>;
  /// The square of the sine of the angle between a difference and newer ones.
  static constexpr double least_sine = sizeof(T) == 4 ? 1e-9 : 1e-13;

  struct alignas(16) kept {
    int pairs, next;            ///< how many there are; the place of the next one
    double yy[memory][memory];  ///< Y'Y, by place
  };
  using ring_type = ring_of_pairs<T, memory>;
  using handed = typename ring_type::shares;

  descent_vectors<T> v;
  const descent_state* state;
  ring_type ring;
  kept* pairs;
  double mixing;

  anderson(const descent_vectors<T>& v, descent_state* state, const descent_settings*, const posed_equations<T>& f,
           workspace& workspace)
      : v(v), state(state), ring(v.n, f.depth, workspace), pairs(workspace.take<kept>(1)), mixing(f.mixing) {}

  /// Y'F, and Y'y with the new y; its own products in its place.
  static constexpr int products = 2 * memory;
  struct places {
    int pairs, next;
    T x, residual, y[memory];
  };
  WHILST_HD places read_products(index_type i) const {
    places read{pairs->pairs, pairs->next, v.x[i], v.gradient[i], {}};
    for (int k = 0; k < memory; ++k)
      if (k < ring.depth) read.y[k] = ring.Y[k * v.n + i];
    return read;
  }
  WHILST_HD sums<double, products> multiply(index_type i, T residual, T x, T, const places& old) const {
    sums<double, products> share{};
    const T change = residual - old.residual;
    ring.S[old.next * v.n + i] = x - old.x;
    ring.Y[old.next * v.n + i] = change;
    for (int k = 0; k < memory; ++k) {
      // Stale data in other places may be NaN.
      const bool is_new = k == old.next, is_there = k < ring.depth && ring.by_age(old.next, k) < old.pairs;
      if (!is_new && !is_there) continue;
      const double yk = is_new ? change : old.y[k];
      share.value[k] = yk * residual;
      share.value[memory + k] = yk * change;
    }
    return share;
  }
  WHILST_HD const kept* numbers() const { return pairs; }

  template <class Team>
  WHILST_HD proposal choose(const Team& team, const double* of, const accepted_step& step, const kept& p,
                            handed& made) const {
    kept& to = *pairs;
    const int count = step.first ? 0 : ring.kept_beside_new(p.pairs, step.steepest) + 1;
    const int next = step.first ? 0 : ring.after(p.next);

    // By age from here on: 0 is the new pair.
    small_system<memory, Team::size()> system;
    double least[memory], theta[memory];
    system.each_column(team, [&](int c, double(&column)[memory]) {
      for (int a = 0; a < memory; ++a) {
        column[a] = 0;
        if (a >= count || (c >= count && c < memory)) continue;
        const int i = ring.by_age(next, a), j = c < memory ? ring.by_age(next, c) : 0;
        if (c == memory) {
          column[a] = of[i];
        } else {
          column[a] = a == 0 ? of[memory + j] : c == 0 ? of[memory + i] : p.yy[i][j];
          to.yy[i][j] = column[a];
        }
      }
    });
    for (int a = 0; a < memory; ++a) {
      const int i = ring.by_age(next, a < count ? a : 0);
      least[a] = least_sine * (a == 0 ? of[memory + i] : p.yy[i][i]);
    }
    system.template solve<false>(team, count, least, theta);

    bool is_finite_one = true;
    for (int a = 0; a < memory; ++a) is_finite_one = is_finite_one && is_finite(theta[a]);
    if (team.rank() == 0) {
      to.pairs = count;
      to.next = next;
      const double of_F = mixing * state->reduction;
      made.of_residual = -of_F;
      for (int k = 0; k < memory; ++k) made.of_s[k] = made.of_y[k] = 0;
      for (int a = 0; a < memory; ++a) {
        if (a >= count) continue;
        made.of_s[ring.by_age(next, a)] = -theta[a];
        made.of_y[ring.by_age(next, a)] = of_F * theta[a];
      }
    }
    return is_finite_one ? whole_step(step) : proposal{};
  }

  WHILST_HD auto read_entry(index_type i) const { return ring.read_entry(i); }
  WHILST_HD T entry(T residual, T, T, const typename ring_type::entries& e, const handed& made) const {
    return ring.entry(residual, e, made);
  }
};

}  // namespace whilst
