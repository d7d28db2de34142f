#pragma once

#include <type_traits>
#include <utility>

#include "whilst/engine/recorder.hpp"
#include "whilst/exchange/group_exchange.hpp"
#include "whilst/exchange/group_step.hpp"
#include "whilst/exchange/round_step.hpp"

namespace whilst {

/// A runner that records for a group: whatever sums a step makes, its finish receives those of all ranks. All ranks
/// record the same steps in the same order, each for its own indices, of which it may have none; a verdict follows from
/// sums, or from what finishes have made of sums, so that all ranks give the same ones. What is asked of one rank, to
/// cancel or by a deadline, all obey in the same iteration.
///
/// A step with sums becomes two: one gives this rank's, the other waits for everybody's. Its sequel is a third, but on
/// a GPU where each block may run the finish: see group_step. It converts to the recorder it writes to: what is
/// recorded there is this rank's own affair, and the others do not wait for it.
class group_recorder {
 public:
  /// The exchange must outlive the program.
  group_recorder(recorder& target, const group_exchange& ranks) : group_recorder(target, ranks, nullptr, nullptr) {}

  operator recorder&() const { return target_; }
  place where() const { return target_.where(); }
  const group_exchange& ranks() const { return ranks_; }
  /// The flag of the innermost loop that is being recorded: 0 once that has stopped. Null outside loops.
  const int* running() const { return loop_ ? &loop_->running : nullptr; }

  template <class Map, class Finish = no_finish, class Sequel = no_sequel>
  void step(const char* name, index_type n, const Map& map, const Finish& finish = {},
            const char* sequel_name = nullptr, const Sequel& sequel = {}) {
    using total = detail::map_result<Map>;
    const end_halo_round ends = std::exchange(halo_round_, {});
    if constexpr (std::is_void_v<total>) {
      if constexpr (std::is_same_v<Finish, no_finish>) {
        if (ends.state) {
          target_.step(name, n, map, ends);
        } else {
          target_.step(name, n, map);
        }
      } else {
        target_.step(name, n, map, finish);
        if (ends.state) target_.once("end the round of a halo", ends);
      }
    } else {
      target_.step(name, n, map, give_sums<total>{ranks_, root_, ends});
      ++rounds_;
#if defined(__CUDACC__)
      if constexpr (finishes_in_group_step<Finish, Sequel>) {
        if (!where().on_host() && n > 0) {
          target_.check_step(sequel_name, false, true);
          const auto sends = sends_of(map, sequel);
          target_.add_step(new group_step<total, Finish, Sequel, std::remove_const_t<decltype(sends)>>(
              sequel_name, n, ranks_, finish, sequel, sends));
          return;
        }
      }
#endif
      target_.step("sums of all ranks", ranks_.ranks, sums_of_ranks<total>{ranks_}, finish);
    }
    if constexpr (!std::is_same_v<Sequel, no_sequel>) target_.step(sequel_name, n, sequel);
  }
  /// A step whose sums the next take_and_give takes: meanwhile they are under way.
  template <class Map>
  void give(const char* name, index_type n, const Map& map) {
    target_.step(name, n, map, give_sums<detail::map_result<Map>>{ranks_, root_, std::exchange(halo_round_, {}), true});
    ++rounds_;
  }
  /// Takes the sums that were given last and runs their finish; then, unless that stops the loop, a map, whose sums it
  /// gives. What the map reads is read before the sums are there, but for what the finish hands over: see
  /// made_by_rows::fill_in. sends: sends entries of what the map makes; send_apart(run) records the same after it. On a
  /// GPU all of it is one kernel. In a loop every body begins with one,
  /// and the last sums of `start` are those of a give().
  template <class Finish, class Map, class Sends, class SendApart>
  void take_and_give(const char* name, index_type n, const Finish& finish, const Map& map,
                     [[maybe_unused]] const Sends& sends, const SendApart& send_apart) {
    using total = detail::map_result<Map>;
    const give_sums<total> gives{ranks_, root_, {}, true};
    ++rounds_;
#if defined(__CUDACC__)
    if (!where().on_host()) {
      target_.check_step(name, false, true);
      target_.add_step(new round_step<total, Finish, Map, Sends>(name, n, finish, map, gives, sends));
      return;
    }
#endif
    target_.step("sums of all ranks", ranks_.ranks, sums_of_ranks<total>{ranks_}, finish);
    target_.step(name, n, map, gives);
    send_apart(*this);
  }
  /// The next step reads what others send, and ends that round.
  void reads_halo(const end_halo_round& round) { halo_round_ = round; }
  template <class Finish>
  void once(const char* name, const Finish& finish) {
    target_.once(name, finish);
  }

  template <class Body>
  void loop(const char* name, control* c, const Body& body) {
    loop(
        name, c, [](auto&) {}, body);
  }
  template <class Start, class Body>
  void loop(const char* name, control* c, const Start& start, const Body& body) {
    target_.loop(
        name, c, [&](recorder& run) { within(run, c, start); },
        [&](recorder& run) {
          // Without a round ranks would part when one is asked to stop.
          if (within(run, c, body) == 0) within(run, c, [](group_recorder& inner) { inner.agree(); });
        });
    if (!root_) target_.once("blame the lost rank", blame_lost_rank{ranks_.state, c});
  }
  template <class... Bodies>
  void branch(const char* name, const int* flag, const Bodies&... bodies) {
    target_.branch(name, flag, [&](recorder& run) { within_same_loop(run, bodies); }...);
  }
  template <class... Bodies>
  void select(const char* name, const int* choice, const Bodies&... bodies) {
    target_.select(name, choice, [&](recorder& run) { within_same_loop(run, bodies); }...);
  }

  /// A round in which nothing is added up.
  void agree() { step("agree", 0, no_sums_to_add{}, nothing_to_finish{}); }

 private:
  group_recorder(recorder& target, const group_exchange& ranks, control* root, control* loop)
      : target_(target), ranks_(ranks), root_(root), loop_(loop) {}

  /// How a sequel sends entries of the vector that it makes, where the next run of the map multiplies it.
  template <class Map, class Sequel>
  static auto sends_of([[maybe_unused]] const Map& map, [[maybe_unused]] const Sequel& sequel) {
    if constexpr (requires { map.A.sends_of(sequel.u); }) {
      return map.A.sends_of(map.x == sequel.u ? sequel.u : nullptr);
    } else {
      return no_sends{};
    }
  }

  /// Returns how many rounds each run of the body has at least.
  template <class Body>
  int within(recorder& run, control* loop, const Body& body) const {
    group_recorder inner(run, ranks_, root_ ? root_ : loop, loop);
    body(inner);
    return inner.rounds_;
  }
  template <class Body>
  void within_same_loop(recorder& run, const Body& body) const {
    group_recorder inner(run, ranks_, root_, loop_);
    body(inner);
  }

  recorder& target_;
  group_exchange ranks_;
  control *root_, *loop_;
  int rounds_ = 0;
  end_halo_round halo_round_;
};

}  // namespace whilst
