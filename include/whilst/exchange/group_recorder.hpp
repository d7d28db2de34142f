#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/basics/restored.hpp"
#include "whilst/engine/group_decisions.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/exchange/group_exchange.hpp"
#include "whilst/exchange/group_step.hpp"
#include "whilst/exchange/round_step.hpp"

namespace whilst {

/// Whether a finish without sums says that what it reads follows from what finishes of sums have written, or is the
/// same on all ranks anyhow: static constexpr bool follows_from_totals = true. It may then take the state of a group's
/// loop.
template <class Finish>
inline constexpr bool follows_from_totals = requires {
  requires Finish::follows_from_totals;
};
template <>
inline constexpr bool follows_from_totals<count_iteration> = true;

/// A runner that records for a group: whatever sums a step makes, its finish receives those of all ranks. All ranks
/// record the same steps in the same order, each for its own indices, of which it may have none; a verdict follows from
/// sums, or from what finishes have made of sums, so that all ranks give the same ones. What is asked of one rank, to
/// cancel or by a deadline, all obey in the same iteration.
///
/// Refused with a whilst::error is what would let ranks part, as far as steps tell:
///
/// - a finish without sums that takes the state of a loop, unless it follows_from_totals;
/// - a finish that takes the state of a group's loop in a step that a rank records by itself, by the recorder below;
/// - a branch whose flag, or a select whose choice, no finish of sums before it declares to write (`writes`), or that
///   anything else declares to write, and a step other than those that declares to write the state of a group's loop;
/// - a step of the group in the body of a loop or a branch that a rank records by itself.
///
/// What a finish of sums reads besides these, and what steps write that declare nothing, is not seen.
///
/// A step with sums becomes two: one gives this rank's, the other waits for everybody's. Its sequel is a third, but on
/// a GPU where each block may run the finish: see group_step. It converts to the recorder it writes to: what is
/// recorded there is this rank's own affair, and the others do not wait for it.
class group_recorder {
 public:
  /// The exchange must outlive the program.
  group_recorder(recorder& target, const group_exchange& ranks)
      : group_recorder(target, ranks, nullptr, nullptr, std::make_shared<detail::group_decisions>(target)) {
    if (list_ != &target.nodes_) detail::group_decisions::refuse_body_of_rank("a program");
  }

  operator recorder&() const { return target_; }
  place where() const { return target_.where(); }
  const group_exchange& ranks() const { return ranks_; }
  /// The flag of the innermost loop that is being recorded: 0 once that has stopped. Null outside loops.
  const int* running() const { return loop_ ? &loop_->running : nullptr; }

