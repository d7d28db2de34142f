#pragma once

#include <string>
#include <vector>

#include "whilst/basics/views.hpp"

namespace whilst {

class recorder;

namespace detail {

/// While one lives, this thread records for a group by a recorder, and what ranks decide by is checked as far as steps
/// tell: who takes the state of a group's loop, and who declares to write the flag of a group's branch. See
/// group_recorder, which has one.
class group_decisions {
 public:
  explicit group_decisions(const recorder& by);
  ~group_decisions();
  group_decisions(const group_decisions&) = delete;
  group_decisions& operator=(const group_decisions&) = delete;
  /// For recorders; null where this one records for no group.
  static group_decisions* of(const recorder& by);

  /// Whether the innermost loop is the group's. Its state goes to steps of the group alone.
  bool is_in_loop_of_group = false;
  /// Whether the step that is being recorded is one of the group, which says by itself what it writes.
  bool is_step_of_group = false;

  /// Of a step of the group without sums: refuses the state of a loop.
  [[noreturn]] static void refuse_verdict_without_sums(const char* step);
  /// Of a step that a rank records by itself: throws whilst::error where it gets the state of the group's loop.
  void check_verdict(const std::string& doing) const;
  /// Throws whilst::error: a step or a node of the group lies in a body that the rank records by itself.
  [[noreturn]] static void refuse_body_of_rank(const char* name);

  /// What a finish of the group's sums writes: it is the same on all ranks.
  void note_of_group(const std::vector<memory_range>& writes);
  /// What anything else writes. Throws whilst::error where that is what ranks decide by.
  void note_of_rank(const std::string& step, const std::vector<memory_range>& writes);
  /// Ranks decide by it from here on. Throws whilst::error where a rank writes it alone.
  void decide_by(const std::string& node, const memory_range& read);
  /// The same; also where no step of the group has declared to write it.
  void decide_by_flag(const std::string& node, const int* flag);

 private:
  struct named_range {
    std::string name;
    memory_range range;
  };
  const recorder* by_;
  std::vector<memory_range> of_group_;
  std::vector<named_range> of_rank_, decides_;
};

/// What a map or a finish declares to write.
template <class Functor>
std::vector<memory_range> declared_writes([[maybe_unused]] const Functor& functor) {
  std::vector<memory_range> made;
  if constexpr (requires { functor.writes(); })
    for (const memory_range& range : functor.writes()) made.push_back(range);
  return made;
}

}  // namespace detail
}  // namespace whilst
