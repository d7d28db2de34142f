#include "whilst/engine/group_decisions.hpp"

#include <algorithm>

#include "whilst/basics/error.hpp"

namespace whilst::detail {
namespace {

/// Those of this thread, the innermost last.
thread_local std::vector<group_decisions*> recorded_groups;

constexpr const char* let_a_finish_write =
    "Let the finish of a step of the group with sums write it, and let that finish say so: auto writes() const";

[[noreturn]] void refuse_write_of_rank(const std::string& node, const std::string& step) {
  throw error("recording " + node + " of a group",
              "step '" + step + "' writes what it decides by, from data that were not added up over the ranks",
              let_a_finish_write);
}

}  // namespace

group_decisions::group_decisions(const recorder& by) : by_(&by) { recorded_groups.push_back(this); }
group_decisions::~group_decisions() { std::erase(recorded_groups, this); }

group_decisions* group_decisions::of(const recorder& by) {
  const auto found = std::find_if(recorded_groups.rbegin(), recorded_groups.rend(),
                                  [&](const group_decisions* one) { return one->by_ == &by; });
  return found == recorded_groups.rend() ? nullptr : *found;
}

void group_decisions::refuse_verdict_without_sums(const char* step) {
  throw error("recording step '" + std::string(step) + "' of a group",
              "its finish takes the state of a loop and gets no sums: ranks that decide by their own data part",
              "Give the verdict in the finish of a step whose map returns sums; if it follows from what such finishes "
              "wrote, let the finish say so: static constexpr bool follows_from_totals = true");
}

void group_decisions::check_verdict(const std::string& doing) const {
  if (!is_in_loop_of_group || is_step_of_group) return;
  throw error(doing,
              "its finish takes the state of a loop of a group, and this rank records it by itself: ranks that decide "
              "by their own data part",
              "Give the verdict in a step of the group with sums, or record the step in a loop of the rank's own");
}

void group_decisions::refuse_body_of_rank(const char* name) {
  throw error("recording '" + std::string(name ? name : "") + "' of a group",
              "it lies in a body that this rank has recorded by itself, and other ranks may not run theirs",
              "Record the loop or the branch around it by the group_recorder");
}

void group_decisions::note_of_group(const std::vector<memory_range>& writes) {
  of_group_.insert(of_group_.end(), writes.begin(), writes.end());
}

void group_decisions::note_of_rank(const std::string& step, const std::vector<memory_range>& writes) {
  for (const memory_range& one : writes) {
    for (const named_range& read : decides_)
      if (one.overlaps(read.range)) refuse_write_of_rank(read.name, step);
    of_rank_.push_back({step, one});
  }
}

void group_decisions::decide_by(const std::string& node, const memory_range& read) {
  for (const named_range& written : of_rank_)
    if (written.range.overlaps(read)) refuse_write_of_rank(node, written.name);
  decides_.push_back({node, read});
}

void group_decisions::decide_by_flag(const std::string& node, const int* flag) {
  const memory_range read = memory_range::of(flag, 1);
  decide_by(node, read);
  if (std::none_of(of_group_.begin(), of_group_.end(), [&](const memory_range& one) { return one.overlaps(read); }))
    throw error("recording " + node + " of a group",
                "no step of the group before it that gets sums says that it writes what this decides by",
                let_a_finish_write);
}

}  // namespace whilst::detail
