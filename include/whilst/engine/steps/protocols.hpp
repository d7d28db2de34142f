#pragma once

/// Checks maps and finishes against phases.hpp before use: an error here names the member at fault, instead of failing
/// deep inside a template.

#include <type_traits>
#include <utility>

#include "whilst/engine/steps/phases.hpp"

namespace whilst::detail {

/// Whether a class has members named `read`, with any parameters; see has_fetch.
struct names_read {
  void read();
};
template <class Functor>
struct names_read_too : Functor, names_read {};
template <class Functor>
constexpr bool has_read() {
  if constexpr (!std::is_class_v<Functor> || std::is_final_v<Functor>) {
    return false;
  } else {
    return !requires { &names_read_too<Functor>::read; };
  }
}

// A map for whole blocks gets a team that does not exist on the host: what is not checked below.

/// Each has its own message and is tested only once the previous ones hold.
template <class Map>
constexpr bool is_map_whose_fetch_fits() {
  if constexpr (std::is_class_v<Map> && !std::is_final_v<Map> && !works_by_block<Map>) {
    if constexpr (has_fetch<Map>()) {
      constexpr bool fits = requires(const Map& map, const lanes& team) { map.fetch(index_type{}, team); };
      static_assert(fits, "a map's `fetch` is called as fetch(index_type, const Team&) const; this one cannot be");
      constexpr bool says = requires { Map::fetches_constants; };
      static_assert(says,
                    "a map with `fetch` says static constexpr bool fetches_constants = true or false: whether no step "
                    "of the program writes what it fetches");
      return fits && says;
    }
  }
  return true;
}

/// Not an alias where it is needed: for a map with a preconditioner, nvcc 12.4 then finds no read.
template <class Map>
using fetched_by = decltype(fetch_phase(std::declval<const Map&>(), index_type{}, lanes()));

template <class Map>
constexpr bool is_map_whose_read_fits() {
  if constexpr (!works_by_block<Map>) {
    if constexpr (has_read<Map>()) {
      constexpr bool fits = [] {
        if constexpr (has_read_own<Map>) {
          return requires(const Map& map, const lanes& team, const fetched_by<Map>& read) {
            map.read(index_type{}, team, read, map.read_own(index_type{}, team));
          };
        } else {
          return requires(const Map& map, const lanes& team, const fetched_by<Map>& read) {
            map.read(index_type{}, team, read);
          }
          || requires(const Map& map) { map.read(index_type{}); };
        }
      }();
      static_assert(fits,
                    "a map's `read` is called as read(index_type) const, as read(index_type, const Team&, what fetch "
                    "returned) const, or with what read_own returned besides; this one cannot be");
      return fits;
    }
  }
  return true;
}

template <class Map>
constexpr bool is_map_that_can_be_called() {
  if constexpr (works_by_block<Map>) {
    return true;
  } else {
    using fetched = decltype(fetch_phase(std::declval<const Map&>(), index_type{}, lanes()));
    using data =
        decltype(untold_read_phase(std::declval<const Map&>(), index_type{}, lanes(), std::declval<const fetched&>()));
    constexpr bool fits = is_told<Map, data> || [] {
      constexpr bool wants_team = team_kind_of<Map>() != team_kind::none,
                     has_data = !std::is_same_v<data, nothing_read>;
      if constexpr (wants_team && has_data) {
        return std::is_invocable_v<const Map&, index_type, const lanes&, const data&>;
      } else if constexpr (wants_team) {
        return std::is_invocable_v<const Map&, index_type, const lanes&>;
      } else if constexpr (has_data) {
        return std::is_invocable_v<const Map&, index_type, const data&>;
      } else {
        return std::is_invocable_v<const Map&, index_type>;
      }
    }();
    static_assert(fits,
                  "a map is called by its `operator()` const with the index_type; then the team, if it says "
                  "lanes_wanted() or whole_block; then what its read, or else its fetch, returned; this one cannot be");
    return fits;
  }
}

/// Total is what the map returns: sums, or void.
template <class Finish, class Total>
constexpr bool is_finish_for() {
  if constexpr (std::is_same_v<Finish, no_finish> && std::is_arithmetic_v<Total>) {
    static_assert(!std::is_arithmetic_v<Total>,
                  "a map without a finish returns nothing; one that returns the entry of r that it has made is passed "
                  "as preconditioned(M, map, r, u), which makes u = M r");
    return false;
  } else if constexpr (std::is_same_v<Finish, no_finish>) {
    static_assert(std::is_void_v<Total>, "a map that returns sums needs a finish that receives them");
    return std::is_void_v<Total>;
  } else {
    using data = decltype(finish_read_phase(std::declval<const Finish&>()));
    constexpr bool fits = [] {
      if constexpr (std::is_void_v<Total>) {
        return std::is_invocable_v<const Finish&> || std::is_invocable_v<const Finish&, loop_state&> ||
               std::is_invocable_v<const Finish&, const data&> ||
               std::is_invocable_v<const Finish&, loop_state&, const data&>;
      } else {
        return by_warp<Finish> || std::is_invocable_v<const Finish&, const Total&> ||
               std::is_invocable_v<const Finish&, const Total&, loop_state&> ||
               std::is_invocable_v<const Finish&, const Total&, const data&> ||
               std::is_invocable_v<const Finish&, const Total&, loop_state&, const data&>;
      }
    }();
    static_assert(
        fits,
        "a finish is called by its `operator()` const with the sums that the map returns, if any, as wide as "
        "those (Total); then the loop_state&, if it takes that; then what its read() returned, if it has one");
    return fits;
  }
}

/// Whether these make a step; assertions have reported what is missing.
template <class Map, class Finish>
constexpr bool are_step() {
  if constexpr (is_map_whose_fetch_fits<Map>()) {
    if constexpr (is_map_whose_read_fits<Map>()) {
      if constexpr (is_map_that_can_be_called<Map>()) {
        if constexpr (works_by_block<Map>)
          return true;
        else
          return is_finish_for<Finish, map_result<Map>>();
      }
    }
  }
  return false;
}

/// Whether Sequel may follow a step of this map and finish, as no_sequel always may; assertions have reported what is
/// missing. Step: map_step<Map, Finish>.
template <class Sequel, class Map, class Finish, class Step>
constexpr bool is_sequel_of() {
  if constexpr (std::is_same_v<Sequel, no_sequel>) {
    return true;
  } else if constexpr (are_step<Map, Finish>() && are_step<Sequel, no_finish>()) {
    static_assert(!works_by_block<Map> && team_kind_of<Sequel>() == team_kind::none &&
                      !std::is_void_v<map_result<Map>> && std::is_void_v<map_result<Sequel>>,
                  "a sequel has one thread an index and no sums, the map before it sums and works on no block's index");
    static_assert(Step::takes_loop && hands_to<Finish, Sequel>,
                  "the finish before a sequel takes the loop's state, and both have a pointer `handed` to one struct");
    return true;
  } else {
    return false;
  }
}

}  // namespace whilst::detail
