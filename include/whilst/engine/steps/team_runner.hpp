#pragma once

#include <cstddef>
#include <type_traits>

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/engine/steps/cluster_team.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

/// The runner inside a kernel: one team runs a whole method, step after step, and loops in place. It runs the same
/// source that a recorder records, so resident and batch need no program. A method that uses run.call cannot run here
/// and declares `static constexpr bool runs_in_kernel = false`.
///
/// A step gets no fast memory from its team: the block's may hold the vectors of the whole solve.
///
/// Several blocks may be the team (see cluster_team.hpp): then each finishes for itself, on scalars and controls of its
/// own, and a map for whole blocks runs in each.
///
/// Cancels and deadlines come from `root`, a loop around the method, such as a whole batch; without one, from the
/// method's own outermost loop. Its control must then be in memory that the whole device can read, not thread-local.
template <class Team>
class team_runner {
 public:
  WHILST_HD explicit team_runner(const Team& team, const control* root = nullptr)
      : team_(team), root_(root), has_root_(root) {}

  template <class Map>
  WHILST_HD void step(const char* name, index_type n, const Map& map) {
    step(name, n, map, no_finish{});
  }
  template <class Map, class Finish>
  WHILST_HD void step(const char*, index_type n, const Map& map, const Finish& finish) {
    if (!active()) return;
    constexpr bool has_sums = !std::is_void_v<detail::map_result<Map>>;
    if constexpr (has_sums && of_several_blocks<Team>) {
      sum_and_conclude(map, n, finish);
    } else if constexpr (has_sums) {
      detail::map_result<Map> total{};
      each(map, n, [&](const auto& share) { total += share; });
      conclude(finish, total);
      follow_leader();
      have_finished();
    } else {
      each(map, n, [](int) {});
      if constexpr (std::is_same_v<Finish, no_finish>) {
        team_.sync();
      } else {
        finish_alone(finish);
      }
    }
  }
  template <class Map, class Finish, class Sequel>
  WHILST_HD void step(const char* name, index_type n, const Map& map, const Finish& finish, const char* sequel_name,
                      const Sequel& sequel) {
    step(name, n, map, finish);
    step(sequel_name, n, sequel);
  }
  /// For maps that get a whole block per index from a recorder: here they get this team.
  template <class Map>
  WHILST_HD void team(const char* name, index_type n, const Map& map) {
    team(name, n, map, no_finish{});
  }
  template <class Map, class Finish>
  WHILST_HD void team(const char* name, index_type n, const Map& map, const Finish& finish) {
    static_assert(detail::works_by_block<Map>,
                  "a map for whole blocks says so: static constexpr bool whole_block = true");
    step(name, n, map, finish);
  }
  template <class Finish>
  WHILST_HD void once(const char*, const Finish& finish) {
    if (active()) finish_alone(finish);
  }

  template <class Body>
  WHILST_HD void loop(const char* name, control* c, const Body& body) {
    loop(
        name, c, [](team_runner&) {}, body);
  }
  template <class Start, class Body>
  WHILST_HD void loop(const char*, control* c, const Start& start, const Body& body) {
    if (!active()) return;
    control* const outer = current_;
    const control* const outer_root = root_;
    const bool outer_has_root = has_root_, outer_in_loop = in_loop_;
    if (!has_root_) root_ = c;
    has_root_ = in_loop_ = true;
    const bool outer_finished = finished_, outer_is_open = trip_is_open_;
    trip_is_open_ = false;
    team_.sync();
    if (leads()) c->arm(true);
    follow_leader();
    // Of a control in global memory a read after each barrier would cost more than a short step.
    index_type trips_left = c->trips_left;
    const bool tells = has_host_apart && may_take_long() && c->for_host;
    if constexpr (!has_host_apart) deadline_at_ = root_->outside.deadline_at;
    current_ = c;
    active_ = true;  // as it was armed
    start(*this);
    if (leads()) {
      c->open();
      tell_host(*c);
    }
    follow_leader();
    look();
    while (active()) {
      finished_ = false;
      trip_is_open_ = true;
      hear();
      body(*this);
      // A thread still reading the body's last verdict may see this one instead: it looks again below.
      if (!finished_ || trip_is_open_) {
        const reason asked = outside_verdict();
        if (leads() && !finished_ && c->running) count_iteration{}(*c);
        close_trip(asked);
        team_.sync();
        look();
      }
      if (--trips_left < 0) active_ = false;
      if (active() && tells) tell_host(*c);
    }
    if (leads()) {
      if (c->running) c->stop(reason::iteration_limit);
      c->stopped_at = now_nanoseconds();
      tell_host(*c);
    }
    current_ = outer;
    root_ = outer_root;
    has_root_ = outer_has_root;
    in_loop_ = outer_in_loop;
    finished_ = outer_finished;
    trip_is_open_ = outer_is_open;
    if (trip_is_open_) hear();
    look();
  }

