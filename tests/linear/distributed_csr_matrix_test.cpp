#include "whilst/linear/distributed/distributed_csr_matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "whilst/gallery.hpp"

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
using whilst_test::part_of;
using whilst_test::small;
using whilst_test::zero_matrix;
using splits = std::vector<index_type>;

constexpr int group_sizes[] = {1, 2, 3, 5, 8};

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

template <class T>
std::vector<T> random_vector(index_type n, std::uint64_t seed) {
  std::vector<T> x;
  for (index_type i = 0; i < n; ++i) x.push_back(static_cast<T>(next_random(seed)) / static_cast<T>(1u << 30) - 1);
  return x;
}

/// Rows of 0 to 6 entries in no order, some columns twice.
template <class T>
csr_matrix<T> scattered_matrix(index_type n, std::uint64_t seed) {
  std::vector<std::int32_t> offsets{0}, columns;
  for (index_type i = 0; i < n; ++i) {
    for (std::uint64_t k = next_random(seed) % 7; k > 0; --k)
      columns.push_back(static_cast<std::int32_t>(next_random(seed) % static_cast<std::uint64_t>(n)));
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  return csr_matrix<T>(n, n, offsets, columns, random_vector<T>(static_cast<index_type>(columns.size()), seed));
}

/// Equal pieces; random ones, of which some may be empty; all on the last rank; all on the first one.
std::vector<splits> splits_of(index_type rows, int size) {
  splits equal, random{0, rows}, last(static_cast<std::size_t>(size), 0), first(static_cast<std::size_t>(size), rows);
  for (int q = 0; q <= size; ++q) equal.push_back(rows * q / size);
  std::uint64_t seed = static_cast<std::uint64_t>(size);
  while (random.size() <= static_cast<std::size_t>(size))
    random.push_back(static_cast<index_type>(next_random(seed) % static_cast<std::uint64_t>(rows + 1)));
  if (size > 2) random[3] = random[2];
  std::sort(random.begin(), random.end());
  last.push_back(rows);
  first.insert(first.begin(), 0);
  return {equal, random, last, first};
}

template <class T>
bool same_bits(const std::vector<T>& one, const std::vector<T>& other) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](T a, T b) { return std::bit_cast<bits>(a) == std::bit_cast<bits>(b); });
}

/// A x by all ranks, put together, and what they threw.
template <class T, class Make>
std::pair<std::vector<T>, std::vector<std::string>> product_on_ranks(int size, const std::vector<T>& x, Make make) {
  std::vector<T> y(x.size());
  const auto thrown = on_ranks(size, [&](const group& ranks) {
    const distributed_csr_matrix<T> A = make(ranks);
    const auto own = A.multiply(part_of(x, A.partition(), ranks.rank()));
    std::copy(own.begin(), own.end(), y.begin() + A.partition().first(ranks.rank()));
  });
  return {y, thrown};
}

/// By whole numbers, whose sums are exact: the oracle needs no tolerance and no order.
template <class T>
void check_exact_product(const csr_matrix<T>& pattern, int size, const splits& split) {
  std::vector<T> values, x;
  std::vector<long> exact(static_cast<std::size_t>(pattern.rows()));
  for (index_type k = 0; k < pattern.nonzeros(); ++k) values.push_back(static_cast<T>(k % 7 - 3));
  for (index_type i = 0; i < pattern.rows(); ++i) x.push_back(static_cast<T>(i % 11 - 5));
  for (index_type i = 0; i < pattern.rows(); ++i) {
    for (index_type k = pattern.row_offset(i); k < pattern.row_offset(i + 1); ++k) {
      const auto j = pattern.column_indices()[static_cast<std::size_t>(k)];
      exact[static_cast<std::size_t>(i)] += (k % 7 - 3) * (j % 11 - 5);
    }
  }
  std::vector<std::int64_t> offsets;
  for (index_type i = 0; i <= pattern.rows(); ++i) offsets.push_back(pattern.row_offset(i));
  const csr_matrix<T> A(pattern.rows(), pattern.rows(), offsets, pattern.column_indices(), values);
  const auto [y, thrown] = product_on_ranks(size, x, [&](const group& ranks) { return distributed(ranks, A, split); });
  CHECK(thrown == nothing(size));
  CHECK(std::equal(y.begin(), y.end(), exact.begin(), [](T a, long b) { return a == static_cast<T>(b); }));
}

template <class T>
std::vector<csr_matrix<T>> matrices() {
  return {whilst::make_gallery<T>("poisson3d:6").matrix, whilst::make_gallery<T>("powerlaw:300").matrix,
          scattered_matrix<T>(257, 1), scattered_matrix<T>(3, 2)};
}

}  // namespace

