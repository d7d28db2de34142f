#include "whilst/exchange/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

std::size_t bytes_of_mailbox(int ranks) {
  return static_cast<std::size_t>(2) * static_cast<std::size_t>(ranks) * group_exchange::words_at_most *
         sizeof(tagged_word);
}

}  // namespace

std::uint64_t exchange::limit_of(double seconds) {
  if (!(seconds > 0) || !(seconds < 1e9))
    throw error("making the exchange of a group", "the seconds that a rank waits for another are not positive",
                "Give some seconds");
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

exchange::exchange(const group& ranks, place where, double limit_seconds, const std::string& transport)
    : ranks_(ranks), where_(where), mailboxes_(ranks, where, bytes_of_mailbox(ranks.size()), transport) {
  ranks_.agree("making the exchange of a group", [&] {
    limit_nanoseconds_ = limit_of(limit_seconds);
    std::vector<tagged_word*> addresses;
    for (int q = 0; q < ranks.size(); ++q) addresses.push_back(static_cast<tagged_word*>(mailboxes_.of(q)));
    addresses_ = buffer<tagged_word*>(where, ranks.size(), addresses.data());
    const exchange_state fresh{.limit_nanoseconds = limit_nanoseconds_};
    state_ = buffer<exchange_state>(where, 1, &fresh);
    of_steps_ = {.rank = ranks.rank(),
                 .ranks = ranks.size(),
                 .here = {},
                 .all = addresses_.data(),
                 .own = addresses[static_cast<std::size_t>(ranks.rank())],
                 .state = state_.data()};
    std::copy_n(addresses.begin(), std::min<std::size_t>(addresses.size(), group_exchange::mailboxes_here),
                of_steps_.here);
  });
}

int exchange::lost_rank() const {
  exchange_state now{};
  state_.download(&now);
  return static_cast<int>(now.lost) - 1;
}

void exchange::recover() {
  ranks_.barrier("recovering a group");
  ranks_.agree("recovering a group", [&] {
    mailboxes_.set_to_zero();
    const exchange_state fresh{.limit_nanoseconds = limit_nanoseconds_};
    state_.upload(&fresh);
  });
}

}  // namespace whilst