  template <class Body>
  WHILST_HD void branch(const char*, const int* flag, const Body& body) {
    team_.sync();
    const bool outer_finished = finished_;
    const bool taken = active() && *flag;
    team_.sync();
    if (taken) body(*this);
    finished_ = outer_finished;
  }
  template <class Body, class Otherwise>
  WHILST_HD void branch(const char* name, const int* flag, const Body& body, const Otherwise& otherwise) {
    choose(
        name, [&] { return *flag ? 0 : 1; }, body, otherwise);
  }
  template <class... Bodies>
  WHILST_HD void select(const char* name, const int* choice, const Bodies&... bodies) {
    choose(
        name, [&] { return *choice; }, bodies...);
  }
  template <class... Bodies>
  WHILST_HD void parallel(const char*, const Bodies&... bodies) {
    const bool outer_finished = finished_;
    (bodies(*this), ...);
    finished_ = outer_finished;
  }

 private:
#if defined(__CUDACC__)
  static constexpr bool is_block = std::is_same_v<Team, block_team> || std::is_same_v<Team, cluster_team>;
#endif

  /// Whether controls may have a for_host: only blocks that share a system keep them in memory of their own. The code
  /// for it would cost short steps of other teams, whose loops then have registers for less.
  static constexpr bool has_host_apart = of_several_blocks<Team>;
  WHILST_HD static void tell_host(const control& c) {
    if constexpr (has_host_apart) c.tell_host();
  }
  /// What is asked from outside in this trip. Memory latency is long: read at its beginning, used with its first
  /// finish. Threads of one block keep the request to cancel, and for the whole loop the deadline, and all of them read
  /// it: for a leader alone, or for more words, nvcc lets go of the addresses that short steps need at once.
  using heard = std::conditional_t<has_host_apart, outside_wish, std::uint64_t>;
  WHILST_HD void hear() {
    if constexpr (has_host_apart) {
      if (leads()) heard_ = root_->wish();
    } else {
      heard_ = root_->cancel_request_here();
    }
  }
  WHILST_HD reason verdict_of_heard() const {
    if constexpr (has_host_apart) {
      return heard_.verdict();
    } else {
      if ((heard_ | deadline_at_) == 0) [[likely]]
        return reason::running;
      if (heard_ != 0) return root_->verdict_here();
      return now_nanoseconds() >= deadline_at_ ? reason::deadline : reason::running;
    }
  }

  /// Whether this thread finishes steps, for its team or for its block of it.
  WHILST_HD bool leads() const {
    if constexpr (of_several_blocks<Team>) {
      return team_.leads();
    } else {
      return team_.rank() == 0;
    }
  }
  /// One that does what takes long and is in no hurry: of one block, a thread that the leader does not wait for; of
  /// several, the leader, which does such things while the others go on.
  WHILST_HD bool may_take_long() const {
    if constexpr (of_several_blocks<Team>) {
      return leads();
    } else {
      return team_.rank() == team_.size() - 1;
    }
  }
  /// Waits for what the leader does.
  WHILST_HD void follow_leader() const {
    if constexpr (of_several_blocks<Team>) {
      team_.sync_block();
    } else {
      team_.sync();
    }
  }

