// Rounds of sums that are given and not taken: the next ones must not overtake ranks that are behind.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/exchange/group_recorder.hpp"

namespace {

using whilst::index_type;

struct one_number {
  double value;
  WHILST_HD whilst::sums<double, 1> operator()(index_type) const { return {value}; }
};
struct keep_total {
  double* total;
  WHILST_HD void operator()(const whilst::sums<double, 1>& sum) const { *total = sum[0]; }
};

}  // namespace

// Each rank gives its share, which is taken, ten and twenty times that, which nobody takes, and a hundred times that.
// Who gave the third without waiting would put it where another has yet to read the first.
TEST_CASE("a round that nobody takes holds up the next one until all have begun it", "[group]") {
  constexpr int size = 3, times = 200;
  CHECK(whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
          const whilst::place where = whilst::place::host();
          const whilst::exchange exchange(ranks, where, 10);
          std::uint64_t random = 17 * static_cast<std::uint64_t>(ranks.rank()) + 3;
          for (int k = 0; k < times; ++k) {
            const double share = 1 + ranks.rank() + k;
            double first = 0, last = 0;
            whilst::program_recorder record(where);
            whilst::group_recorder run(record, exchange.of_steps());
            run.step("taken", 1, one_number{share}, keep_total{&first});
            run.give("open", 1, one_number{10 * share});
            run.give("open, too", 1, one_number{20 * share});
            run.step("taken again", 1, one_number{100 * share}, keep_total{&last});
            random = random * 6364136223846793005u + 1442695040888963407u;
            std::this_thread::sleep_for(std::chrono::microseconds(random >> 56));
            whilst::run_now(std::move(record).finish(), where);
            const double all = 6 + 3.0 * k;
            if (first != all || last != 100 * all) throw std::runtime_error("wrong sums in round " + std::to_string(k));
          }
          if (exchange.lost_rank() >= 0) throw std::runtime_error("a rank was lost");
        }) == whilst_test::nothing(size));
}