TEST_CASE("the plan of a small distributed matrix is that made by hand") {
  std::vector<std::optional<distributed_csr_matrix<double>>> kept(3);
  CHECK(on_ranks(3, [&](const group& ranks) {
          kept[static_cast<std::size_t>(ranks.rank())] = distributed(ranks, small, {0, 2, 4, 5});
        }) == nothing(3));
  const auto of = [&](int q) -> const distributed_csr_matrix<double>& { return *kept[static_cast<std::size_t>(q)]; };
  using numbers = std::vector<std::int32_t>;
  const auto list = [](std::span<const std::int32_t> all) { return numbers(all.begin(), all.end()); };

  CHECK(of(0).halo().ghosts == splits{4});
  CHECK(of(1).halo().ghosts == splits{0, 4});
  CHECK(of(2).halo().ghosts == splits{3});
  CHECK(list(of(0).local().column_indices()) == numbers{0, 1, 2, 0});
  CHECK(list(of(1).local().column_indices()) == numbers{0, 1, 2, 1, 3});  // the ghost stays first in row 3
  CHECK(list(of(2).local().column_indices()) == numbers{1, 0});
  CHECK(of(1).local().rows() == 2);
  CHECK(of(1).local().columns() == 4);
  CHECK_FALSE(of(1).local().has_64bit_offsets());
  CHECK(list(of(0).interior_rows()) == numbers{1});
  CHECK(list(of(0).boundary_rows()) == numbers{0});
  CHECK(list(of(1).interior_rows()) == numbers{0});
  CHECK(list(of(2).interior_rows()).empty());

  // Rank 1 sends nothing to rank 0, but gets x[0] from it.
  REQUIRE(of(1).halo().neighbours.size() == 2);
  const whilst::halo_neighbour to_0 = of(1).halo().neighbours[0], to_2 = of(1).halo().neighbours[1];
  CHECK(to_0.rank == 0);
  CHECK(to_0.send_begin == to_0.send_end);
  CHECK(to_0.ghost_begin == 0);
  CHECK(to_0.ghost_end == 1);
  CHECK(to_2.rank == 2);
  CHECK(of(1).halo().send_indices == numbers{1});
  CHECK(to_2.send_begin == 0);
  CHECK(to_2.send_end == 1);
  CHECK(to_2.lands_at == 0);
  CHECK(to_2.ghost_begin == 1);
  CHECK(to_2.ghost_end == 2);
  // Rank 2 sends x[4] to both; on rank 1 it is the second ghost.
  REQUIRE(of(2).halo().neighbours.size() == 2);
  CHECK(of(2).halo().send_indices == numbers{0, 0});
  CHECK(of(2).halo().neighbours[0].lands_at == 0);
  CHECK(of(2).halo().neighbours[1].lands_at == 1);
}

TEMPLATE_TEST_CASE("a product by any number of ranks has the bits of one rank", "", float, double) {
  for (const csr_matrix<TestType>& A : matrices<TestType>()) {
    const auto x = random_vector<TestType>(A.rows(), 7);
    const auto serial = whilst_test::serial_product(A, x);
    for (const int size : group_sizes) {
      for (const splits& split : splits_of(A.rows(), size)) {
        CAPTURE(A.rows(), size, split);
        const auto [y, thrown] =
            product_on_ranks(size, x, [&](const group& ranks) { return distributed(ranks, A, split); });
        CHECK(thrown == nothing(size));
        CHECK(same_bits(y, serial));
        check_exact_product(A, size, split);
      }
    }
  }
}

