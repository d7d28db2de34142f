#pragma once

#include <algorithm>

#include "whilst/exchange/group_recorder.hpp"
#include "whilst/linear/distributed/distributed_operator.hpp"

namespace whilst {

/// Takes what others send of x, in a step of its own.
template <class T>
struct receive_entries {
  halo_exchange halo;
  const T* x;
  const int* running;
  T* ghosts;
  WHILST_HD void operator()(index_type g) const {
    ghosts[g] = halo.template awaited<T>(g, halo.round_of(x).round, running);
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(tagged_word)); }
};
/// Both in one, where the first threads, those that send, are surely resident together.
template <class T>
struct exchange_entries {
  send_entries<T> sends;
  receive_entries<T> receives;
  WHILST_HD void operator()(index_type k) const {
    if (k < sends.halo.sends && !halo_exchange::has_stopped(receives.running)) sends(k);
    if (k < receives.halo.ghosts) receives(k);
  }
  index_type bytes(index_type) const { return sends.bytes(sends.halo.sends) + receives.bytes(receives.halo.ghosts); }
};

/// Records that the ghosts of x come behind its own entries. By all ranks. A round of sums must lie between two
/// exchanges by one halo unless it is mutual: see record_exchange.
template <class T>
void record_exchange_between_sums(group_recorder& run, const halo& of, T* x) {
  const halo_exchange& halo = of.of_steps();
  const send_entries<T> sends{halo, x};
  const receive_entries<T> receives{halo, x, run.running(), x + halo.own};
  constexpr index_type most_resident = 32768;  // as distributed_operator::most_sends_of_product
  if (!run.where().on_host() && halo.sends <= most_resident) {
    run.reads_halo({halo.state, x});
    run.step("exchange a halo", std::max(halo.sends, halo.ghosts), exchange_entries<T>{sends, receives});
    return;
  }
  run.step("send what others read", halo.sends, sends);
  run.reads_halo({halo.state, x});
  run.step("ghosts", halo.ghosts, receives);
}
/// The same anywhere: where the halo is not mutual, a round comes first.
template <class T>
void record_exchange(group_recorder& run, const halo& of, T* x) {
  if (!of.is_mutual()) run.agree();
  record_exchange_between_sums(run, of, x);
}

}  // namespace whilst
