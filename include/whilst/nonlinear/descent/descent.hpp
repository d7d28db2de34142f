#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/steps/phases.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"
#include "whilst/nonlinear/descent/judge_trial.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// For directions that keep no numbers between iterations, or none that their choice has to read.
struct nothing_kept {};

/// A direction that needs only sums at the trial point: it declares how many `products` it wants.
template <class Direction>
concept chosen_by_products = requires {
  Direction::products;
};
template <class Direction>
constexpr int products_of() {
  if constexpr (chosen_by_products<Direction>) {
    return Direction::products;
  } else {
    return 0;
  }
}

/// A direction that is itself a step, as far as a trust region allows: its own judge replaces the line search, and a
/// rejected trial point leads to another direction.
template <class Direction>
concept within_radius = requires {
  Direction::by_radius;
};

/// The judge of a direction's trial points: judge_trial, or the direction's own trial_judge.
template <class Direction>
struct judge_of {
  using type = judge_trial;
};
template <class Direction>
requires requires { typename Direction::trial_judge; }
struct judge_of<Direction> {
  using type = typename Direction::trial_judge;
};

/// A direction chosen by products may name the type its entries are built from, `handed`: its choice then hands one
/// over, and the step that follows needs no kernel of its own.
template <class Direction>
concept hands_over = chosen_by_products<Direction> && requires {
  typename Direction::handed;
};

/// A direction whose judge may accept points higher than x: the lowest is kept in case it fails.
template <class Direction>
concept may_rise = requires {
  requires judge_of<Direction>::type::may_rise;
};

/// The verdict on a trial point, for move_on.
struct trial_verdict {
  int accepted;  ///< 2: accepted, and x, which is left behind, is the lowest point so far
  int steepest;
  double step;
};
/// What the judge of a trial point hands to move_on. Not [[no_unique_address]], though `numbers` may be empty: nvcc
/// 13.0 then computes the struct's size without it but lays it out with it.
template <class Direction>
struct alignas(16) orders {
  trial_verdict verdict;
  typename Direction::handed numbers;
};
template <class Direction>
struct handed_of {
  using type = nothing_kept;
};
template <hands_over Direction>
struct handed_of<Direction> {
  using type = orders<Direction>;
};

/// A direction chosen by products whose multiply uses vectors of its own that nothing else writes.
template <class Direction>
concept reads_own = requires(const Direction& direction) {
  direction.read_own(index_type{}, lanes());
};

/// Computes the gradient at the trial point, and all the sums there.
template <class T, class Direction>
struct examine_trial {
  static constexpr bool fetches_constants = true;
  static constexpr int products = products_of<Direction>();
  Direction direction;
  descent_vectors<T> v;
  const descent_state* s;
  evaluated<T> at;

  using range = typename gathered<T>::range;
  // Members in reading order: whatever is summed while reading must be waited for.
  template <class Products, class Own>
  struct entries {
    Own own;
    Products of_direction;
    T d, x;
    double magnification, value;
    T gradient;
  };
  WHILST_HD auto read_products(index_type i) const {
    if constexpr (chosen_by_products<Direction>) {
      return direction.read_products(i);
    } else {
      return detail::nothing_read{};
    }
  }
  template <class Team>
  WHILST_HD range fetch(index_type i, const Team&) const {
    return at.gradient.entries(i);
  }
  /// The direction's vectors that only its multiply writes.
  template <class Team>
  requires(reads_own<Direction>) WHILST_HD auto read_own(index_type i, const Team& team) const {
    return direction.read_own(i, team);
  }
  template <class Team, class Own = detail::nothing_read>
  WHILST_HD auto read(index_type i, const Team&, const range& of, const Own& own = {}) const {
    return entries<decltype(read_products(i)), Own>{
        own, read_products(i), v.d[i], v.trial[i], s->magnification, at.value(i, v.n), at.gradient(i, of)};
  }
  template <class Products, class Own>
  WHILST_HD sums<double, trial_sums::number + products> operator()(index_type i,
                                                                   const entries<Products, Own>& e) const {
    const T gradient = static_cast<T>(e.magnification * e.gradient);
    v.trial_gradient[i] = gradient;
    const double g = gradient, d = e.d, x = e.x;
    sums<double, trial_sums::number + products> share{
        e.magnification * e.value, g * d, square<T>(g), square<T>(d), x * x, g * x};
    if constexpr (chosen_by_products<Direction>) {
      const sums<double, products> more = [&] {
        if constexpr (reads_own<Direction>) {
          return direction.multiply(i, gradient, e.x, e.d, e.of_direction, e.own);
        } else {
          return direction.multiply(i, gradient, e.x, e.d, e.of_direction);
        }
      }();
      for (int k = 0; k < products; ++k) share.value[trial_sums::number + k] = more[k];
    }
    return share;
  }
};

