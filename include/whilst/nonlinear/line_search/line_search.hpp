#pragma once

#include "whilst/nonlinear/line_search/line_search_approximate_wolfe.hpp"
#include "whilst/nonlinear/line_search/line_search_backtracking.hpp"
#include "whilst/nonlinear/line_search/line_search_parallel.hpp"
#include "whilst/nonlinear/line_search/line_search_settings.hpp"
#include "whilst/nonlinear/line_search/line_search_strong_wolfe.hpp"

namespace whilst {

/// A search's verdict on the length that it asked for.
enum class line_search_verdict : int {
  accept,  ///< take it
  again,   ///< evaluate at `step`, which is now another length
  failed   ///< there is no length to take; `step` means nothing
};

/// A step length search that receives values and slopes and asks for more, so that a graph can evaluate them. All its
/// state is here, in memory of the place; one thread runs it.
///
///   search.begin(settings, f, g'd, first length)
///   verdict = search.judge(settings, f at search.step, g'd there), until it is not `again`
///
/// and before each judge, if the search is the parallel one,
///
///   search.take(search.choose(settings, f at each of search.parallel.length))
///
/// Every search ends after `most_trials` evaluations; a value or slope that is not finite means that the length was too
/// long; steps stay within the bounds. A step whose gain is lost in rounding is accepted if the slope has fallen as the
/// curvature condition requires. A search that cannot improve further returns to the lowest point with sufficient
/// decrease, and fails only if there is none.
struct alignas(16) line_search {
  double step;     ///< the length to try
  int trials;      ///< evaluations of this search so far
  int usable;      ///< value and slope at 0 are finite, the slope is negative, the first length positive
  int going_back;  ///< `step` is the lowest point with sufficient decrease, about to be accepted
  line_search_kind kind;
  line_origin origin;
  double lowest_step, lowest_value;  ///< of the points with sufficient decrease; step 0 if there is none yet
  union {
    line_searches::backtracking backtracking;
    line_searches::strong_wolfe strong_wolfe;
    line_searches::approximate_wolfe approximate_wolfe;
    line_searches::parallel parallel;
  };

  /// Value and slope at length 0, where the slope must be negative: otherwise the first verdict is `failed`. `size`:
  /// the recent magnitude of the values, if larger than this one.
  WHILST_HD void begin(const line_search_settings& settings, double value, double slope, double first_step,
                       double size = 0) {
    step = fmin(fmax(first_step, settings.shortest), settings.longest);  // which ignores NaN
    trials = 0;
    usable = is_finite(value) && is_finite(slope) && slope < 0 && first_step > 0;
    going_back = 0;
    kind = settings.kind;
    origin = {{0, value, slope}, fmax(size, fabs(value))};
    lowest_step = 0;
    lowest_value = value;
    switch (kind) {
      case line_search_kind::backtracking:
        backtracking = line_searches::backtracking::begun();
        break;
      case line_search_kind::strong_wolfe:
        strong_wolfe = line_searches::strong_wolfe::begun(origin);
        break;
      case line_search_kind::approximate_wolfe:
        approximate_wolfe = line_searches::approximate_wolfe::begun(origin);
        break;
      case line_search_kind::parallel:
        parallel = line_searches::parallel::begun(settings, step);
        break;
    }
  }

  /// Where the parallel search goes, given the values at all lengths of its fan: to the best of them; or back to the
  /// lowest point, if none is lower; or below the shortest, if none is low enough.
  struct choice {
    double step;
    int of_fan, going_back, at_wall;
  };
  WHILST_HD choice choose(const line_search_settings& settings, const line_searches::fan_values& values) const {
    constexpr int none = line_searches::parallel::none, last = line_searches::parallel::lengths - 1;
    if (going_back) return {step, none, 1, 0};
    const bool has_lowest = lowest_step > 0;
    const int best = parallel.best(settings, origin, has_lowest, lowest_value, values);
    int at_wall = 0;
    for (int k = 0; k <= last; ++k) at_wall |= !is_finite(values[k]);
    if (best != none) return {parallel.refined(settings, origin, best, values), best, 0, at_wall};
    if (has_lowest) return {lowest_step, none, 1, at_wall};
    return {fmax(0.5 * parallel.length[last], settings.shortest), none, 0, at_wall};
  }
  WHILST_HD void take(const choice& made) {
    step = made.step;
    going_back = made.going_back;
    parallel.chosen = made.of_fan;
    parallel.at_wall |= made.at_wall;
  }
  /// Whether lengths are short because the function is not finite beyond, as far as the search can tell.
  WHILST_HD bool at_wall() const { return kind == line_search_kind::parallel && parallel.at_wall; }

  /// Value and slope at `step`.
  WHILST_HD line_search_verdict judge(const line_search_settings& settings, double value, double slope) {
    if (!usable) return line_search_verdict::failed;
    trials += 1;
    const line_point here{step, value, slope};
    const bool defined = is_finite(value) && is_finite(slope);
    if (going_back) return defined ? line_search_verdict::accept : line_search_verdict::failed;
    if (defined && accepts(settings, here)) return line_search_verdict::accept;
    return go_on(settings, here, defined);
  }

 private:
  /// The verdict on a point that is not accepted. Out of line, to keep a finish's main path short.
  WHILST_NOINLINE WHILST_HD line_search_verdict go_on(const line_search_settings& settings, const line_point& here,
                                                      bool defined) {
    if (defined) note_lowest(settings, here);
    // Reserve the last evaluation for the way back, if there is a point to return to.
    if (trials + (lowest_step > 0) < settings.most_trials) {
      const double next = fmin(fmax(next_step(settings, here, defined), settings.shortest), settings.longest);
      if (next != step && next != lowest_step) {  // otherwise the interval has shrunk to rounding
        step = next;
        return line_search_verdict::again;
      }
    }
    if (!(lowest_step > 0)) return line_search_verdict::failed;
    if (lowest_step == step) return line_search_verdict::accept;
    step = lowest_step;
    going_back = 1;
    return line_search_verdict::again;
  }
  WHILST_HD bool accepts(const line_search_settings& settings, const line_point& here) const {
    const bool hidden = line_searches::tie(settings, origin, here.value, origin.value) &&
                        fabs(here.slope) <= settings.curvature * fabs(origin.slope);
    if (hidden) return true;
    switch (kind) {
      case line_search_kind::backtracking:
        return backtracking.accepts(settings, origin, here);
      case line_search_kind::strong_wolfe:
        return strong_wolfe.accepts(settings, origin, here);
      case line_search_kind::approximate_wolfe:
        return approximate_wolfe.accepts(settings, origin, here);
      case line_search_kind::parallel:
        return parallel.accepts(settings, origin, here);
    }
    return false;
  }

  WHILST_HD double next_step(const line_search_settings& settings, const line_point& here, bool defined) {
    switch (kind) {
      case line_search_kind::backtracking:
        return backtracking.next(origin, here, defined);
      case line_search_kind::strong_wolfe:
        return strong_wolfe.next(settings, origin, here, defined);
      case line_search_kind::approximate_wolfe:
        return approximate_wolfe.next(settings, origin, here, defined);
      case line_search_kind::parallel:
        return parallel.next(settings, origin, here, defined);
    }
    return here.step;
  }

  WHILST_HD void note_lowest(const line_search_settings& settings, const line_point& here) {
    if (!line_searches::decreases_enough(settings, origin, here)) return;
    if (lowest_step > 0 && here.value >= lowest_value) return;
    lowest_step = here.step;
    lowest_value = here.value;
  }
};
static_assert(std::is_trivially_copyable_v<line_search>);

}  // namespace whilst
