#pragma once

#include "whilst/nonlinear/descent/descent.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// L-BFGS: J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35 (1980), in the compact
/// form of R. H. Byrd, J. Nocedal, R. B. Schnabel, "Representations of quasi-Newton matrices and their use in limited
/// memory methods", Math. Programming 63 (1994), theorem 2.2:
///
///   H = scale I + [S  scale Y] [ R'^-1 (D + scale Y'Y) R^-1   -R'^-1 ] [ S'       ]
///                              [ -R^-1                         0     ] [ scale Y' ]
///
/// where R is the upper triangle of S'Y, oldest pair first, and D its diagonal. The only sums are products with
/// vectors, in one pass over memory: products of older pairs with the newest y follow from S'g and Y'g by differences.
/// R^-1 is kept instead of R. It gains a column with each new pair; when the oldest pair leaves, its row and column
/// leave, which gives the inverse of the rest. So there is no sequential solve, as in the two-loop recursion: three
/// products of small matrices give the direction.
///
/// Pairs are stored in a ring; only the device knows which place holds which pair.
template <class T>
struct limited_memory_bfgs {
  static constexpr const char* name = "lbfgs";
  static constexpr int memory = 10;

  /// Entries are indexed by place.
  struct alignas(16) kept {
    int next;                        ///< the place of the next pair; the oldest pair's, which is no longer used
    double scale;                    ///< s'y / y'y of the newest
    double sg[memory], yg[memory];   ///< S'g and Y'g
    double sy[memory];               ///< s'y of each pair; 0 where a place holds none
    double inverse[memory][memory];  ///< R^-1; 0 if a place holds no pair
    double yy[memory][memory];       ///< Y'Y; likewise
    double of_s[memory], of_y[memory], partial[2][2][memory];  ///< scratch: two vectors, two parts of two products
  };
  /// What d is combined from: the gradient, S and Y.
  struct handed {
    double of_gradient, of_s[memory], of_y[memory];
  };

  descent_vectors<T> v;
  const descent_state* state;
  T *S, *Y;  ///< place after place
  kept* pairs;

  template <class Function, class Workspace>
  WHILST_HD constexpr limited_memory_bfgs(const descent_vectors<T>& v, descent_state* state, const descent_settings*,
                                          const Function&, Workspace& workspace)
      : v(v),
        state(state),
        S(workspace.template take<T>(memory * v.n)),
        Y(workspace.template take<T>(memory * v.n)),
        pairs(workspace.template take<kept>(1)) {}

  /// S'g and Y'g; for the new pair s'g, y'g, s'y and y'y. The new pair is stored at once: nobody else reads its place.
  static constexpr int products = 2 * memory + 4;
  struct places {
    int next, first;
    T x, gradient;
  };
  WHILST_HD places read_products(index_type i) const { return {pairs->next, state->first, v.x[i], v.gradient[i]}; }
  struct entries {
    T s[memory], y[memory];
  };
  template <class Team>
  WHILST_HD entries read_own(index_type i, const Team& team) const {
    entries read;
    for (int k = 0; k < memory; ++k) {
      read.s[k] = team.early(S + k * v.n + i);
      read.y[k] = team.early(Y + k * v.n + i);
    }
    return read;
  }
  WHILST_HD sums<double, products> multiply(index_type i, T gradient, T x, T, const places& old,
                                            const entries& of) const {
    sums<double, products> share{};
    if (old.first) {
      // Stale data may be NaN, and its product with 0 should be 0.
      WHILST_ROLLED
      for (int k = 0; k < memory; ++k) S[k * v.n + i] = Y[k * v.n + i] = 0;
      return share;
    }
    const double g = gradient, step = x - old.x, change = gradient - old.gradient;
    const bool usable = is_finite(step) && is_finite(change);
    S[old.next * v.n + i] = usable ? static_cast<T>(step) : T(0);
    Y[old.next * v.n + i] = usable ? static_cast<T>(change) : T(0);
    for (int k = 0; k < memory; ++k) {
      share.value[k] = g * of.s[k];
      share.value[memory + k] = g * of.y[k];
    }
    share.value[2 * memory] = g * step;
    share.value[2 * memory + 1] = g * change;
    share.value[2 * memory + 2] = step * change;
    share.value[2 * memory + 3] = change * change;
    return share;
  }
  WHILST_HD kept* numbers() const { return pairs; }
  static constexpr bool chosen_ahead = true;

  /// Works on the copy, where threads meet: each has the numbers of a pair, or two have half a product each.
  template <class Team>
  WHILST_HD proposal choose(const Team& team, const double* of, const accepted_step& step, kept& p,
                            handed& made) const {
    return step.first ? begin(team, p) : update(team, of, step, p, made);
  }

  WHILST_HD entries read_entry(index_type i) const {
    entries read;
    for (int k = 0; k < memory; ++k) {
      read.s[k] = S[k * v.n + i];
      read.y[k] = Y[k * v.n + i];
    }
    return read;
  }
  WHILST_HD static T entry(T gradient, T, T, const entries& of, const handed& made) {
    T by_s[2] = {}, by_y[2] = {};  // four chains of additions, since a single one is slow
    for (int k = 0; k < memory; ++k) {
      by_s[k % 2] += static_cast<T>(made.of_s[k]) * of.s[k];
      by_y[k % 2] += static_cast<T>(made.of_y[k]) * of.y[k];
    }
    return static_cast<T>(made.of_gradient) * gradient + ((by_s[0] + by_s[1]) + (by_y[0] + by_y[1]));
  }