/// A direction chosen by products whose choice writes only `kept` and what it hands over, and so may be made before it
/// is known whether the point is accepted.
template <class Direction>
concept chosen_ahead = chosen_by_products<Direction> && requires {
  Direction::chosen_ahead;
};

/// The finish of examine_trial: judges the point, and chooses the next direction if the sums suffice. Two halves: once
/// the sums are there, neither waits for the other.
template <class Direction>
struct judge_and_choose {
  static constexpr int products = products_of<Direction>();
  static constexpr bool whole_warp = true;
  static constexpr bool in_halves = chosen_ahead<Direction>, by_each_block = in_halves;
  using totals = sums<double, trial_sums::number + products>;
  using judge = typename judge_of<Direction>::type;
  Direction direction;
  descent_state* s;
  const descent_settings* settings;
  descent_record* records;
  typename handed_of<Direction>::type* handed;

  static constexpr bool has_numbers = requires(const Direction& of) { of.numbers(); };
  struct copied {
    descent_state state;
    descent_state ahead;  ///< if the point is accepted: its search, and what the search needs
    descent_settings settings;
    typename Direction::kept kept;
  };
  template <class Copy>
  WHILST_HD void copy_ahead(copied& to, const Copy& copy) const {
    copy(to.state, static_cast<const descent_state*>(s));
    if constexpr (chosen_by_products<Direction>) copy(to.ahead, static_cast<const descent_state*>(s));
    copy(to.settings, settings);
    if constexpr (has_numbers) copy(to.kept, static_cast<const typename Direction::kept*>(direction.numbers()));
  }

  /// The same without copies, except for what is made ahead, and numbers that a choice reads while it writes new ones.
  struct originals {
    descent_state& state;
    std::conditional_t<chosen_by_products<Direction>, descent_state, nothing_kept> ahead;
    const descent_settings& settings;
    std::conditional_t<has_numbers && chosen_ahead<Direction>, typename Direction::kept&, typename Direction::kept>
        kept;
  };
  WHILST_HD originals in_place() const {
    if constexpr (has_numbers) {
      return {*s, *s, *settings, *direction.numbers()};
    } else if constexpr (chosen_by_products<Direction>) {
      return {*s, *s, *settings, {}};
    } else {
      return {*s, {}, *settings, {}};
    }
  }

  template <class Team, class Copies>
  WHILST_HD void operator()(const Team& team, const totals& total, loop_state& loop, Copies& copies) const {
    first(team, total, loop, copies);
    team.sync();
    const bool leads = team.rank() == 0;
    if (team.broadcast(leads && copies.state.accepted && loop.running, 0)) second(team, total, copies);
    team.sync();
    join(team, loop, copies);
    keep(team, copies);
  }

  /// The verdict.
  template <class Team, class Copies>
  WHILST_HD void first(const Team& team, const totals& total, loop_state& loop, Copies& copies) const {
    if (team.rank() == 0) judge{records, copies.settings}(copies.state, trial(total), loop);
  }

  /// The direction from the trial point, should it be accepted.
  template <class Team, class Copies>
  WHILST_HD void second(const Team& team, const totals& total, Copies& copies) const {
    if constexpr (chosen_by_products<Direction>) {
      descent_state& ahead = copies.ahead;
      const double* const of_direction = total.value + trial_sums::number;
      accepted_step step = step_of(ahead);
      step.gradient_square = trial(total).gg;  // at the trial point; the rest is how it was reached
      team.sync();                             // the choice may change what has been read
      const proposal chosen = [&] {
        if constexpr (hands_over<Direction>) {
          return direction.choose(team, of_direction, step, copies.kept, handed->numbers);
        } else {
          return direction.choose(team, of_direction, step, copies.kept);
        }
      }();
      if (team.rank() == 0) {
        ahead.value = judge::value_of(trial(total));
        begin_search(ahead, copies.settings.search, chosen);
      }
    }
  }

