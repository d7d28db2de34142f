// Which rank gets which rows: the graph of a matrix, and the library's own partitioner.
#include "whilst/linear/distributed/row_parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "tests/linear/row_parts.hpp"
#include "whilst/gallery.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::parts_by_rcm;
using whilst_test::contains;
using whilst_test::counted_ghosts;
using whilst_test::shuffled;

long sum(const std::vector<std::size_t>& counts) {
  return static_cast<long>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
}

}  // namespace

TEST_CASE("the graph of rows is that of A + A' without the diagonal") {
  // Of whilst_test::small: 0 reads 1 and 4, 1 reads 0, 2 reads 3, 3 reads 0 and 4, 4 reads 3.
  const whilst::row_graph graph = whilst::graph_of_rows(whilst_test::small);
  CHECK(graph.offsets == std::vector<std::int64_t>{0, 3, 4, 5, 8, 10});
  CHECK(graph.neighbours == std::vector<std::int32_t>{1, 3, 4, 0, 3, 0, 2, 4, 0, 3});
  CHECK(graph.work == std::vector<std::int64_t>{4, 2, 3, 4, 3});

  // Zeros count, and so does what cancels; an entry that is there twice counts once as a neighbour.
  const csr_matrix<float> odd(3, 3, std::vector<int>{0, 3, 4, 4}, std::vector<int>{1, 1, 2, 0},
                              std::vector<float>{1, -1, 0, -3});
  const whilst::row_graph of_odd = whilst::graph_of_rows(odd);
  CHECK(of_odd.offsets == std::vector<std::int64_t>{0, 2, 3, 4});
  CHECK(of_odd.neighbours == std::vector<std::int32_t>{1, 2, 0, 0});
  CHECK(of_odd.work == std::vector<std::int64_t>{4, 2, 1});
}

TEST_CASE("reverse Cuthill-McKee finds the line in a shuffled one") {
  const csr_matrix<double> line = shuffled(whilst::make_gallery<double>("poisson1d:200").matrix);
  for (const int ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    std::vector<std::size_t> ghosts = counted_ghosts(line, parts_by_rcm(line, ranks), ranks);
    std::sort(ghosts.begin(), ghosts.end());
    // One at each end, but for the two ranks with an end of the line.
    std::vector<std::size_t> by_hand(static_cast<std::size_t>(ranks), 2);
    --by_hand[0];
    --by_hand[ranks > 1 ? 1 : 0];
    CHECK(ghosts == by_hand);
  }
}

TEST_CASE("parts by reverse Cuthill-McKee have equal work, and few ghosts where rows came in any order") {
  for (const char* problem : {"poisson3d:10", "poisson2d:40", "powerlaw:500"}) {
    const csr_matrix<double> A = shuffled(whilst::make_gallery<double>(problem).matrix);
    index_type longest = 0;
    for (index_type i = 0; i < A.rows(); ++i) longest = std::max(longest, A.row_offset(i + 1) - A.row_offset(i));
    for (const int ranks : {2, 3, 5}) {
      CAPTURE(problem, ranks);
      const std::vector<int> parts = parts_by_rcm(A, ranks);
      // Each boundary is off by less than a row.
      for (const index_type one : whilst_test::work_of_ranks(A, parts, ranks))
        CHECK(std::abs(one - (A.nonzeros() + A.rows()) / ranks) <= longest + 2);
      CHECK(parts == parts_by_rcm(A, ranks));
      if (std::string(problem) == "powerlaw:500") continue;  // has no layers
      const std::vector<int> by_rows = whilst_test::consecutive_parts(A.rows(), ranks);
      CHECK(whilst_test::cut_entries(A, parts) < whilst_test::cut_entries(A, by_rows) / 2);
      CHECK(sum(counted_ghosts(A, parts, ranks)) < sum(counted_ghosts(A, by_rows, ranks)) / 2);
    }
  }
}

TEST_CASE("a split by parts has the ghosts that the entries say", "[group]") {
  for (const char* problem : {"poisson3d:8", "powerlaw:500"}) {
    const csr_matrix<double> A = shuffled(whilst::make_gallery<double>(problem).matrix);
    for (const int ranks : {2, 3, 5}) {
      CAPTURE(problem, ranks);
      const std::vector<int> parts = parts_by_rcm(A, ranks);
      std::vector<std::size_t> ghosts(static_cast<std::size_t>(ranks));
      CHECK(whilst_test::on_ranks(ranks, [&](const whilst::group& group) {
              const auto split = whilst::distributed_csr_matrix<double>::from_rank_0(
                  group, group.rank() == 0 ? &A : nullptr, group.rank() == 0 ? parts : std::vector<int>());
              ghosts[static_cast<std::size_t>(group.rank())] = split.halo().ghosts.size();
            }) == whilst_test::nothing(ranks));
      CHECK(ghosts == counted_ghosts(A, parts, ranks));
    }
  }
}

TEST_CASE("rows without entries are divided evenly by reverse Cuthill-McKee, too, and fewer rows than ranks") {
  for (const index_type n : {0, 2, 40}) {
    const std::vector<int> parts = parts_by_rcm(whilst_test::zero_matrix<double>(n), 5);
    REQUIRE(static_cast<index_type>(parts.size()) == n);
    for (int q = 0; q < 5; ++q) {
      const auto rows = std::count(parts.begin(), parts.end(), q);
      CHECK(rows >= n / 5);
      CHECK(rows <= n / 5 + 1);
    }
  }
}

TEST_CASE("what has no graph of rows is refused") {
  const csr_matrix<double> wide(1, 2, std::vector<int>{0, 0}, std::vector<int>(), std::vector<double>());
  const int offsets[] = {0, 1}, columns[] = {0};
  const double values[] = {1};
  const auto on_device = csr_matrix<double>::on_device(1, 1, 1, offsets, columns, values);
  CHECK_THROWS_WITH(whilst::graph_of_rows(wide), contains("1 rows and 2 columns. Give a square one"));
  CHECK_THROWS_WITH(parts_by_rcm(wide, 2), contains("1 rows and 2 columns. Give a square one"));
  CHECK_THROWS_WITH(whilst::graph_of_rows(on_device), contains("in device memory. Give one in host memory"));
  CHECK_THROWS_WITH(parts_by_rcm(on_device, 2), contains("in device memory. Give one in host memory"));
  CHECK_THROWS_WITH(parts_by_rcm(whilst_test::small, 0), contains("there are 0 ranks. Give 1 or more"));
  CHECK_THROWS_WITH(parts_by_rcm(whilst_test::small, -3), contains("there are -3 ranks"));
}