 private:
  template <class Team, class Use>
  WHILST_HD static void each_pair(const Team& team, const Use& use) {
    for (int k = team.rank(); k < memory; k += Team::size()) use(k);
  }
  /// Calls use(k, part, j) with the first index j of each part of row k: `width` indices from there on.
  template <class Team>
  static constexpr int parts = Team::size() >= 2 * memory ? 2 : 1;
  template <class Team>
  static constexpr int width = memory / parts<Team>;
  template <class Team, class Use>
  WHILST_HD static void each_part(const Team& team, const Use& use) {
    static_assert(memory % 2 == 0);
    for (int e = team.rank(); e < parts<Team> * memory; e += Team::size())
      use(e % memory, e / memory, e / memory * width<Team>);
  }
  template <class Team>
  WHILST_HD static double total(const kept& p, int product, int k) {
    return parts<Team> == 2 ? p.partial[0][product][k] + p.partial[1][product][k] : p.partial[0][product][k];
  }

  template <class Team>
  WHILST_HD static proposal begin(const Team& team, kept& p) {
    each_pair(team, [&](int k) {
      p.sg[k] = p.yg[k] = p.sy[k] = p.of_s[k] = p.of_y[k] = 0;
      WHILST_ROLLED
      for (int j = 0; j < memory; ++j) p.inverse[k][j] = p.yy[k][j] = 0;
    });
    if (team.rank() == 0) {
      p.next = 0;
      p.scale = 1;
    }
    return {};
  }

  template <class Team>
  WHILST_HD static proposal update(const Team& team, const double* of, const accepted_step& step, kept& p,
                                   handed& made) {
    const int place = p.next;
    const double new_sg = of[2 * memory], new_yg = of[2 * memory + 1];
    const double new_sy = of[2 * memory + 2], new_yy = of[2 * memory + 3];
    constexpr double epsilon = sizeof(T) == 4 ? 1.2e-7 : 2.2e-16;
    const bool curved = new_sy > epsilon * new_yy && is_finite(new_sy);
    const double scale = curved ? new_sy / new_yy : p.scale, inverse_sy = curved ? 1 / new_sy : 0;

    // With of_s and of_y as scratch: the new column of S'Y, and S'g of the older pairs.
    each_pair(team, [&](int k) {
      const bool is_new = k == place;
      // Older pairs are discarded after steepest descent.
      const bool is_there = is_new ? curved : !step.steepest && p.sy[k] != 0;
      const double sg = is_there ? is_new ? new_sg : of[k] : 0, yg = is_there ? is_new ? new_yg : of[memory + k] : 0;
      p.of_s[k] = is_there && !is_new ? sg - p.sg[k] : 0;
      p.of_y[k] = is_new ? 0 : sg;
      p.yy[place][k] = p.yy[k][place] = !is_there ? 0 : is_new ? new_yy : yg - p.yg[k];
      // One thread per entry: its row, or for the new pair's row and column what belongs there.
      if (step.steepest) {
        WHILST_ROLLED
        for (int j = 0; j < memory; ++j) p.inverse[k][j] = 0;
      } else {
        p.inverse[place][k] = p.inverse[k][place] = 0;
      }
      p.sg[k] = sg;
      p.yg[k] = yg;
      p.sy[k] = !is_there ? 0 : is_new ? new_sy : p.sy[k];
    });
    team.sync();
    each_part(team, [&](int k, int part, int first) {
      double by_sg = 0, by_column = 0;
      for (int j = 0; j < width<Team>; ++j) {
        by_sg += p.inverse[k][first + j] * p.of_y[first + j];
        by_column += p.inverse[k][first + j] * p.of_s[first + j];
      }
      p.partial[part][0][k] = by_sg;
      p.partial[part][1][k] = by_column;
    });
    team.sync();
    // of_y = R^-1 S'g, with the new column of R^-1
    each_pair(team, [&](int k) {
      const double column = k == place ? inverse_sy : -inverse_sy * total<Team>(p, 1, k);
      p.inverse[k][place] = column;
      p.of_y[k] = total<Team>(p, 0, k) + column * (curved ? new_sg : 0);
    });
    team.sync();
    each_part(team, [&](int k, int part, int first) {
      double by_yy = 0;
      for (int j = 0; j < width<Team>; ++j) by_yy += p.yy[k][first + j] * p.of_y[first + j];
      p.partial[part][0][k] = by_yy;
    });
    team.sync();
    // of_s = (D + scale Y'Y) of_y - scale Y'g
    each_pair(team, [&](int k) {
      p.of_s[k] = p.sy[k] != 0 ? p.sy[k] * p.of_y[k] + scale * (total<Team>(p, 0, k) - p.yg[k]) : 0;
    });
    team.sync();
    each_part(team, [&](int k, int part, int first) {
      double by_transpose = 0;
      for (int j = 0; j < width<Team>; ++j) by_transpose += p.inverse[first + j][k] * p.of_s[first + j];
      p.partial[part][1][k] = by_transpose;
    });
    team.sync();
    double slope = 0;
    each_pair(team, [&](int k) {
      const double of_s = total<Team>(p, 1, k), of_y = scale * p.of_y[k];
      slope += of_y * p.yg[k] - of_s * p.sg[k];
      made.of_s[k] = -of_s;
      made.of_y[k] = of_y;
    });
    slope = team.sum(slope) - scale * step.gradient_square;
    if (team.rank() == 0) {
      p.next = curved ? (place + 1) % memory : place;
      p.scale = scale;
      made.of_gradient = -scale;
    }
    // Without pairs there is no scale for the first length.
    return curved || !step.steepest ? proposal{slope, 1} : proposal{};
  }
};

}  // namespace whilst