  template <class Map, class Finish = no_finish, class Sequel = no_sequel>
  void step(const char* name, index_type n, const Map& map, const Finish& finish = {},
            const char* sequel_name = nullptr, const Sequel& sequel = {}) {
    using total = detail::map_result<Map>;
    require_own_body(name);
    const end_halo_round ends = std::exchange(halo_round_, {});
    if constexpr (std::is_void_v<total>) {
      if constexpr (std::is_same_v<Finish, no_finish>) {
        if (ends.state) {
          target_.step(name, n, map, ends);
        } else {
          target_.step(name, n, map);
        }
      } else {
        step_without_sums(name, n, map, finish);
        if (ends.state) target_.once("end the round of a halo", ends);
      }
    } else {
      target_.step(name, n, map, give_sums<total>{ranks_, root_, ends});
      ++rounds_;
      const auto of_group = finish_of_group(finish);
#if defined(__CUDACC__)
      if constexpr (finishes_in_group_step<Finish, Sequel>) {
        if (!where().on_host() && n > 0) {
          target_.check_step(sequel_name, false, true);
          decisions_->note_of_rank(sequel_name, detail::declared_writes(sequel));
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
  template <class Map, class Finish = no_finish>
  void team(const char* name, index_type n, const Map& map, const Finish& finish = {}) {
    static_assert(detail::works_by_block<Map>,
                  "a map for whole blocks says so: static constexpr bool whole_block = true");
    step(name, n, map, finish);
  }
  /// A step whose sums the next take_and_give takes: meanwhile they are under way.
  template <class Map>
  void give(const char* name, index_type n, const Map& map) {
    require_own_body(name);
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
    require_own_body(name);
    const give_sums<total> gives{ranks_, root_, {}, true};
    ++rounds_;
#if defined(__CUDACC__)
    if (!where().on_host()) {
      const auto of_group = finish_of_group(finish);
      target_.check_step(name, false, true);
      decisions_->note_of_rank(name, detail::declared_writes(map));
      target_.add_step(new round_step<total, Finish, Map, Sends>(name, n, finish, map, gives, sends));
      return;
    }
#endif
    {
      const auto of_group = finish_of_group(finish);
      target_.step("sums of all ranks", ranks_.ranks, sums_of_ranks<total>{ranks_}, finish);
    }
    target_.step(name, n, map, gives);
    send_apart(*this);
  }
  /// The next step reads what others send, and ends that round.
  void reads_halo(const end_halo_round& round) { halo_round_ = round; }
  template <class Finish>
  void once(const char* name, const Finish& finish) {
    require_own_body(name);
    step_without_sums(name, 0, detail::no_map{}, finish);
  }

  template <class Body>
  void loop(const char* name, control* c, const Body& body) {
    loop(
        name, c, [](auto&) {}, body);
  }
  template <class Start, class Body>
  void loop(const char* name, control* c, const Start& start, const Body& body) {
    require_own_body(name);
    if (name) decisions_->decide_by("loop '" + std::string(name) + "'", memory_range::of<loop_state>(c, 1));
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
    require_own_body(name);
    if (name && flag) decisions_->decide_by_flag("branch '" + std::string(name) + "'", flag);
    target_.branch(name, flag, [&](recorder& run) { within_same_loop(run, bodies); }...);
  }
  template <class... Bodies>
  void select(const char* name, const int* choice, const Bodies&... bodies) {
    require_own_body(name);
    if (name && choice) decisions_->decide_by_flag("select '" + std::string(name) + "'", choice);
    target_.select(name, choice, [&](recorder& run) { within_same_loop(run, bodies); }...);
  }

  /// A round in which nothing is added up.
  void agree() { step("agree", 0, no_sums_to_add{}, nothing_to_finish{}); }

 private:
  group_recorder(recorder& target, const group_exchange& ranks, control* root, control* loop,
                 std::shared_ptr<detail::group_decisions> decisions)
      : target_(target),
        ranks_(ranks),
        root_(root),
        loop_(loop),
        decisions_(std::move(decisions)),
        list_(target.current_) {}

  void require_own_body(const char* name) const {
    if (target_.current_ != list_) detail::group_decisions::refuse_body_of_rank(name);
  }
  /// While what it returns lives, the target records a step whose finish gets the group's sums.
  template <class Finish>
  detail::restored<bool> finish_of_group(const Finish& finish) const {
    decisions_->note_of_group(detail::declared_writes(finish));
    return {decisions_->is_step_of_group, true};
  }
  template <class Map, class Finish>
  void step_without_sums(const char* name, index_type n, const Map& map, const Finish& finish) {
    if constexpr (follows_from_totals<Finish>) {
      decisions_->note_of_rank(name ? name : "", detail::declared_writes(map));
      const auto of_group = finish_of_group(finish);
      target_.step(name, n, map, finish);
    } else if constexpr (map_step<Map, Finish>::takes_loop) {
      detail::group_decisions::refuse_verdict_without_sums(name ? name : "");
    } else {
      target_.step(name, n, map, finish);
    }
  }

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
    const detail::restored<bool> of_group(decisions_->is_in_loop_of_group, true);
    group_recorder inner(run, ranks_, root_ ? root_ : loop, loop, decisions_);
    body(inner);
    return inner.rounds_;
  }
  template <class Body>
  void within_same_loop(recorder& run, const Body& body) const {
    group_recorder inner(run, ranks_, root_, loop_, decisions_);
    body(inner);
  }

  recorder& target_;
  group_exchange ranks_;
  control *root_, *loop_;
  int rounds_ = 0;
  end_halo_round halo_round_;
  std::shared_ptr<detail::group_decisions> decisions_;
  const std::vector<program_node>* list_;  ///< where this one records
};

}  // namespace whilst
