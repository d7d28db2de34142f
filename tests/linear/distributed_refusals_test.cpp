// What distributed matrices and halo plans refuse, on all ranks.

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"

namespace {

using whilst::csr_matrix;
using whilst::distributed_csr_matrix;
using whilst::group;
using whilst::index_type;
using whilst_test::contains;
using whilst_test::distributed;
using whilst_test::given_rows;
using whilst_test::nothing;
using whilst_test::on_ranks;
using whilst_test::small;
using whilst_test::zero_matrix;
using splits = std::vector<index_type>;

}  // namespace

TEST_CASE("what rank 0 cannot split, all ranks refuse") {
  const csr_matrix<double> wide(1, 2, std::vector<int>{0, 0}, std::vector<int>(), std::vector<double>());
  const auto split = [](const csr_matrix<double>* A) {
    return on_ranks(3, [&](const group& ranks) {
      (void)distributed_csr_matrix<double>::from_rank_0(ranks, ranks.rank() == 0 ? A : nullptr);
    });
  };
  for (const std::string& one : split(nullptr)) CHECK_THAT(one, contains("rank 0 gave none"));
  for (const std::string& one : split(&wide)) CHECK_THAT(one, contains("1 rows and 2 columns. Give a square one"));
}

TEST_CASE("hostile rows are refused on all ranks, which name the one that gave them") {
  // What rank 1 of 3 gives is spoilt.
  const auto check = [](const std::function<void(given_rows<double>&)>& spoil, const std::string& problem,
                        bool all_find_it = false) {
    const auto thrown = on_ranks(3, [&](const group& ranks) {
      const index_type split[] = {0, 2, 4, 5};
      given_rows<double> rows(small, split[ranks.rank()], split[ranks.rank() + 1]);
      if (ranks.rank() == 1) spoil(rows);
      (void)rows.matrix(ranks);
    });
    for (std::size_t q = 0; q < thrown.size(); ++q) {
      CHECK_THAT(thrown[q], contains(problem));
      if (q != 1 && !all_find_it) CHECK_THAT(thrown[q], contains("rank 1 failed: "));
    }
  };
  using rows = given_rows<double>;
  check([](rows& r) { r.first = 1; }, "rows of rank 1 begin with 1, but the next one is 2", true);
  check([](rows& r) { r.first = 3; }, "rows of rank 1 begin with 3, but the next one is 2", true);
  check([](rows& r) { r.first = -1; }, "rows of rank 1 begin with -1", true);
  check([](rows& r) { r.first = std::numeric_limits<index_type>::max(); }, "begin with 9223372036854775807", true);
  check([](rows& r) { r.columns[3] = 5; }, "column_indices[3] is 5. Give columns from 0 to 4");
  check([](rows& r) { r.columns[0] = -1; }, "column_indices[0] is -1");
  check([](rows& r) { r.columns[0] = std::numeric_limits<std::int64_t>::min(); }, "column_indices[0] is -92233");
  check([](rows& r) { r.offsets[0] = 1; }, "row_offsets[0] is 1");
  check([](rows& r) { r.offsets[1] = -1; }, "row_offsets[1] is -1");
  check([](rows& r) { r.offsets[1] = 6; }, "row_offsets[1] is 6");
  check([](rows& r) { std::swap(r.offsets[1], r.offsets[2]); }, "row_offsets[2] is 2");
  check([](rows& r) { r.offsets.clear(); }, "row_offsets is empty");
  check([](rows& r) { r.offsets.back() = 4; }, "the last row offset is 4, and there are 5 column indices and 5 values");
  check([](rows& r) { r.values.pop_back(); }, "there are 5 column indices and 4 values");
}

TEST_CASE("a rank that makes a matrix of another type breaks the group") {
  const auto thrown = on_ranks(2, [](const group& ranks) {
    if (ranks.rank() == 0)
      (void)given_rows<double>(small, 0, 2).matrix(ranks);
    else
      (void)given_rows<float>(zero_matrix<float>(3), 0, 3).matrix(ranks);
  });
  for (const std::string& one : thrown) {
    CHECK_THAT(one, contains("\"making a distributed matrix of double\""));
    CHECK_THAT(one, contains("\"making a distributed matrix of float\""));
  }
}

TEST_CASE("vectors of a wrong length are refused on all ranks") {
  const auto multiplied = on_ranks(2, [](const group& ranks) {
    const auto A = distributed(ranks, small, {0, 2, 5});
    (void)A.multiply(std::vector<double>(2));
  });
  CHECK_THAT(multiplied[1], contains("x has 2 entries on this rank. Give as many as it has rows: 3"));
  CHECK_THAT(multiplied[0], contains("rank 1 failed: "));
  const auto exchanged = on_ranks(2, [](const group& ranks) {
    const auto A = distributed(ranks, small, {0, 2, 5});
    std::vector<double> x(2);
    whilst::exchange_halo<double>(ranks, A.halo(), x);
  });
  CHECK_THAT(exchanged[0], contains("x has 2 entries. Give own entries and ghosts: 3"));
}

TEST_CASE("halo plans that cannot be are refused on all ranks") {
  const auto made = [](const splits& ghosts, const splits& split = {0, 3, 6}) {
    return on_ranks(2, [&](const group& ranks) {
      (void)whilst::make_halo_plan(ranks, whilst::row_partition(split), ranks.rank() == 0 ? ghosts : splits{0, 2});
    });
  };
  CHECK(made({3, 5}) == nothing(2));
  CHECK_THAT(made({5, 3})[0], contains("ghost 1 is 3, after 5. Sort them"));
  CHECK_THAT(made({4, 4})[1], contains("rank 0 failed: making a halo plan: ghost 1 is 4, after 4"));
  CHECK_THAT(made({2})[0], contains("ghost 0 is 2, which is this rank's own"));
  CHECK_THAT(made({6})[0], contains("ghost 0 is 6. Give numbers from 0 to 5"));
  CHECK_THAT(made({-1})[0], contains("ghost 0 is -1"));
  CHECK_THAT(made({3}, {0, 3, 6, 6})[1], contains("split among 3 ranks"));
  // Three thousand million own entries, which a plan could not number.
  CHECK_THAT(made({3'000'000'001}, {0, 3'000'000'000, 3'000'000'002})[0], contains("Local indices have 32 bits"));
  CHECK_THROWS_WITH(whilst::row_partition({0}), contains("Give the first row of each rank"));
  CHECK_THROWS_WITH(whilst::row_partition({1, 2}), contains("Give the first row of each rank"));
  CHECK_THROWS_WITH(whilst::row_partition({0, 3, 2}), contains("Give the first row of each rank"));
}
