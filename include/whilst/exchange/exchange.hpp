#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/exchange/group_exchange.hpp"
#include "whilst/exchange/window.hpp"
#include "whilst/group/group.hpp"

namespace whilst {

/// The mailboxes of a program that the ranks of a group run together, and what its rounds are counted in. It must
/// outlive the program.
class exchange {
 public:
  /// Collective. limit_seconds: how long a rank waits for another before it gives that up as lost. transport: see
  /// window.
  exchange(const group& ranks, place where, double limit_seconds, const std::string& transport = "auto");
  /// The limit in nanoseconds. Throws whilst::error unless it is positive.
  static std::uint64_t limit_of(double seconds);

  /// For steps.
  const group_exchange& of_steps() const { return of_steps_; }
  const group& ranks() const { return ranks_; }
  place where() const { return where_; }
  const std::string& transport() const { return mailboxes_.transport(); }
  const std::string& passed_over() const { return mailboxes_.passed_over(); }
  /// Whether programs of this rank may overlap their steps. Where ranks are threads on one GPU, a step that starts
  /// early may keep out another rank's step that the one before it waits for: seen with amg on three ranks, by executor
  /// stream.
  bool lets_steps_overlap() const { return !mailboxes_.shares_gpu(); }
  /// For other windows of the same transport.
  const window& mailboxes() const { return mailboxes_; }
  /// The rank that did not come in the last launch; -1 for none. Waits for nothing: call it when the launch has ended.
  int lost_rank() const;
  /// Makes it usable again after a rank was lost that is there again. Collective: when no launch is under way on any
  /// rank.
  void recover();

 private:
  group ranks_;
  place where_;
  window mailboxes_;
  buffer<tagged_word*> addresses_;
  buffer<exchange_state> state_;
  std::uint64_t limit_nanoseconds_ = 0;
  group_exchange of_steps_;
};

}  // namespace whilst
