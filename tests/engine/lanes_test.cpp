// compiled by nvcc where CUDA is on
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/basics/teams.hpp"

namespace whilst_test {
namespace {

constexpr int sums_each = 4;

/// What thread `rank` adds to sum k of index i: integers, so that sums are exact in any order.
WHILST_HD double share_of(index_type i, int rank, int k) { return static_cast<double>(i % 7 + 100 * rank + 10000 * k); }

struct form_sums {
  double *shared_out, *before;
  int* told;  ///< how often each sum was, by each thread
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    double share[sums_each];
    WHILST_UNROLLED
    for (int k = 0; k < sums_each; ++k) share[k] = share_of(i, team.rank(), k);
    // As many rounds as the index says: teams of a warp need not keep step.
    for (index_type round = 0; round <= i % 3; ++round) before[i * 32 + team.rank()] = team.sum_before(share[1]);
    team.share_out(share, [&](int k, double sum) {
      shared_out[i * sums_each + k] = sum;
      ++told[(i * 32 + team.rank()) * sums_each + k];
    });
  }
};

}  // namespace

TEST_CASE("lanes share out sums, each to one of them, and know the sum before them", "[lanes][sanitizer]") {
  constexpr index_type n = 101;
  for (const way& w : ways()) {
    for (const int lanes : {1, 2, 4, 8, 16, 32}) {
      const int threads = w.where.on_host() ? 1 : lanes;
      INFO(w.name << ", " << lanes << " lanes");
      const whilst::buffer<double> shared_out(w.where, n * sums_each), before(w.where, n * 32);
      const whilst::buffer<int> told(w.where, n * 32 * sums_each);
      whilst::program_recorder record(w.where);
      record.step("sums", n, form_sums{shared_out.data(), before.data(), told.data(), lanes});
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how});
      run(program);
      const std::vector<double> sums = values(shared_out), before_each = values(before);
      const std::vector<int> times = values(told);
      for (index_type i = 0; i < n; ++i) {
        for (int k = 0; k < sums_each; ++k) {
          double expected = 0;
          int told_by_all = 0;
          for (int rank = 0; rank < threads; ++rank) {
            expected += share_of(i, rank, k);
            told_by_all += times[(i * 32 + rank) * sums_each + k];
          }
          REQUIRE(sums[i * sums_each + k] == expected);
          REQUIRE(told_by_all == 1);
        }
        double expected = 0;
        for (int rank = 0; rank < threads; ++rank) {
          REQUIRE(before_each[i * 32 + rank] == expected);
          expected += share_of(i, rank, 1);
        }
      }
    }
  }
}

}  // namespace whilst_test
