// Rows divided by METIS, where it was found when the tests were built.

#include "tests/catch.hpp"

#if !WHILST_WITH_METIS

TEST_CASE("rows are divided by METIS") {
  WARN("left out: METIS was not found when the tests were built (Debian and Ubuntu: libmetis-dev)");
}

#else

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "tests/linear/row_parts.hpp"
#include "whilst/gallery.hpp"
#include "whilst/metis.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::parts_by_metis;
using whilst::parts_by_rcm;
using whilst_test::contains;
using whilst_test::counted_ghosts;
using whilst_test::cut_entries;
using whilst_test::shuffled;

long all_ghosts(const csr_matrix<double>& A, const std::vector<int>& parts, int ranks) {
  const auto counts = counted_ghosts(A, parts, ranks);
  return static_cast<long>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
}

}  // namespace

TEST_CASE("METIS cuts fewer entries of a shuffled grid than other parts do, with equal work") {
  for (const char* problem : {"poisson3d:12", "poisson2d:40"}) {
    const csr_matrix<double> A = shuffled(whilst::make_gallery<double>(problem).matrix);
    for (const int ranks : {2, 3, 5, 8, 13}) {
      CAPTURE(problem, ranks);
      const std::vector<int> parts = parts_by_metis(A, ranks), by_rcm = parts_by_rcm(A, ranks),
                             by_rows = whilst_test::consecutive_parts(A.rows(), ranks);
      CHECK(cut_entries(A, parts) < cut_entries(A, by_rcm));
      CHECK(cut_entries(A, by_rcm) < cut_entries(A, by_rows));
      // Two layers of a cube, cut across its diagonal, have fewer ghosts than two halves.
      if (ranks >= 5) CHECK(all_ghosts(A, parts, ranks) < all_ghosts(A, by_rcm, ranks));
      CHECK(all_ghosts(A, parts, ranks) < all_ghosts(A, by_rows, ranks));
      CHECK(all_ghosts(A, by_rcm, ranks) < all_ghosts(A, by_rows, ranks));
      // 3 % by METIS's default, and a row, which has up to 7 entries.
      const double share = static_cast<double>(A.nonzeros() + A.rows()) / ranks;
      for (const index_type one : whilst_test::work_of_ranks(A, parts, ranks))
        CHECK(static_cast<double>(one) <= 1.03 * share + 8);
      CHECK(parts == parts_by_metis(A, ranks));
    }
  }
}

TEST_CASE("METIS divides a pattern that is not symmetric, and float") {
  const csr_matrix<float> A = whilst::make_gallery<float>("powerlaw:600").matrix;
  std::vector<std::size_t> ghosts(3);
  const std::vector<int> parts = parts_by_metis(A, 3);
  CHECK(whilst_test::on_ranks(3, [&](const whilst::group& ranks) {
          const auto split = whilst::distributed_csr_matrix<float>::from_rank_0(
              ranks, ranks.rank() == 0 ? &A : nullptr, ranks.rank() == 0 ? parts : std::vector<int>());
          ghosts[static_cast<std::size_t>(ranks.rank())] = split.halo().ghosts.size();
        }) == whilst_test::nothing(3));
  CHECK(ghosts == counted_ghosts(A, parts, 3));
  CHECK(cut_entries(A, parts) < cut_entries(A, whilst_test::consecutive_parts(A.rows(), 3)));
}

TEST_CASE("METIS is not asked where there is little to divide") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:5").matrix;  // 25 rows
  CHECK(parts_by_metis(A, 1) == std::vector<int>(25, 0));
  CHECK(parts_by_metis(A, 4) == parts_by_rcm(A, 4));
  CHECK(parts_by_metis(A, 30) == parts_by_rcm(A, 30));
  CHECK(parts_by_metis(whilst_test::zero_matrix<double>(0), 3).empty());
  CHECK(parts_by_metis(whilst_test::zero_matrix<double>(40), 3).size() == 40);
}

TEST_CASE("what METIS cannot divide is refused") {
  const csr_matrix<double> wide(100, 101, std::vector<int>(101), std::vector<int>(), std::vector<double>());
  CHECK_THROWS_WITH(parts_by_metis(wide, 2), contains("100 rows and 101 columns. Give a square one"));
  CHECK_THROWS_WITH(parts_by_metis(whilst_test::small, 0), contains("there are 0 ranks. Give 1 or more"));

  // Counts one past the largest idx_t, where that has 32 bits; a graph of so many neighbours fits no test.
  constexpr auto most = static_cast<std::int64_t>(std::numeric_limits<idx_t>::max());
  whilst::row_graph graph{{0, 0}, {}, {most}};
  CHECK_NOTHROW(whilst::detail::require_fits_metis(graph));
  if constexpr (sizeof(idx_t) == 4) {
    graph.work = {most, 1};
    CHECK_THROWS_WITH(
        whilst::detail::require_fits_metis(graph),
        contains("counts up to 2147483648, and this METIS to 2147483647. Use one built with IDXTYPEWIDTH 64"));
    graph.work = {1};
    graph.offsets = {0, most + 1};
    CHECK_THROWS_WITH(whilst::detail::require_fits_metis(graph), contains("counts up to 2147483648"));
  }
  CHECK_NOTHROW(whilst::detail::check_metis(METIS_OK));
  CHECK_THROWS_WITH(whilst::detail::check_metis(METIS_ERROR_MEMORY), contains("ran out of memory. Use parts_by_rcm"));
  CHECK_THROWS_WITH(whilst::detail::check_metis(METIS_ERROR), contains("METIS reported error -4"));
}

#endif