  /// A finish without sums, which may be of anything that the map wrote.
  template <class Finish>
  WHILST_HD void finish_alone(const Finish& finish) {
    const auto call = [&] { detail::call_finish(finish, current_, detail::finish_read_phase(finish)); };
    if constexpr (of_several_blocks<Team>) {
      const reason asked = outside_verdict();
      team_.meet();
      if (leads()) call();
      close_trip(asked);
    } else {
      team_.sync();
      if (leads()) {
        call();
        // Asked outside this branch, nvcc would have all threads wait for what they hear before they run the map.
        if (trip_is_open_) current_->close_trip(verdict_of_heard());
      }
    }
    follow_leader();
    have_finished();
  }
  WHILST_HD void have_finished() {
    finished_ = true;
    trip_is_open_ = false;
    look();
  }
  /// With the first finish of a trip, so that it needs no barrier of its own.
  WHILST_HD void close_trip(reason asked) const {
    if (trip_is_open_ && leads()) current_->close_trip(asked);
  }
  /// For the leader, where it closes a trip. A sum or a sync() of the team comes before the next call.
  WHILST_HD reason outside_verdict() const {
    return trip_is_open_ && leads() ? agreed(verdict_of_heard()) : reason::running;
  }

  /// What the team makes of a verdict from outside, which blocks may learn at different times.
  WHILST_HD reason agreed(reason asked) const {
    if constexpr (of_several_blocks<Team>) {
      return team_.agree(asked);
    } else {
      return asked;
    }
  }

  template <class Choice, class... Bodies>
  WHILST_HD void choose(const char*, const Choice& choice, const Bodies&... bodies) {
    team_.sync();
    const bool outer_finished = finished_;
    const int chosen = active() ? choice() : -1;
    team_.sync();
    int k = 0;
    ((chosen == k++ ? bodies(*this) : void()), ...);
    finished_ = outer_finished;
  }

  /// A step with sums in several blocks. Where leaders have no indices, what they do before the sums are complete, and
  /// after the others know the verdict, is in nobody's way.
  template <class Map, class Finish>
  WHILST_HD void sum_and_conclude(const Map& map, index_type n, const Finish& finish) {
    using sums_type = detail::map_result<Map>;
    using reads_type = decltype(detail::finish_read_phase(finish));
    sums_type share{};
    each(map, n, [&](const auto& of_index) { share += of_index; });
    // That of one lane of a group counts: cheaper to sort out here than with each index.
    if (Team::divided(detail::lanes_wanted(map)).rank() != 0) share = {};
    if constexpr (detail::by_warp<Finish> || !detail::takes_loop<Finish, reads_type, sums_type>) {
      conclude(finish, share);
      follow_leader();
    } else {
      reads_type reads{};
      if (team_.may_lead()) {  // the others add up their shares meanwhile
        reads = detail::finish_read_phase(finish);
        detail::prepare_finish(finish, reads);
      }
      const reason asked = outside_verdict();
      const sums_type total = team_.sum_on_leader(share);
      if (leads()) {
        loop_state state = *current_;  // in registers: it is read and written once
        state.records = loop_state::recording::later;
        detail::call_prepared_finish(finish, &state, reads, total);
        if (trip_is_open_) state.close_trip(asked);
        static_cast<loop_state&>(*current_) = state;
      }
      follow_leader();
      if (leads()) current_->catch_up();
    }
    have_finished();
  }

  /// Calls a finish with the total of all threads' sums: on the first thread, or on a block's first warp if it asks for
  /// one. Then closes the trip.
  template <class Finish, class Total>
  WHILST_HD void conclude(const Finish& finish, const Total& share) const {
    const reason asked = outside_verdict();
#if defined(__CUDA_ARCH__)
    if constexpr (detail::by_warp<Finish> && is_block) {
      const Total total = team_.sum_on_leader(share);
      if (threadIdx.x < whole_warp::size()) conclude_by_warp(finish, total);
      close_trip(asked);
    } else
#endif
    {
      const Total total = team_.sum_on_leader(share);
      if (leads()) detail::call_finish(finish, current_, detail::finish_read_phase(finish), total);
      close_trip(asked);
    }
  }
#if defined(__CUDACC__)
  struct copy_by_warp {
    template <class T>
    __device__ void operator()(T& target, const T* source) const {
      whole_warp().copy(target, *source);
    }
  };
  template <class Finish, class Total>
  __device__ void conclude_by_warp(const Finish& finish, const Total& of_leader) const {
    using copied = typename Finish::copied;
    __shared__ Total total;
    __shared__ __align__(16) std::byte copies_memory[sizeof(copied)];
    copied& copies = *reinterpret_cast<copied*>(copies_memory);
    finish.copy_ahead(copies, copy_by_warp());
    if (leads()) total = of_leader;
    loop_state state = *current_;
    whole_warp::sync();
    finish(whole_warp(), total, state, copies);
    whole_warp::sync();
    if (leads()) static_cast<loop_state&>(*current_) = state;
  }
#endif

