// amg of a distributed matrix: iterations, bits and values. Ranks are threads, on the host; some on GPUs, too.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/distributed_grids.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst_test::contains;
using whilst_test::cube;
using whilst_test::equal_split;
using whilst_test::nothing;
using whilst_test::relative_residual;
using whilst_test::row_split;
using whilst_test::same_bits;
using whilst_test::solved_by_ranks;
using whilst_test::some_b;

linear_solver_options by_amg(const std::string& preconditioner = "amg", const std::string& method = "cg") {
  linear_solver_options options{.method = method, .preconditioner = preconditioner};
  options.executor = "host";
  options.rtol = 1e-8;
  return options;
}
/// On one rank, with aggregates as on several.
double iterations_alone(const csr_matrix<double>& A, const std::vector<double>& b, linear_solver_options options) {
  std::vector<double> x(b.size());
  options.amg.coarsening = "aggregation";
  return static_cast<double>(whilst::linear_solver<double>(A, options).solve(b, x).iterations());
}
/// That solve on so many ranks; checks what holds for any.
whilst_test::found_by_ranks<double> checked(const csr_matrix<double>& A, const row_split& split,
                                            const std::vector<double>& b, const linear_solver_options& options,
                                            const std::vector<csr_matrix<double>>& later = {}) {
  const int size = static_cast<int>(split.size()) - 1;
  auto found = solved_by_ranks(size, A, split, b, options, later);
  REQUIRE(found.thrown == nothing(size));
  CHECK(relative_residual(later.empty() ? A : later.back(), b, found.x) <= 1.01 * options.rtol);
  for (const whilst::report& one : found.reports) {
    CHECK(one.iterations() == found.reports.front().iterations());
    CHECK(one.residual_norm() == found.reports.front().residual_norm());
    CHECK(one.reason() == found.reports.front().reason());
  }
  return found;
}

/// How many times the iterations of one rank several may take: aggregates end at the borders. Measured: 22 / 18.
constexpr double most_growth = 1.3;

constexpr int cells = whilst_test::under_sanitizers ? 16 : 24;

}  // namespace

TEST_CASE("amg across ranks takes as many iterations as by aggregation on one, for coefficients of any kind",
          "[group][linear][amg]") {
  struct problem {
    const char* name;
    csr_matrix<double> A;
  };
  const problem problems[] = {{"smooth", cube(cells, {1, 1, 1})},
                              {"along x", cube(cells, {100, 1, 1})},
                              {"along y", cube(cells, {1, 100, 1})},
                              {"along z", cube(cells, {1, 1, 100})},
                              {"jumps", cube(cells, {1, 1, 1}, 6)}};
  for (const auto& [name, A] : problems) {
    const std::vector<double> b = some_b<double>(A.rows());
    const double alone = iterations_alone(A, b, by_amg());
    for (const int size : {2, 3, 5, 8}) {
      if (whilst_test::under_sanitizers && size != 3 && size != 8) continue;
      CAPTURE(name, size, alone);
      const auto found = checked(A, equal_split(A.rows(), size), b, by_amg());
      CHECK(static_cast<double>(found.reports.front().iterations()) <= most_growth * alone);
      CHECK_THAT(found.reports.front().preconditioner_choice(), contains(" rows across ranks, then on each rank "));
    }
    const index_type n = A.rows();
    for (const row_split& split : std::vector<row_split>{{0, 1, 1, n}, {0, 0, 700, n - 5, n, n}, {0, n, n}}) {
      CAPTURE(name, split, alone);
      const auto found = checked(A, split, b, by_amg());
      CHECK(static_cast<double>(found.reports.front().iterations()) <= most_growth * alone);
    }
  }
}

