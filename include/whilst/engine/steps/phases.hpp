#pragma once

/// Maps and finishes: their possible phases, and how each kind of runner calls them.

#include <type_traits>
#include <utility>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/control.hpp"

namespace whilst {

/// Stands for the finish of a step without one.
struct no_finish {};
/// Stands for the sequel of a step without one.
struct no_sequel {};

namespace detail {

/// Stands for the map of a step that is only a finish.
struct no_map {
  WHILST_HD void operator()(index_type) const {}
};

/// What a map needs per index: only the index, a group of lanes, a whole block, or several blocks, a cluster.
enum class team_kind { none, lanes, block, cluster };

template <class Map>
constexpr team_kind team_kind_of() {
  if constexpr (requires { Map::whole_cluster; }) {
    return team_kind::cluster;
  } else if constexpr (requires { Map::whole_block; }) {
    return team_kind::block;
  } else if constexpr (requires(const Map& map) { map.lanes_wanted(); }) {
    return team_kind::lanes;
  } else {
    return team_kind::none;
  }
}
template <class Map>
constexpr bool works_by_block = team_kind_of<Map>() == team_kind::block || team_kind_of<Map>() == team_kind::cluster;

/// What a phase that a map lacks hands to the next.
struct nothing_read {};

/// For a sequel with a read, whose operator() takes what the finish handed over as well as what was read: its read uses
/// none of what is handed over, and precedes the finish if the two share a kernel.
template <class Map, class Data>
concept is_told = team_kind_of<Map>()
== team_kind::none&& requires(const Map& map, const Data& data) { map(index_type{}, data, *map.handed); };
/// For a sequel whose read returns what is handed over as a member `handed`: it reads nothing else that the finish
/// writes, so that it may precede the finish where `handed` is filled in afterwards.
template <class Map, class Data>
concept keeps_handed = requires(const Map& map, Data& data) {
  data.handed = *map.handed;
};
template <class Data, class Handed>
struct read_and_told {
  Data read;
  Handed told;
};

/// The three phases of a map at one index; only the last is required.
///
///   fetch(i, team)           reads, while the previous step still runs, what that step does not write: a matrix, or,
///                            by team.early, what older steps wrote. A map with a fetch declares fetches_constants:
///                            false, or true if it fetches only what no step of the program writes. Then its kernel
///                            may start before the older steps have ended, which better hides its launch and the
///                            fetch's time
///   read(i, team, fetched)   reads anything, writes nothing: before it is known whether the loop has stopped. Whole
///                            warps fetch and read together, so sums over a team cost least here
///   operator()               computes and writes; takes i, then the team if the map asked for one, then what was read,
///                            then, in a sequel, optionally what the finish handed over
///
/// A read may be preceded by read_own(i, team), which reads by team.early only what no step of the program writes
/// except this step's own map; read(i, team, fetched, own) then receives it. It is read ahead if the map's last run is
/// known to be over.
///
/// Dependent reads make up most of a small step's time. A map with only operator()(i) is correct, and as fast as
/// possible if memory bandwidth is the limit.
template <class Map, class Team>
WHILST_HD auto fetch_phase([[maybe_unused]] const Map& map, [[maybe_unused]] index_type i,
                           [[maybe_unused]] const Team& team) {
  if constexpr (requires { map.fetch(i, team); }) {
    return map.fetch(i, team);
  } else {
    return nothing_read{};
  }
}
template <class Map>
concept has_read_own = requires(const Map& map, const lanes& team) {
  map.read_own(index_type{}, team);
};
template <class Map, class Team>
WHILST_HD auto read_own_phase([[maybe_unused]] const Map& map, [[maybe_unused]] index_type i,
                              [[maybe_unused]] const Team& team) {
  if constexpr (has_read_own<Map>) {
    return map.read_own(i, team);
  } else {
    return nothing_read{};
  }
}
template <class Map, class Team, class Fetched, class Own>
WHILST_HD auto read_after_own_phase([[maybe_unused]] const Map& map, [[maybe_unused]] index_type i,
                                    [[maybe_unused]] const Team& team, const Fetched& fetched,
                                    [[maybe_unused]] const Own& own) {
  if constexpr (has_read_own<Map>) {
    return map.read(i, team, fetched, own);
  } else if constexpr (requires { map.read(i, team, fetched); }) {
    return map.read(i, team, fetched);
  } else if constexpr (requires { map.read(i); }) {
    return map.read(i);
  } else {
    return fetched;
  }
}
template <class Map, class Team, class Fetched>
WHILST_HD auto untold_read_phase(const Map& map, index_type i, const Team& team, const Fetched& fetched) {
  return read_after_own_phase(map, i, team, fetched, read_own_phase(map, i, team));
}
template <class Map, class Team, class Fetched>
WHILST_HD auto read_phase(const Map& map, index_type i, const Team& team, const Fetched& fetched) {
  using data = decltype(untold_read_phase(map, i, team, fetched));
  if constexpr (is_told<Map, data>) {
    using told = std::remove_cvref_t<decltype(*map.handed)>;
    return read_and_told<data, told>{untold_read_phase(map, i, team, fetched), *map.handed};
  } else {
    return untold_read_phase(map, i, team, fetched);
  }
}
template <class Map, class Team, class Data, class Handed>
WHILST_HD void write_phase(const Map& map, index_type i, const Team&, const read_and_told<Data, Handed>& data) {
  map(i, data.read, data.told);
}
template <class Map, class Team, class Data>
WHILST_HD auto write_phase(const Map& map, index_type i, [[maybe_unused]] const Team& team,
                           [[maybe_unused]] const Data& data) {
  constexpr bool has_data = !std::is_same_v<Data, nothing_read>;
  if constexpr (team_kind_of<Map>() == team_kind::none) {
    if constexpr (has_data) {
      return map(i, data);
    } else {
      return map(i);
    }
  } else {
    if constexpr (has_data) {
      return map(i, team, data);
    } else {
      return map(i, team);
    }
  }
}
template <class Map, class Team>
WHILST_HD auto apply_map(const Map& map, index_type i, const Team& team) {
  return write_phase(map, i, team, read_phase(map, i, team, fetch_phase(map, i, team)));
}

/// Whether a class has members named fetch, with any parameters: then the name is ambiguous here.
struct names_fetch {
  void fetch();
};
template <class Functor>
struct names_fetch_too : Functor, names_fetch {};
/// Nothing can derive from a union or a final class, so assume they have them. A function pointer has none.
template <class Functor>
constexpr bool has_fetch() {
  if constexpr (!std::is_class_v<Functor> || std::is_final_v<Functor>) {
    return std::is_class_v<Functor> || std::is_union_v<Functor>;
  } else {
    return !requires { &names_fetch_too<Functor>::fetch; };
  }
}

/// Whether a map, or an operator within one, reads nothing in its fetch that a step of the program writes. A class
/// derived from one that declares this must redeclare it if it fetches more.
template <class Functor>
constexpr bool fetches_only_constants() {
  if constexpr (requires { Functor::fetches_constants; }) {
    return Functor::fetches_constants;
  } else {
    return !has_fetch<Functor>();
  }
}

/// All threads of a warp, where there are warps, call a finish that declares whole_warp = true as finish(team, totals,
/// loop, copies): each has the totals and a copy of the loop's state, and rank 0's copy counts. `copies` has the
/// finish's type `copied`; copy_ahead(copies, copy) fills it by calls copy(part of it, address) in 16-byte pieces, from
/// memory that the map of its step does not write. All threads share this object and may modify it. A single thread
/// gains nothing from reading ahead: a finish may also have in_place(), whose result replaces the copies there and
/// refers to what would be copied.
template <class Finish>
constexpr bool by_warp = requires {
  Finish::whole_warp;
};
/// Such a finish may also declare in_halves = true. It then consists of first(team, totals, loop, copies) and
/// second(team, totals, copies), neither of which reads what the other writes, followed by join(team, loop, copies) and
/// keep(team, copies), likewise independent, which use the results of both halves. The step's kernel gives first and
/// join to one warp and second and keep to another, concurrently, and runs keep beside what follows the finish: keep
/// writes nothing that the sequel, the flag of a branch or the arming of a loop reads. Elsewhere operator() does all of
/// it in turn; it may skip a second half that the first does not need.
///
/// A finish in halves, or one of a single thread, may declare by_each_block = true: several blocks may run it
/// concurrently, each on its own copies, with the same result. So it uses no clock and no block index. One in halves
/// reads memory in copy_ahead only, and there nothing that the sequel writes; and it writes memory in join and keep
/// only, by team.copy, except `handed` and histories: if loop.history is null it writes none. One of a single thread
/// reads memory in read only, likewise, and writes nothing but `handed` and the loop's state.
template <class Finish>
constexpr bool in_halves = [] {
  if constexpr (requires { Finish::in_halves; }) {
    return Finish::in_halves;
  } else {
    return false;
  }
}();
template <class Finish>
constexpr bool by_each_block = [] {
  if constexpr (requires { Finish::by_each_block; }) {
    static_assert(in_halves<Finish> || !by_warp<Finish> || !Finish::by_each_block,
                  "a finish by a whole warp that each block runs is one in halves");
    return Finish::by_each_block;
  } else {
    return false;
  }
}();
/// Threads that run a finish of a step on a GPU.
template <class Finish>
constexpr int finishing_threads = in_halves<Finish> ? 64
                                  : by_warp<Finish> ? 32
                                                    : 1;

template <class Finish>
struct copied_by {
  struct type {};
};
template <class Finish>
requires by_warp<Finish>
struct copied_by<Finish> {
  using type = typename Finish::copied;
};

/// Other finishes are called as finish(totals...), or finish(totals..., loop) with the state of the loop that they are
/// in; and, if they have read(), which reads only what the step's map does not write, with its result as the last
/// argument. A finish may also have prepare(result), which works out what needs no totals: after read(), and where the
/// runner can before the totals are there.
template <class Finish>
WHILST_HD auto finish_read_phase([[maybe_unused]] const Finish& finish) {
  if constexpr (requires { finish.read(); }) {
    return finish.read();
  } else {
    return nothing_read{};
  }
}
template <class Finish, class Data, class... Total>
constexpr bool takes_loop = by_warp<Finish> || std::is_invocable_v<const Finish&, const Total&..., loop_state&> ||
                            std::is_invocable_v<const Finish&, const Total&..., loop_state&, const Data&>;
template <class Finish, class Data>
WHILST_HD void prepare_finish([[maybe_unused]] const Finish& finish, [[maybe_unused]] Data& data) {
  if constexpr (requires { finish.prepare(data); }) finish.prepare(data);
}
template <class Finish, class Data, class... Total>
WHILST_HD void call_prepared_finish(const Finish& finish, [[maybe_unused]] loop_state* loop,
                                    [[maybe_unused]] const Data& data, const Total&... total) {
  constexpr bool has_data = !std::is_same_v<Data, nothing_read>;
  if constexpr (by_warp<Finish> && requires { finish.in_place(); }) {
    auto originals = finish.in_place();
    finish(one_thread(), total..., *loop, originals);
  } else if constexpr (by_warp<Finish>) {
    typename Finish::copied copies;
    finish.copy_ahead(copies, [](auto& target, const auto* source) { target = *source; });
    finish(one_thread(), total..., *loop, copies);
  } else if constexpr (takes_loop<Finish, Data, Total...>) {
    if constexpr (has_data) {
      finish(total..., *loop, data);
    } else {
      finish(total..., *loop);
    }
  } else if constexpr (has_data) {
    finish(total..., data);
  } else {
    finish(total...);
  }
}

template <class Finish, class Data, class... Total>
WHILST_HD void call_finish(const Finish& finish, loop_state* loop, Data data, const Total&... total) {
  prepare_finish(finish, data);
  call_prepared_finish(finish, loop, data, total...);
}

/// A finish passes data to its step's sequel in a struct in memory of the place; both point to it by `handed`. The
/// finish writes all that the sequel will use, unless it stops the loop. If the two share a kernel, the pointers are
/// redirected to shared memory; only a finish of one thread that does not stop has its data copied back to the original
/// address, since it may read them next time.
template <class Finish>
struct handed_by {
  struct type {};
};
template <class Finish>
requires requires(const Finish& finish) { finish.handed; }
struct handed_by<Finish> {
  using type = std::remove_pointer_t<decltype(Finish::handed)>;
};
/// A map by blocks may tell the finish of its step something: its operator() at index 0 writes a struct in memory of
/// the place, which is all of the map's writes that the finish reads; both point to it by `told`. Such a map is called
/// with one more argument, has_read, and calls it at every other index on all threads, after a sync() of its team, once
/// the team has read and used all that the finish may write. The finish then need not wait for what the map does at
/// those indices afterwards: the first block calls it, or the last that has read, with a copy of the struct in shared
/// memory; that in memory is written only if it is needed there. Other runners call the map without has_read.
template <class Map, class Finish>
constexpr bool tells = works_by_block<Map>&& requires(Map& map, Finish& finish) {
  map.told = finish.told;
  *map.told = *finish.told;
};
template <class Map>
struct told_by {
  struct type {};
};
template <class Map>
requires requires(const Map& map) { map.told; }
struct told_by<Map> {
  using type = std::remove_pointer_t<decltype(Map::told)>;
};

template <class Finish, class Sequel>
constexpr bool hands_to = requires(const Finish& finish, Sequel& sequel) {
  sequel.handed = finish.handed;
};

/// sums<T, k>, or void for a map that produces none.
template <class Map>
using map_result = decltype(apply_map(std::declval<const Map&>(), index_type{}, lanes{}));

/// The lanes per index that a map asks for; 1 by default.
template <class Map>
WHILST_HD int lanes_wanted(const Map& map) {
  if constexpr (requires { map.lanes_wanted(); }) {
    return map.lanes_wanted();
  } else {
    return 1;
  }
}
}  // namespace detail

}  // namespace whilst