TEST_CASE("ranks send what others need, and only boundary rows read ghosts") {
  const csr_matrix<double> A = scattered_matrix<double>(120, 3);
  for (const int size : group_sizes) {
    for (const splits& split : splits_of(A.rows(), size)) {
      CAPTURE(size, split);
      std::vector<std::optional<distributed_csr_matrix<double>>> kept(static_cast<std::size_t>(size));
      REQUIRE(on_ranks(size, [&](const group& ranks) {
                kept[static_cast<std::size_t>(ranks.rank())] = distributed(ranks, A, split);
              }) == nothing(size));
      const auto owner = [&](index_type column) {
        int q = 0;
        while (column >= split[static_cast<std::size_t>(q) + 1]) ++q;
        return q;
      };
      // Global numbers that rank q needs of rank p, by looking at all entries.
      std::vector<std::vector<std::set<index_type>>> needs(static_cast<std::size_t>(size));
      std::vector<std::set<std::int32_t>> boundary(static_cast<std::size_t>(size));
      for (auto& one : needs) one.resize(static_cast<std::size_t>(size));
      for (index_type i = 0; i < A.rows(); ++i) {
        const auto q = static_cast<std::size_t>(owner(i));
        for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
          const index_type j = A.column_indices()[static_cast<std::size_t>(k)];
          const auto p = static_cast<std::size_t>(owner(j));
          if (p == q) continue;
          needs[q][p].insert(j);
          boundary[q].insert(static_cast<std::int32_t>(i - split[q]));
        }
      }
      bool as_needed = true;
      for (std::size_t q = 0; q < kept.size(); ++q) {
        const whilst::halo_plan& halo = kept[q]->halo();
        std::set<index_type> ghosts;
        std::size_t neighbours = 0;
        for (std::size_t p = 0; p < kept.size(); ++p) {
          ghosts.insert(needs[q][p].begin(), needs[q][p].end());
          neighbours += !needs[q][p].empty() || !needs[p][q].empty();
        }
        as_needed &= halo.ghosts == splits(ghosts.begin(), ghosts.end()) && halo.neighbours.size() == neighbours;
        for (const whilst::halo_neighbour& to : halo.neighbours) {
          const auto p = static_cast<std::size_t>(to.rank);
          splits sent, from(halo.ghosts.begin() + to.ghost_begin, halo.ghosts.begin() + to.ghost_end);
          for (index_type k = to.send_begin; k < to.send_end; ++k)
            sent.push_back(split[q] + halo.send_indices[static_cast<std::size_t>(k)]);
          as_needed &= sent == splits(needs[p][q].begin(), needs[p][q].end());
          as_needed &= from == splits(needs[q][p].begin(), needs[q][p].end());
          for (std::size_t k = 0; k < sent.size(); ++k)
            as_needed &= kept[p]->halo().ghosts[static_cast<std::size_t>(to.lands_at) + k] == sent[k];
        }
        const auto edge = kept[q]->boundary_rows(), inner = kept[q]->interior_rows();
        as_needed &= std::set<std::int32_t>(edge.begin(), edge.end()) == boundary[q];
        as_needed &= static_cast<index_type>(edge.size() + inner.size()) == split[q + 1] - split[q];
        for (const std::int32_t row : inner) as_needed &= !boundary[q].contains(row);
      }
      CHECK(as_needed);
    }
  }
}

TEST_CASE("a matrix of rank 0 is split evenly by nonzeros and rows") {
  for (const csr_matrix<double>& A : matrices<double>()) {
    const auto x = random_vector<double>(A.rows(), 8);
    index_type longest = 0;
    for (index_type i = 0; i < A.rows(); ++i) longest = std::max(longest, A.row_offset(i + 1) - A.row_offset(i));
    for (const int size : group_sizes) {
      CAPTURE(A.rows(), size);
      std::vector<index_type> work(static_cast<std::size_t>(size));
      const auto [y, thrown] = product_on_ranks(size, x, [&](const group& ranks) {
        auto split = distributed_csr_matrix<double>::from_rank_0(ranks, ranks.rank() == 0 ? &A : nullptr);
        const csr_matrix<double> local = split.local();
        work[static_cast<std::size_t>(ranks.rank())] = local.nonzeros() + local.rows();
        return split;
      });
      CHECK(thrown == nothing(size));
      CHECK(same_bits(y, whilst_test::serial_product(A, x)));
      // Each boundary is off by less than a row.
      for (const index_type one : work) CHECK(std::abs(one - (A.nonzeros() + A.rows()) / size) <= longest + 2);
    }
  }
}

TEST_CASE("rows without entries are split evenly, and a matrix without rows among any ranks") {
  for (const index_type n : {0, 2, 40}) {
    const csr_matrix<float> A = zero_matrix<float>(n);
    std::vector<index_type> rows(5);
    CHECK(on_ranks(5, [&](const group& ranks) {
            const auto split = distributed_csr_matrix<float>::from_rank_0(ranks, ranks.rank() == 0 ? &A : nullptr);
            rows[static_cast<std::size_t>(ranks.rank())] = split.local().rows();
          }) == nothing(5));
    index_type all = 0;
    for (const index_type one : rows) {
      CHECK(one >= n / 5);
      CHECK(one <= n / 5 + 1);
      all += one;
    }
    CHECK(all == n);
  }
}

