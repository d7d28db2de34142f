#include "whilst/linear/distributed/halo_exchange.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/linear/distributed/distributed_operator.hpp"

using whilst::index_type;
using whilst_test::on_ranks;

namespace {

/// Two own entries and two ghosts, of ranks 1 and 2, as a rank 0 has them whose words this test writes.
struct hand_made_halo {
  std::vector<double> x{1, 2};
  std::vector<whilst::tagged_word> words{4};
  std::vector<std::int32_t> owners{1, 2};
  whilst::exchange_state of_ranks{};
  whilst::halo_state state{};
  int running = 1;

  hand_made_halo() {
    of_ranks.limit_nanoseconds = 1;
    state.sent = 6;  // so that the next round is 7, whose words are in the second half
  }
  void put(int ghost, double value, std::uint32_t round) {
    whilst::put_word(&words[static_cast<std::size_t>(2 * (round % 2) + static_cast<unsigned>(ghost))],
                     {std::bit_cast<std::uint64_t>(value), round, 0});
  }
  whilst::halo_exchange exchange() {
    whilst::halo_exchange made;
    made.own = made.ghosts = 2;
    made.words = words.data();
    made.owners = owners.data();
    made.state = &state;
    made.ranks.state = &of_ranks;
    return made;
  }
};

/// 1000 x0 + 100 x1 + 10 x2 + x3. It counts how often it is read, and after the first time sends what is still to come.
struct counting_row {
  hand_made_halo* halo;
  int *reads, late_ghost = -1;
  bool by_branches = true;

  index_type rows() const { return 2; }
  int lanes_wanted() const { return 1; }
  template <class X, class Team>
  double row(index_type, const X& x, const Team&) const {
    const double sum = by_branches
                           ? 1000 * x[0] + 100 * x[1] + 10 * x[2] + x[3]
                           : 1000 * x.own(0) + 100 * x.or_zero(1) + 10 * x.or_zero(2) + x.or_zero(3) + x.or_zero(-1);
    if (++*reads == 1 && late_ghost >= 0) halo->put(late_ghost, late_ghost == 0 ? 3 : 4, 7);
    return sum;
  }
};
double row_of(hand_made_halo& halo, const counting_row& rows) {
  const whilst::rows_with_ghosts<double, counting_row> made{rows, halo.exchange(), &halo.running, false};
  return made.row(whilst::detail::nothing_read{}, 0, halo.x.data(), whilst::lanes());
}

}  // namespace

TEST_CASE("a row is read once if its ghosts are there, and again for one that is late", "[group][linear]") {
  const bool by_branches = GENERATE(true, false);
  CAPTURE(by_branches);
  hand_made_halo halo;
  int reads = 0;
  for (const int late : {-1, 0, 1}) {
    CAPTURE(late);
    halo = hand_made_halo();
    reads = 0;
    for (const int ghost : {0, 1})  // words of the round before the last one, which lie in the same place, do not count
      halo.put(ghost, ghost == late ? 9 : 3 + ghost, ghost == late ? 5 : 7);
    CHECK(row_of(halo, {&halo, &reads, late, by_branches}) == 1234);
    CHECK(reads == (late < 0 ? 1 : 2));
    CHECK(halo.of_ranks.lost == 0);
  }
}

TEST_CASE("a row whose ghost never comes is no number", "[group][linear]") {
  const bool by_branches = GENERATE(true, false), has_stopped = GENERATE(true, false);
  CAPTURE(by_branches, has_stopped);
  hand_made_halo halo;
  halo.put(0, 3, 7);
  halo.running = has_stopped ? 0 : 1;
  int reads = 0;
  CHECK(std::isnan(row_of(halo, {&halo, &reads, -1, by_branches})));
  // Where the loop has stopped nobody is lost; else the one whose ghost it is, which is rank 2.
  CHECK(halo.of_ranks.lost == (has_stopped ? 0 : 3));
}