// Two unknowns that hardly know any other but one another, one on each side of every border. In no aggregate they are
// an eigenvalue of their own each, and take four times as many iterations.
TEST_CASE("amg across ranks joins across a border what is strong there alone", "[group][linear][amg]") {
  csr_matrix<double> A = cube(cells, {1, 1, 1});
  row_split split = equal_split(A.rows(), 8);
  for (std::size_t q = 1; q < 8; ++q) split[q] += 5;
  std::vector<double> values(A.values().begin(), A.values().end());
  std::vector<int> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<int>(A.row_offset(i)));
  const std::vector<int> columns(A.column_indices().begin(), A.column_indices().end());
  for (std::size_t q = 1; q < 8; ++q) {
    const auto before = static_cast<int>(split[q]) - 1, after = before + 1;
    for (const auto& [row, other] : {std::pair(before, after), std::pair(after, before)})
      for (int k = offsets[static_cast<std::size_t>(row)]; k < offsets[static_cast<std::size_t>(row) + 1]; ++k) {
        const int column = columns[static_cast<std::size_t>(k)];
        if (column == row || column == other) values[static_cast<std::size_t>(k)] += column == row ? 1e6 : -1e6;
      }
  }
  A = csr_matrix<double>(A.rows(), A.rows(), offsets, columns, values);
  const std::vector<double> b = some_b<double>(A.rows());
  const double alone = iterations_alone(A, b, by_amg());
  const auto found = checked(A, split, b, by_amg());
  CHECK(static_cast<double>(found.reports.front().iterations()) <= most_growth * alone);
}

TEST_CASE("amg across ranks has the same bits in every run and for any unroll", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 2, 5});
  const std::vector<double> b = some_b<double>(A.rows());
  const double alone = iterations_alone(A, b, by_amg());
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  for (const char* method : {"cg", "flexible-cg"}) {
    for (const char* preconditioner : {"amg", "amg,precision=double"}) {
      const row_split split = equal_split(A.rows(), 3);
      linear_solver_options options = by_amg(preconditioner, method);
      options.executor = executor;
      const auto once = checked(A, split, b, options);
      CHECK(static_cast<double>(once.reports.front().iterations()) <= most_growth * alone);
      for (const int unroll : {1, 5}) {
        CAPTURE(executor, method, preconditioner, unroll);
        options.unroll = unroll;
        CHECK(same_bits(once.x, checked(A, split, b, options).x));
      }
    }
  }
}

TEST_CASE("amg across ranks is made anew for new values, and for the old ones as it was", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1}), other = cube(cells, {1, 3, 9});
  const std::vector<double> b = some_b<double>(A.rows());
  for (const std::string& executor : whilst_test::group_executors()) {
    for (const row_split& split : {equal_split(A.rows(), 3), row_split{0, 1, 1, A.rows()}}) {
      CAPTURE(executor, split);
      linear_solver_options options = by_amg();
      options.executor = executor;
      const auto first = checked(A, split, b, options);
      const auto then = checked(A, split, b, options, {other});
      // Aggregates are those of A, which costs 3 iterations of 18; with the values of A it would take 31.
      const auto anew = checked(other, split, b, options);
      CHECK(then.reports.front().iterations() * 2 <= anew.reports.front().iterations() * 3);
      CHECK(same_bits(checked(A, split, b, options, {other, A}).x, first.x));
    }
  }
}

TEST_CASE("amg across ranks where levels end early", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  const double alone = iterations_alone(A, b, by_amg("amg,most_levels=1"));
  const auto one = checked(A, equal_split(A.rows(), 3), b, by_amg("amg,most_levels=1"));
  CHECK_THAT(one.reports.front().preconditioner_choice(), !contains("on each rank"));
  // The smoother is that of one rank: sums alone are rounded in another way.
  CHECK(std::abs(static_cast<double>(one.reports.front().iterations()) - alone) <= 1);
  const auto two = checked(A, equal_split(A.rows(), 3), b, by_amg("amg,most_levels=2"));
  CHECK(two.reports.front().iterations() < one.reports.front().iterations());

  // Nothing beside the diagonal: nothing to coarsen, and the smoother is the inverse.
  const int n = 40000;
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    offsets.push_back(i + 1);
    columns.push_back(i);
    values.push_back(1 + i % 9);
  }
  const csr_matrix<double> D(n, n, offsets, columns, values);
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  CHECK(checked(D, equal_split(n, 3), ones, by_amg()).reports.front().iterations() <= 2);
}

