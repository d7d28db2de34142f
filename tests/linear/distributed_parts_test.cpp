// Matrices of rank 0 that are split by given parts: products and solves, in the order of the whole matrix.

#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "tests/linear/row_parts.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::distributed_csr_matrix;
using whilst::group;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::any_parts;
using whilst_test::contains;
using whilst_test::nothing;
using whilst_test::on_ranks;
using whilst_test::same_bits;
using whilst_test::small;

constexpr int group_sizes[] = {1, 2, 3, 5};

/// As rank 0 gives a matrix with its parts, and the others nothing.
template <class T>
distributed_csr_matrix<T> split_by_parts(const group& ranks, const csr_matrix<T>& A, const std::vector<int>& parts) {
  if (ranks.rank() == 0) return distributed_csr_matrix<T>::from_rank_0(ranks, &A, parts);
  return distributed_csr_matrix<T>::from_rank_0(ranks, nullptr, {});
}
/// A vector that rank 0 has.
template <class T>
std::vector<T> of_rank_0(const group& ranks, const std::vector<T>& whole) {
  return ranks.rank() == 0 ? whole : std::vector<T>();
}

struct solved_in_parts {
  std::vector<double> x;  ///< in the order of the whole matrix
  std::vector<whilst::report> reports;
  std::vector<std::string> thrown;
};
solved_in_parts solve_in_parts(int size, const csr_matrix<double>& A, const std::vector<int>& parts,
                               const std::vector<double>& b, const linear_solver_options& options) {
  solved_in_parts made;
  std::mutex lock;
  made.thrown = on_ranks(size, [&](const group& ranks) {
    const auto split = split_by_parts(ranks, A, parts);
    whilst::distributed_linear_solver<double> solver(
        split, whilst_test::with_executor(options, options.executor, ranks.rank()));
    const std::vector<double> own_b = split.split().scatter(of_rank_0(ranks, b));
    std::vector<double> own_x(own_b.size());
    const whilst::report report = solver.solve(own_b, own_x);
    const std::vector<double> x = split.split().gather(own_x);
    const std::lock_guard hold(lock);
    made.reports.push_back(report);
    if (ranks.rank() == size - 1) made.x = x;  // the last rank has all of it, too
  });
  return made;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("given parts of a small matrix: rows, numbers and ghosts are those found by hand", "[group]") {
  // Rank 0 has rows 1 and 4, rank 1 none, rank 2 rows 0, 2 and 3: new numbers 2, 0, 3, 4, 1 of the old ones.
  std::vector<std::optional<distributed_csr_matrix<double>>> kept(3);
  REQUIRE(on_ranks(3, [&](const group& ranks) {
            kept[static_cast<std::size_t>(ranks.rank())] = split_by_parts(ranks, small, {2, 0, 2, 2, 0});
          }) == nothing(3));
  const auto list = [](const auto& all) { return std::vector<index_type>(all.begin(), all.end()); };
  using numbers = std::vector<index_type>;
  CHECK(kept[0]->partition() == whilst::row_partition({0, 2, 2, 5}));
  CHECK(kept[0]->split().original_row(0) == 1);
  CHECK(kept[0]->split().original_row(1) == 4);
  CHECK(kept[2]->split().original_row(0) == 0);
  CHECK(kept[2]->split().original_row(1) == 2);
  CHECK(kept[2]->split().original_row(2) == 3);
  CHECK(kept[0]->halo().ghosts == numbers{2, 4});
  CHECK(kept[1]->halo().ghosts.empty());
  CHECK(kept[2]->halo().ghosts == numbers{0, 1});
  CHECK(list(kept[0]->local().column_indices()) == numbers{2, 3, 1});  // of 0; 3 4
  CHECK(list(kept[0]->local().values()) == numbers{4, 10, 11});
  CHECK(list(kept[2]->local().column_indices()) == numbers{0, 3, 4, 1, 2, 0, 2, 4});  // of 0 1 4; 2 3; 0 3 4
  CHECK(list(kept[2]->local().values()) == numbers{1, 2, 3, 5, 6, 7, 8, 9});
}

TEST_CASE("rows that keep their order have the numbers of the whole matrix", "[group]") {
  CHECK(on_ranks(3, [&](const group& ranks) {
          const auto A = distributed_csr_matrix<double>::from_rank_0(ranks, ranks.rank() == 0 ? &small : nullptr);
          const index_type first = A.partition().first(ranks.rank()), rows = A.partition().rows_of(ranks.rank());
          for (index_type i = 0; i < rows; ++i)
            if (A.split().original_row(i) != first + i) throw whilst::error("another row");
          const std::vector<double> whole{1, 2, 3, 4, 5}, own = A.split().scatter(of_rank_0(ranks, whole));
          if (own != whilst_test::part_of(whole, A.partition(), ranks.rank())) throw whilst::error("another part");
          if (A.split().gather(own) != whole) throw whilst::error("another vector");
        }) == nothing(3));
}

TEMPLATE_TEST_CASE("a product by any parts has the bits of one rank", "[group]", float, double) {
  for (const char* problem : {"poisson3d:6", "powerlaw:300", "poisson1d:3"}) {
    const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
    whilst_test::dice chance(7);
    std::vector<TestType> x;
    for (index_type i = 0; i < A.rows(); ++i) x.push_back(static_cast<TestType>(chance.below(1000)) / 7 - 70);
    const auto serial = whilst_test::serial_product(A, x);
    for (const int size : group_sizes) {
      for (const std::vector<int>& parts : any_parts(A.rows(), size)) {
        CAPTURE(problem, size, parts);
        std::vector<TestType> y;
        const auto thrown = on_ranks(size, [&](const group& ranks) {
          const auto split = split_by_parts(ranks, A, parts);
          const auto own = split.multiply(split.split().scatter(of_rank_0(ranks, x)));
          const auto whole = split.split().gather(own);
          if (ranks.rank() == 0) y = whole;
        });
        CHECK(thrown == nothing(size));
        CHECK(same_bits(y, serial));
      }
    }
  }
}

TEST_CASE("solves by any parts find the x of one rank", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  constexpr int n = 17;
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:" + std::to_string(n)).matrix;
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  double b_norm = 0;
  for (const double one : b) b_norm = std::hypot(b_norm, one);
  const double half_angle = std::numbers::pi / (2 * (n + 1));
  const double least_eigenvalue = 8 * std::sin(half_angle) * std::sin(half_angle);
  for (const auto& [method, preconditioner] :
       {std::pair{"cg", "jacobi"}, {"cg", "amg"}, {"bicgstab", "none"}, {"cg", "ssor"}}) {
    linear_solver_options options{.method = method, .preconditioner = preconditioner, .rtol = 1e-10};
    options.executor = "host";
    std::vector<double> serial(b.size());
    REQUIRE(whilst::linear_solver<double>(A, options).solve(b, serial).converged());
    // Both residuals are within rtol, whose errors A's inverse multiplies by at most 1 / least_eigenvalue; the
    // hundredth is for rounding.
    const double bound = 2.01 * options.rtol * b_norm / least_eigenvalue;
    options.executor = executor;
    for (const int size : group_sizes) {
      if (executor != "host" && size > whilst_test::ranks_of_gpu) continue;
      for (const std::vector<int>& parts : any_parts(A.rows(), size)) {
        CAPTURE(executor, method, preconditioner, size, parts);
        const solved_in_parts found = solve_in_parts(size, A, parts, b, options);
        REQUIRE(found.thrown == nothing(size));
        for (const whilst::report& one : found.reports) CHECK(one.reason() == reason::converged_rtol);
        CHECK(distance(found.x, serial) <= bound);
        CHECK(same_bits(solve_in_parts(size, A, parts, b, options).x, found.x));
      }
    }
  }
}

TEST_CASE("parts that rank 0 cannot give are refused on all ranks", "[group]") {
  const csr_matrix<double> wide(1, 2, std::vector<int>{0, 0}, std::vector<int>(), std::vector<double>());
  const auto check = [](const csr_matrix<double>* A, const std::vector<int>& parts, const std::string& problem) {
    const auto thrown = on_ranks(3, [&](const group& ranks) {
      (void)distributed_csr_matrix<double>::from_rank_0(ranks, ranks.rank() == 0 ? A : nullptr, parts);
    });
    for (std::size_t q = 0; q < thrown.size(); ++q) {
      CHECK_THAT(thrown[q], contains(problem));
      if (q > 0) CHECK_THAT(thrown[q], contains("rank 0 failed: "));
    }
  };
  check(nullptr, {0, 1}, "rank 0 gave none. Give it there");
  check(&wide, {0}, "1 rows and 2 columns. Give a square one");
  check(&small, {}, "rank_of_row has 0 entries, and the matrix 5 rows. Give a rank for each row");
  check(&small, {0, 1, 2, 0}, "rank_of_row has 4 entries, and the matrix 5 rows");
  check(&small, {0, 1, 2, 0, 1, 2}, "rank_of_row has 6 entries, and the matrix 5 rows");
  check(&small, {0, 1, 3, 0, 1}, "rank_of_row[2] is 3. Give ranks from 0 to 2");
  check(&small, {0, 1, 2, -1, 1}, "rank_of_row[3] is -1. Give ranks from 0 to 2");
  constexpr int least = std::numeric_limits<int>::min();
  check(&small, {least, 1, 2, 0, 1}, "rank_of_row[0] is -2147483648");

  const auto mixed = on_ranks(2, [](const group& ranks) {
    if (ranks.rank() == 0)
      (void)distributed_csr_matrix<double>::from_rank_0(ranks, &small, std::vector<int>{0, 1, 0, 1, 0});
    else
      (void)distributed_csr_matrix<double>::from_rank_0(ranks, nullptr);
  });
  for (const std::string& one : mixed) CHECK_THAT(one, contains("by given parts"));
}

TEST_CASE("vectors that do not go with a split are refused on all ranks", "[group]") {
  const auto scattered = on_ranks(2, [](const group& ranks) {
    (void)split_by_parts(ranks, small, {0, 1, 0, 1, 0}).split().scatter(of_rank_0<double>(ranks, {1, 2, 3, 4}));
  });
  CHECK_THAT(scattered[0], contains("it has 4 entries. Give one for each row of the matrix: 5"));
  CHECK_THAT(scattered[1], contains("rank 0 failed: "));
  const auto gathered = on_ranks(2, [](const group& ranks) {
    (void)split_by_parts(ranks, small, {0, 1, 0, 1, 0}).split().gather(std::vector<double>(3));
  });
  CHECK_THAT(gathered[1], contains("there are 3 entries on this rank. Give one for each of its rows: 2"));
  CHECK_THAT(gathered[0], contains("rank 1 failed: "));
}