// Rank q has entries 2 q and 2 q + 1; entry 2 goes to two ranks.
TEST_CASE("the step that makes a vector sends each entry to all that read it", "[group][linear]") {
  const std::vector<std::vector<index_type>> ghosts_of{{2}, {1, 4}, {2, 3}};
  CHECK(on_ranks(3, [&](const whilst::group& ranks) {
          const int q = ranks.rank();
          const whilst::exchange exchange(ranks, whilst::place::host(), 10);
          const whilst::halo_plan plan = whilst::make_halo_plan(ranks, whilst::row_partition({0, 2, 4, 6}),
                                                                ghosts_of[static_cast<std::size_t>(q)]);
          const whilst::halo made(exchange, plan);
          const whilst::halo_exchange halo = made.of_steps();
          for (std::uint32_t round = 1; round <= 3; ++round) {
            const auto entry = [&](index_type i) { return 100.0 * round + static_cast<double>(i); };
            const std::vector<double> x{entry(2 * q), entry(2 * q + 1)};
            const whilst::halo_sends<double> sends{{halo}, x.data()};
            if (sends.next_round() != round) throw std::runtime_error("another round");
            for (const index_type i : {0, 1}) sends.send(i, sends.fetch(i), round);
            ranks.barrier("test");
            std::int32_t missing = -1;
            const whilst::vector_with_ghosts<double> seen{halo, x.data(), round, &missing};
            for (std::size_t g = 0; g < plan.ghosts.size(); ++g) {
              const auto at = 2 + static_cast<index_type>(g);
              if (seen[at] != entry(plan.ghosts[g]) || seen.or_zero(at) != seen[at]) throw std::runtime_error("not it");
            }
            if (missing != -1) throw std::runtime_error("one is missing");
            sends.note_round(round);
            ranks.barrier("test");
          }
        }) == std::vector<std::string>(3));
}

TEST_CASE("two vectors cross the borders at once, each entry with its own word", "[group][linear]") {
  const std::vector<std::vector<index_type>> ghosts_of{{2}, {1, 4}, {2, 3}};
  CHECK(on_ranks(3, [&](const whilst::group& ranks) {
          const int q = ranks.rank();
          const whilst::exchange exchange(ranks, whilst::place::host(), 0.001);
          const whilst::halo_plan plan = whilst::make_halo_plan(ranks, whilst::row_partition({0, 2, 4, 6}),
                                                                ghosts_of[static_cast<std::size_t>(q)]);
          const whilst::halo made(exchange, plan, 2);
          const whilst::halo_exchange halo = made.of_steps();
          for (std::uint32_t round = 1; round <= 3; ++round) {
            const auto entry = [&](index_type i, int which) { return 100.0 * round + i + 1000 * which; };
            const std::vector<double> u{entry(2 * q, 0), entry(2 * q + 1, 0)}, v{entry(2 * q, 1), entry(2 * q + 1, 1)};
            const whilst::two_vectors<double> both{u.data(), v.data()};
            const whilst::halo_sends_of_two<double> sends{{halo}, both};
            if (sends.next_round() != round) throw std::runtime_error("another round");
            for (const index_type i : {0, 1}) sends.send(i, sends.fetch(i), round);
            ranks.barrier("test");
            std::int32_t missing = -1;
            const whilst::two_with_ghosts<double> seen(halo, both, round, &missing);
            for (std::size_t g = 0; g < plan.ghosts.size(); ++g) {
              const auto at = 2 + static_cast<std::int32_t>(g);
              const whilst::two<double> one = seen[at];
              if (one.first != entry(plan.ghosts[g], 0) || one.second != entry(plan.ghosts[g], 1) ||
                  seen.second.or_zero(at) != one.second)
                throw std::runtime_error("not it");
            }
            if (missing != -1) throw std::runtime_error("one is missing");
            // Of the round that nobody has sent, the last word that is read is missing, and blamed on its owner.
            if (round == 3) {
              const whilst::two_with_ghosts<double> next(halo, both, round + 1, &missing);
              const auto last = static_cast<std::int32_t>(plan.ghosts.size()) - 1;
              (void)next[2 + last];
              if (missing != 2 * last + 1) throw std::runtime_error("another is missing");
              const int running = 1;
              if (halo.wait_for(missing, round + 1, &running)) throw std::runtime_error("it came");
              if (halo.ranks.state->lost != static_cast<std::uint32_t>(1 + plan.ghosts.back() / 2))
                throw std::runtime_error("another is lost");
            }
            sends.note_round(round);
            ranks.barrier("test");
          }
        }) == std::vector<std::string>(3));
}