TEST_CASE("amg across ranks: rows of zeros, and a matrix that is negative", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  const row_split split = equal_split(A.rows(), 3);
  std::vector<double> values(A.values().begin(), A.values().end());
  for (double& value : values) value = -value;
  std::vector<int> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<int>(A.row_offset(i)));
  const std::vector<int> columns(A.column_indices().begin(), A.column_indices().end());
  const csr_matrix<double> negative(A.rows(), A.rows(), offsets, columns, values);
  CHECK(checked(negative, split, b, by_amg()).reports.front().iterations() ==
        checked(A, split, b, by_amg()).reports.front().iterations());

  const auto is_zero = [](index_type i) { return i % 37 == 5; };
  std::vector<double> consistent = b;
  for (index_type i = 0; i < A.rows(); ++i) {
    if (is_zero(i)) consistent[static_cast<std::size_t>(i)] = 0;
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      values[k] = is_zero(i) || is_zero(A.column_indices()[k]) ? 0 : A.values()[k];
  }
  const csr_matrix<double> with_zeros(A.rows(), A.rows(), offsets, columns, values);
  CHECK(checked(with_zeros, split, consistent, by_amg()).reports.front().converged());
  // M is 1 at a row of zeros, so that the first step goes along b there.
  linear_solver_options one_step = by_amg();
  one_step.max_iterations = 1;
  const auto found = solved_by_ranks(3, with_zeros, split, b, one_step);
  REQUIRE(found.thrown == nothing(3));
  for (index_type i = 0; i < A.rows(); ++i) {
    if (is_zero(i)) CHECK(found.x[static_cast<std::size_t>(i)] != 0);
  }
}

TEST_CASE("amg across ranks: what is wrong on one rank ends the solve on all", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  const row_split split = equal_split(A.rows(), 3);
  std::vector<int> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<int>(A.row_offset(i)));
  const std::vector<int> columns(A.column_indices().begin(), A.column_indices().end());
  for (const double factor : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> values(A.values().begin(), A.values().end());
    for (index_type i = split[1]; i < split[2]; ++i)
      for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
        if (columns[k] == i) values[k] *= factor;
    const csr_matrix<double> wrong(A.rows(), A.rows(), offsets, columns, values);
    for (const bool from_the_start : {true, false}) {
      CAPTURE(factor, from_the_start);
      const auto found = from_the_start ? solved_by_ranks(3, wrong, split, b, by_amg())
                                        : solved_by_ranks(3, A, split, b, by_amg(), {wrong});
      REQUIRE(found.thrown == nothing(3));
      for (const whilst::report& one : found.reports) {
        CHECK_FALSE(one.converged());
        CHECK(one.reason() == found.reports.front().reason());
        CHECK(one.reason() != whilst::reason::peer_lost);
      }
    }
  }
}

TEST_CASE("amg across ranks: late ranks change no bit, and one that does not come is lost until it recovers",
          "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  const row_split split = equal_split(A.rows(), 3);
  for (int who = 0; who < 3; ++who) {
    std::vector<int> right(3);
    const auto thrown = whilst_test::on_ranks(3, [&](const whilst::group& ranks) {
      const auto q = static_cast<std::size_t>(ranks.rank());
      // Long enough for a machine that is busy, between the ranks that do come.
      whilst::distributed_linear_solver<double> solver(whilst_test::distributed<double>(ranks, A, split), by_amg(), 1);
      const std::vector<double> own(b.begin() + split[q], b.begin() + split[q + 1]);
      std::vector<double> first(own.size());
      (void)solver.solve(own, first);
      const auto solves_alike = [&] {
        std::vector<double> x(own.size());
        return solver.solve(own, x).converged() && same_bits(x, first);
      };
      bool is_right = true;
      for (int k = 0; k < 6; ++k) {
        if (ranks.rank() == k % 3) std::this_thread::sleep_for(std::chrono::milliseconds(3 * k));
        is_right &= solves_alike();
      }
      if (ranks.rank() != who) {
        std::vector<double> x(own.size());
        is_right &= solver.solve(own, x).reason() == whilst::reason::peer_lost && solver.lost_rank() == who;
      }
      solver.recover();
      right[q] = is_right && solves_alike() && solves_alike();
    });
    CAPTURE(who);
    CHECK(thrown == nothing(3));
    CHECK(right == std::vector<int>(3, 1));
  }
}

TEST_CASE("amg across ranks refuses settings that differ", "[group][linear][amg]") {
  const csr_matrix<double> A = cube(cells, {1, 1, 1});
  const auto differing = whilst_test::on_ranks(2, [&](const whilst::group& ranks) {
    linear_solver_options options = by_amg();
    options.amg.strength = ranks.rank() == 0 ? 0.1 : 0.2;
    const whilst::distributed_linear_solver<double> solver(
        whilst_test::distributed<double>(ranks, A, equal_split(A.rows(), 2)), options);
  });
  for (const std::string& one : differing)
    CHECK_THAT(one, contains("ranks give different settings of preconditioner amg"));
}