TEST_CASE("a rank without rows may give any first row, and indices of any integer type") {
  std::vector<double> y(5);
  CHECK(on_ranks(3, [&](const group& ranks) {
          const std::vector<double> x{1, 2, 3, 4, 5};
          if (ranks.rank() == 1) {
            const distributed_csr_matrix<double> none(ranks, 77, std::vector<unsigned long>{0}, std::vector<short>(),
                                                      {});
            if (!none.multiply({}).empty()) throw whilst::error("there are rows");
            return;
          }
          const index_type begin = ranks.rank() == 0 ? 0 : 2, end = ranks.rank() == 0 ? 2 : 5;
          const given_rows<double> rows(small, begin, end);
          const std::vector<unsigned short> offsets(rows.offsets.begin(), rows.offsets.end());
          const std::vector<unsigned long long> columns(rows.columns.begin(), rows.columns.end());
          const distributed_csr_matrix<double> A(ranks, begin, offsets, columns, rows.values);
          const auto own = A.multiply(part_of(x, A.partition(), ranks.rank()));
          std::copy(own.begin(), own.end(), y.begin() + begin);
        }) == nothing(3));
  CHECK(y == std::vector<double>{20, 4, 39, 84, 95});
}

TEST_CASE("NaN and infinity pass through a distributed matrix") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const csr_matrix<double> A(2, 2, std::vector<int>{0, 2, 4}, std::vector<int>{0, 1, 0, 1},
                             std::vector<double>{1, nan, inf, 1});
  const auto [y, thrown] = product_on_ranks<double>(2, {1, 2}, [&](const group& ranks) {
    return distributed(ranks, A, {0, 1, 2});
  });
  CHECK(thrown == nothing(2));
  CHECK(std::isnan(y[0]));
  CHECK(y[1] == inf);
}

TEST_CASE("new values take the place of the old ones, and of another pattern none are taken") {
  std::vector<double> doubled(5), after(5);
  std::vector<std::string> refused(3), too_many(3), other_offsets(3);
  CHECK(on_ranks(3, [&](const group& ranks) {
          const auto q = static_cast<std::size_t>(ranks.rank());
          const splits split{0, 2, 4, 5};
          const std::vector<double> x{1, 2, 3, 4, 5};
          given_rows<double> rows(small, split[q], split[q + 1]);
          auto A = rows.matrix(ranks);
          const csr_matrix<double> local = A.local();
          const auto multiply = [&](std::vector<double>& y) {
            const auto own = A.multiply(part_of(x, A.partition(), ranks.rank()));
            std::copy(own.begin(), own.end(), y.begin() + split[q]);
          };
          const auto message = [&](const given_rows<double>& given) -> std::string {
            try {
              A.update_values(given.offsets, given.columns, given.values);
            } catch (const whilst::error& problem) {
              return problem.what();
            }
            return {};
          };
          for (double& value : rows.values) value *= 2;
          A.update_values(rows.offsets, rows.columns, rows.values);
          multiply(doubled);
          if (!std::equal(rows.values.begin(), rows.values.end(), local.values().begin()))
            throw whilst::error("the local matrix kept its old values");

          for (double& value : rows.values) value = 99;
          auto spoilt = rows;
          if (q == 1) std::swap(spoilt.columns[2], spoilt.columns[3]);
          refused[q] = message(spoilt);
          spoilt = rows;
          if (q == 1) spoilt.values.push_back(1);
          too_many[q] = message(spoilt);
          spoilt = rows;
          if (q == 1) spoilt.offsets[1] = 1;
          other_offsets[q] = message(spoilt);
          multiply(after);
        }) == nothing(3));
  CHECK(doubled == std::vector<double>{40, 8, 78, 168, 190});
  CHECK(after == doubled);
  for (const std::string& one : refused) CHECK_THAT(one, contains("column_indices[2] is 3, and was 0. Give the same"));
  for (const std::string& one : too_many) CHECK_THAT(one, contains("5 column indices and 6 values"));
  for (const std::string& one : other_offsets) CHECK_THAT(one, contains("the row offsets differ"));
  CHECK_THAT(refused[0], contains("rank 1 failed: "));
}

TEST_CASE("two groups work side by side") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:9").matrix;
  const auto x = random_vector<double>(A.rows(), 9);
  const auto serial = whilst_test::serial_product(A, x);
  std::vector<char> right(2);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < 2; ++k) {
    threads.emplace_back([&, k] {
      const int size = 2 + static_cast<int>(k);
      const auto [y, thrown] = product_on_ranks(
          size, x, [&](const group& ranks) { return distributed(ranks, A, splits_of(A.rows(), size)[1]); });
      right[k] = thrown == nothing(size) && same_bits(y, serial);
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(right[0]);
  CHECK(right[1]);
}