  /// Combines the two halves for move_on.
  template <class Team, class Copies>
  WHILST_HD void join(const Team& team, const loop_state& loop, Copies& copies) const {
    descent_state& now = copies.state;
    if constexpr (chosen_by_products<Direction>) {
      const descent_state& ahead = copies.ahead;
      const bool begins = team.broadcast(now.accepted && loop.running, 0) != 0, begun = begins && !ahead.steepest;
      if (begun) team.assign(now.search, ahead.search);
      if (team.rank() == 0) {
        if (begun) {
          now.slope = ahead.slope;
          now.promise = ahead.promise;
          now.steepest = 0;
        } else if (begins) {  // with numbers that only the judge has
          begin_search_along_gradient(now, copies.settings.search);
        }
        if (begins) now.first = 0;
        if constexpr (hands_over<Direction>)
          handed->verdict = {now.accepted + now.was_lowest, now.steepest, begun ? ahead.search.step : now.search.step};
      }
    }
    team.sync();
    team.copy(*s, now);
  }

  /// Stores the direction's numbers.
  template <class Team, class Copies>
  WHILST_HD void keep(const Team& team, const Copies& copies) const {
    if constexpr (chosen_ahead<Direction> && has_numbers)
      if (copies.state.accepted) team.copy(*direction.numbers(), copies.kept);
  }

 private:
  WHILST_HD static trial_sums trial(const totals& total) {
    return {total[0], total[1], total[2], total[3], total[4], total[5]};
  }
};

/// Moves to the trial point if it was accepted, makes the direction, and from both the next trial point.
template <class T, class Direction>
struct move_on {
  static constexpr bool fetches_constants = false;
  Direction direction;
  descent_vectors<T> v;
  const descent_state* s;
  const typename handed_of<Direction>::type* handed;
  T* lowest;  ///< null if no point can be higher than the one before

  struct own {
    T x, d, gradient, trial;
  };
  template <class Entry>
  struct entries {
    own old;
    T trial_gradient;
    Entry of_direction;
  };
  template <class Entry>
  struct judged_entries {
    trial_verdict verdict;
    entries<Entry> at;
  };
  // No step before this one writes any of these.
  template <class Team>
  WHILST_HD own fetch(index_type i, const Team& team) const {
    return {team.early(v.x + i), team.early(v.d + i), team.early(v.gradient + i), team.early(v.trial + i)};
  }
  // Load everything at once, needed or not: loads that wait for the verdict start late.
  template <class Team>
  WHILST_HD auto read(index_type i, const Team&, const own& old) const {
    using of_direction = decltype(direction.read_entry(i));
    const entries<of_direction> at{old, v.trial_gradient[i], direction.read_entry(i)};
    if constexpr (hands_over<Direction>) {
      return at;
    } else {
      return judged_entries<of_direction>{{s->accepted, s->steepest, s->search.step}, at};
    }
  }
  template <class Entry>
  requires(hands_over<Direction>) WHILST_HD void operator()(index_type i, const entries<Entry>& e,
                                                            const typename handed_of<Direction>::type& told) const {
    move(i, e, told.verdict,
         [&](T gradient, T step, T d) { return direction.entry(gradient, step, d, e.of_direction, told.numbers); });
  }
  template <class Entry>
  WHILST_HD void operator()(index_type i, const judged_entries<Entry>& e) const {
    move(i, e.at, e.verdict,
         [&](T gradient, T step, T d) { return direction.entry(gradient, step, d, e.at.of_direction); });
  }

 private:
  template <class Entry, class Make>
  WHILST_HD void move(index_type i, const entries<Entry>& e, const trial_verdict& verdict,
                      const Make& entry_of_d) const {
    T x = e.old.x, d = e.old.d, gradient = e.old.gradient;
    if (verdict.accepted) {
      if constexpr (may_rise<Direction>)
        if (verdict.accepted == 2) lowest[i] = x;
      gradient = e.trial_gradient;
      if (!verdict.steepest && !within_radius<Direction>) d = entry_of_d(gradient, e.old.trial - x, d);
      x = e.old.trial;
      v.x[i] = x;
      v.gradient[i] = gradient;
    }
    if (verdict.steepest) d = -gradient;
    if (within_radius<Direction>) d = entry_of_d(gradient, T(0), d);
    v.d[i] = d;
    v.trial[i] = x + static_cast<T>(verdict.step) * d;
  }
};

}  // namespace whilst
