#pragma once

/// Runs the fits of a batch: see whilst/least_squares_batch.hpp.

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/steps/phases.hpp"
#include "whilst/host/batch_frame.hpp"
#include "whilst/least_squares/levenberg_marquardt.hpp"

namespace whilst {

/// How one fit of a batch ended.
struct fit_outcome {
  whilst::reason reason = whilst::reason::running;
  /// Trial points, as for one fit.
  std::int32_t iterations = 0;
  /// 1/2 sum of r_i^2 at x.
  double value = 0;

  bool converged() const { return whilst::converged(reason); }
};

namespace detail {

/// The runner of one fit: for methods that consist of one loop, with the same code as for every other runner.
///
/// Up to a warp, every lane keeps its own states of the method and of the loop in registers, and draws bit-identical
/// conclusions from the same totals: between begin and end nothing is written to memory. A block keeps both in shared
/// memory, where its first thread concludes. The team_runner's loops have controls in memory, since they nest and
/// others read them; for a million short fits that traffic would dominate.
template <class Team>
class fit_runner {
 public:
  static constexpr bool all_conclude = std::is_same_v<Team, lanes>;

  WHILST_HD fit_runner(const Team& team, loop_state& loop, const outside_wish* wish)
      : team_(team), loop_(loop), wish_(wish), deadline_at_(wish->deadline_at) {}

  WHILST_HD bool concludes() const { return all_conclude || team_.rank() == 0; }

  template <class Map, class Finish>
  WHILST_HD void step(const char*, index_type n, const Map& map, const Finish& finish) {
    map_result<Map> total{};
    for (index_type i = team_.rank(); i < n; i += team_.size()) total += map(i);
    if constexpr (all_conclude) {
      finish(team_.sum(total), loop_);
    } else {
      total = team_.sum_on_leader(total);
      if (team_.rank() == 0) finish(total, loop_);
      team_.sync();
    }
  }

  template <class Body>
  WHILST_HD void loop(const Body& body) {
    while (loop_.running) {
      const std::uint64_t request = cancel_request();  // memory latency is long: read now, used after the body
      body(*this);
      obey(request);
    }
  }

 private:
  /// One thread reads it, since all must agree.
  WHILST_HD std::uint64_t cancel_request() const {
    if (team_.rank() != 0) return 0;
#if defined(__CUDA_ARCH__)
    return read_early(&wish_->cancel_request);
#else
    return std::atomic_ref(const_cast<std::uint64_t&>(wish_->cancel_request)).load(std::memory_order_relaxed);
#endif
  }
  WHILST_HD void obey(std::uint64_t request) {
    int verdict = 0;
    if (team_.rank() == 0 && (request | deadline_at_) != 0) {
      verdict = static_cast<int>(outside_wish{request, wish_->launch, deadline_at_, 0}.verdict());
    }
    if constexpr (all_conclude) {
      if (team_.size() > 1) verdict = team_.sum(verdict);
      if (verdict && loop_.running) loop_.stop(static_cast<reason>(verdict));
    } else {
      if (verdict && loop_.running) loop_.stop(static_cast<reason>(verdict));
      team_.sync();
    }
  }

  Team team_;
  loop_state& loop_;
  const outside_wish* wish_;
  std::uint64_t deadline_at_;
};

/// Fit k of a batch, for the team that runs it.
///
/// What limits one thread per fit, counted in the machine code of nvcc 13.0 for compute capability 9.0, three
/// parameters, b0 exp(-b1 t) + b2, double: 94 instructions per residual, of which 39 are double arithmetic (17 for the
/// exponential and its argument, 12 for the rest of the residual and its gradient, 10 for the sums) and 4 a jump over
/// the factored form, and about 570 to judge and to solve for the next trial; 128 registers and 120 bytes of spills,
/// besides what only the factored form spills. A trial with 20 residuals then takes a warp 2450 issue slots. Memory
/// demands less: 160 bytes per fit for 20 responses, 24 each way for x, and 16 for the outcome.
template <class T, class Problem>
struct whole_fits {
  using one = decltype(std::declval<const Problem&>().of_problem(index_type{}));
  using method_type = levenberg_marquardt<T, one>;
  static constexpr int n = one::unknowns;
  /// Two blocks of 256 leave each thread 128 registers, enough for few parameters.
  static constexpr int blocks_wanted = n <= 4 ? 2 : 1;
  /// What a fit works on.
  struct storage {
    typename method_type::state state;
    loop_state loop;
  };

  Problem problem;
  fit_settings settings;
  index_type limit;
  const batch_frame* frame;
  fit_outcome* outcomes;

  static index_type fast_memory_bytes() { return sizeof(storage); }
  template <class Team>
  WHILST_HD void operator()(index_type k, const Team& team) const {
    if constexpr (fit_runner<Team>::all_conclude) {
      storage own;
      run(k, team, own);
    } else {
      run(k, team, *static_cast<storage*>(team.fast_memory()));
    }
  }

 private:
  template <class Team>
  WHILST_HD void run(index_type k, const Team& team, storage& now) const {
    T* const x = static_cast<T*>(frame->x) + k * n;
    fit_runner<Team> run(team, now.loop, &frame->root.outside);
    if (run.concludes()) {
      now.state = method_type::state::begin_at(x, settings);
      now.loop = loop_state{};
      now.loop.running = 1;
      now.loop.limit = limit;
      now.loop.open();
    }
    if constexpr (!fit_runner<Team>::all_conclude) team.sync();
    const method_type method{problem.of_problem(k), &now.state, settings};
    run.loop([&](auto& run) { method.iterate(run); });
    if (team.rank() != 0) return;
    for (int j = 0; j < n; ++j) x[j] = static_cast<T>(now.state.x[j]);
    outcomes[k] = {now.loop.why, static_cast<std::int32_t>(now.loop.iteration), now.state.value()};
  }
};

}  // namespace detail

}  // namespace whilst