  /// Whether the current loop still ran at the last look: each thread looks after a barrier that follows a verdict.
  WHILST_HD bool active() const { return active_; }
  WHILST_HD void look() { active_ = !in_loop_ || current_->running; }

  /// The team that maps get: no kernel precedes the running step, and this kernel wrote what it reads early.
  template <class Group>
  struct team_of_step : Group {
    const Team& all;
    WHILST_HD static void* fast_memory() { return nullptr; }
    template <class T>
    WHILST_HD static T early(const T* address) {
#if defined(__CUDA_ARCH__)
      if constexpr (std::is_same_v<Team, block_team>) return read_in_order(address);
#endif
      // In the order of the source, too; but assembler would hide that it is shared memory.
      if constexpr (of_several_blocks<Team>) return *static_cast<const volatile T*>(address);
      return *address;
    }
    /// A vector whose entries at other indices a map reads: see gathered().
    template <class T>
    WHILST_HD auto gathered(const T* x) const requires of_several_blocks<Team> {
      return all.gathered(x);
    }
  };

  /// Calls `map` for this thread's indices, or for all of them if it works by teams; `take` receives its result, if
  /// any: of several lanes with an index that of the first, but in teams of several blocks that of each.
  template <class Map, class Take>
  WHILST_HD void each(const Map& map, index_type n, const Take& take) const {
    constexpr detail::team_kind kind = detail::team_kind_of<Map>();
    if constexpr (kind == detail::team_kind::block) {
      for_each_block_index(map, n, take);
    } else {
      constexpr bool wants_lanes = kind == detail::team_kind::lanes;
      const team_of_step<lanes> group{{wants_lanes ? Team::divided(detail::lanes_wanted(map)) : lanes()}, team_};
      if constexpr (of_several_blocks<Team>) {
        const auto each_by = [&](const Map& map) {
          for_own_indices(team_, group.size(), n, [&](index_type i) { apply(map, i, group, take); });
        };
        if constexpr (requires { map.handed; }) {
          // Read once, not again with each index that a thread has.
          const auto handed = *map.handed;
          Map here = map;
          here.handed = &handed;
          each_by(here);
        } else {
          each_by(map);
        }
      } else {
        const int groups = wants_lanes ? team_.groups(group.size()) : team_.size();
        for (index_type i = wants_lanes ? team_.group(group.size()) : team_.rank(); i < n; i += groups)
          apply(map, i, group, take);
      }
    }
  }
  template <class Map, class Take>
  WHILST_HD void for_each_block_index(const Map& map, index_type n, const Take& take) const {
    const auto each_by = [&](const auto& all) {
      for (index_type i = 0; i < n; ++i) {
        apply(map, i, all, take);
        all.sync();
      }
    };
    if constexpr (of_several_blocks<Team>) {
      static_assert(std::is_void_v<detail::map_result<Map>>, "each block would contribute the same sums");
      each_by(team_of_step<typename Team::block>{{}, team_});
    } else {
      each_by(team_of_step<Team>{team_, team_});
    }
  }
  template <class Map, class Group, class Take>
  WHILST_HD static void apply(const Map& map, index_type i, const Group& group, const Take& take) {
    if constexpr (std::is_void_v<detail::map_result<Map>>) {
      detail::apply_map(map, i, group);
    } else {
      const auto share = detail::apply_map(map, i, group);
      if (of_several_blocks<Team> || group.rank() == 0) take(share);
    }
  }

  Team team_;
  control* current_ = nullptr;
  const control* root_ = nullptr;
  bool has_root_, in_loop_ = false;  ///< known to nvcc; whether an address in shared memory is null is not
  bool active_ = true;
  bool finished_ = false;          ///< a step directly in the loop's body has had a finish in this trip
  bool trip_is_open_ = false;      ///< no finish has closed this trip yet
  heard heard_{};                  ///< of several blocks, on the leader
  std::uint64_t deadline_at_ = 0;  ///< of the root loop; of one block only
};

}  // namespace whilst
