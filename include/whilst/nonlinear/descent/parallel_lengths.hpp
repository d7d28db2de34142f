#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/nonlinear/descent/descent_state.hpp"

namespace whilst {

/// Starts a trip of the parallel search, once f is known at all lengths of the fan: moves the trial point to the length
/// that the search chooses. On the first trip, whose trial point is the start, there is nothing to choose.
template <class T>
struct go_to_best_length {
  static constexpr bool fetches_constants = false;
  descent_vectors<T> v;
  const descent_state* s;
  const descent_settings* settings;
  const double* values;  ///< of f, one for each length of the fan

  struct own {
    T x, d;
  };
  // The previous step writes only values.
  template <class Team>
  WHILST_HD own fetch(index_type i, const Team& team) const {
    return {team.early(v.x + i), team.early(v.d + i)};
  }
  struct entries {
    int first;
    T x, d;
    double step;
  };
  template <class Team>
  WHILST_HD entries read(index_type, const Team&, const own& at) const {
    return {s->first, at.x, at.d, s->search.choose(settings->search, {values, s->magnification}).step};
  }
  WHILST_HD void operator()(index_type i, const entries& e) const {
    if (!e.first) v.trial[i] = e.x + static_cast<T>(e.step) * e.d;
  }
};

/// Its finish, after all threads have read the state: tells the search where they went.
struct take_best_length {
  descent_state* s;
  const descent_settings* settings;
  const double* values;

  WHILST_HD void operator()() const {
    if (s->first) return;
    s->search.take(s->search.choose(settings->search, {values, s->magnification}));
    s->trial_values += line_searches::parallel::lengths;
  }
};

}  // namespace whilst
