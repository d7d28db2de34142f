// Preconditioners that each rank makes from its own diagonal block, on the host, ranks as threads.
#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::contains;
using whilst_test::equal_split;
using whilst_test::nothing;
using whilst_test::relative_residual;
using whilst_test::row_split;
using whilst_test::same_bits;
using whilst_test::solved_by_ranks;
using whilst_test::some_b;

linear_solver_options on_the_host(const std::string& method, const std::string& preconditioner) {
  linear_solver_options options{.method = method, .preconditioner = preconditioner};
  options.executor = "host";
  return options;
}

/// A tridiagonal matrix: -beside[i] between rows i and i + 1, and on the diagonal the sum of both plus one.
csr_matrix<double> tridiagonal(const std::vector<double>& beside) {
  const int n = static_cast<int>(beside.size()) + 1;
  std::vector<int> row_offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    const double before = i > 0 ? beside[static_cast<std::size_t>(i) - 1] : 0;
    const double after = i < n - 1 ? beside[static_cast<std::size_t>(i)] : 0;
    const auto add = [&](int column, double value) {
      columns.push_back(column);
      values.push_back(value);
    };
    if (i > 0) add(i - 1, -before);
    add(i, 1 + before + after);
    if (i < n - 1) add(i + 1, -after);
    row_offsets.push_back(static_cast<int>(values.size()));
  }
  return {n, n, row_offsets, columns, values};
}

template <class T>
void check_alike(const whilst_test::found_by_ranks<T>& found) {
  for (const whilst::report& one : found.reports) {
    CHECK(one.reason() == found.reports.front().reason());
    CHECK(one.iterations() == found.reports.front().iterations());
    const double norm = one.residual_norm(), first = found.reports.front().residual_norm();
    CHECK((norm == first || (std::isnan(norm) && std::isnan(first))));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("each preconditioner within ranks solves what one rank does", "[group][linear]", float, double) {
  using T = TestType;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson3d:9").matrix;
  const std::vector<T> b = some_b<T>(A.rows());
  for (const char* method : {"cg", "flexible-cg"}) {
    for (const char* preconditioner :
         {"amg", "amg,precision=double", "ic", "fsai", "block_jacobi", "ssor", "schwarz"}) {
      linear_solver_options options = on_the_host(method, preconditioner);
      options.rtol = sizeof(T) == 4 ? 1e-4 : 1e-10;
      std::vector<T> serial(b.size());
      const whilst::report alone = whilst::linear_solver<T>(A, options).solve(b, serial);
      for (const int size : {1, 2, 3, 5, 8}) {
        // Ranks take turns on few cores, and most of the time goes into waiting for all of many.
        if (whilst_test::under_sanitizers && size > 3 && preconditioner != std::string("amg")) continue;
        CAPTURE(method, preconditioner, size);
        const auto found = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options);
        REQUIRE(found.thrown == nothing(size));
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);  // rounding of the product is far below
        check_alike(found);
        CHECK(found.reports.front().reason() == reason::converged_rtol);
        const bool is_across = size > 1 && std::string(preconditioner).rfind("amg", 0) == 0;
        CHECK_THAT(found.reports.front().preconditioner_choice(),
                   contains(is_across ? "amg across ranks: " : "within ranks; on this one: "));
        // On one rank M is that of the whole matrix, and sums are rounded in another order.
        if (size == 1) CHECK(std::abs(found.reports.front().iterations() - alone.iterations()) <= 1);
      }
    }
  }
}

TEST_CASE("M for a matrix without symmetry within ranks", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:16").matrix;
  const std::vector<double> b = some_b<double>(A.rows());
  for (const char* preconditioner : {"ilu", "spai"}) {
    const linear_solver_options options = on_the_host("flexible-cg", preconditioner);
    CAPTURE(preconditioner);
    const auto found = solved_by_ranks(3, A, equal_split(A.rows(), 3), b, options);
    REQUIRE(found.thrown == nothing(3));
    CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
    check_alike(found);
  }
}

// The incomplete factors of a tridiagonal block are complete: M^-1 then differs from A by the 2 (P - 1) entries between
// ranks, so that M A has at most so many eigenvalues that are not 1, and cg ends after one iteration for each of all.
TEST_CASE("M is the inverse of a tridiagonal diagonal block, of new values too", "[group][linear]") {
  std::vector<double> beside, others;
  for (int i = 0; i < 299; ++i) {
    beside.push_back(1 + i % 7);
    others.push_back(1 + (i * i) % 11);
  }
  const csr_matrix<double> A = tridiagonal(beside), other = tridiagonal(others);
  const std::vector<double> b = some_b<double>(A.rows());
  linear_solver_options options = on_the_host("cg", "ic");
  options.rtol = 1e-10;
  for (const int size : {1, 2, 3, 5}) {
    CAPTURE(size);
    const row_split split = equal_split(A.rows(), size);
    const index_type most = 2 * (size - 1) + 1;
    const auto once = solved_by_ranks(size, A, split, b, options);
    REQUIRE(once.thrown == nothing(size));
    CHECK(once.reports.front().converged());
    CHECK(once.reports.front().iterations() <= most + 1);  // one more for rounding
    const auto then = solved_by_ranks(size, A, split, b, options, {other, A, other});
    REQUIRE(then.thrown == nothing(size));
    CHECK(then.reports.front().converged());
    CHECK(then.reports.front().iterations() <= most + 1);
    CHECK(relative_residual(other, b, then.x) <= 1.01 * options.rtol);
  }
}

TEST_CASE("M made where solves run hears of new values", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:16").matrix;
  const std::vector<double> b = some_b<double>(A.rows());
  std::vector<double> values(A.values().begin(), A.values().end());
  const auto wide = [&](index_type i) { return std::exp2(i % 13); };  // D A D, for which M of A is poor
  for (index_type i = 0; i < A.rows(); ++i)
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      values[k] *= wide(i) * wide(A.column_indices()[k]);
  std::vector<int> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<int>(A.row_offset(i)));
  const csr_matrix<double> other(A.rows(), A.rows(), offsets,
                                 std::vector<int>(A.column_indices().begin(), A.column_indices().end()), values);
  // Subdomains of schwarz are those of the first values.
  for (const char* preconditioner : {"amg", "fsai", "block_jacobi", "ssor", "ic"}) {
    for (const int size : {1, 3}) {  // one rank has no block of its own: it reads the matrix
      CAPTURE(preconditioner, size);
      const linear_solver_options options = on_the_host("cg", preconditioner);
      const auto anew = solved_by_ranks(size, other, equal_split(A.rows(), size), b, options);
      const auto then = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options, {other});
      REQUIRE(anew.thrown == nothing(size));
      REQUIRE(then.thrown == nothing(size));
      CHECK(then.reports.front().converged());
      CHECK(std::abs(then.reports.front().iterations() - anew.reports.front().iterations()) <= 1);
    }
  }
}

TEST_CASE("ranks without rows have no preconditioner and take part", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const std::vector<double> b = some_b<double>(A.rows());
  const index_type n = A.rows();
  for (const char* method : {"cg", "flexible-cg"}) {
    for (const char* preconditioner : {"amg", "ic", "ssor", "schwarz", "block_jacobi", "fsai"}) {
      const linear_solver_options options = on_the_host(method, preconditioner);
      for (const row_split& split : std::vector<row_split>{{0, 1, 1, n}, {0, 0, n, n}, {0, n, n, n}}) {
        CAPTURE(method, preconditioner, split);
        const auto found = solved_by_ranks(3, A, split, b, options), again = solved_by_ranks(3, A, split, b, options);
        REQUIRE(found.thrown == nothing(3));
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
        check_alike(found);
        CHECK(same_bits(found.x, again.x));
      }
    }
  }
}

TEST_CASE("what is wrong with M on one rank ends the solve on all", "[group][linear]") {
  std::vector<double> beside(59, 1.0);
  const csr_matrix<double> good = tridiagonal(beside);
  const std::vector<double> b = some_b<double>(good.rows());
  std::vector<int> offsets;
  for (index_type i = 0; i <= good.rows(); ++i) offsets.push_back(static_cast<int>(good.row_offset(i)));
  const std::vector<int> columns(good.column_indices().begin(), good.column_indices().end());
  const auto with = [&](double factor) {  // of the diagonal of rank 1
    std::vector<double> values(good.values().begin(), good.values().end());
    for (index_type i = 20; i < 40; ++i)
      for (auto k = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(offsets[static_cast<std::size_t>(i) + 1]); ++k)
        if (columns[k] == i) values[k] *= factor;
    return csr_matrix<double>(good.rows(), good.rows(), offsets, columns, values);
  };
  for (const char* preconditioner : {"amg,smoother=l1_jacobi", "ssor", "block_jacobi", "schwarz", "fsai"}) {
    for (const double factor : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
      CAPTURE(preconditioner, factor);
      const auto found =
          solved_by_ranks(3, good, {0, 20, 40, 60}, b, on_the_host("cg", preconditioner), {with(factor)});
      REQUIRE(found.thrown == nothing(3));
      check_alike(found);
      CHECK_FALSE(found.reports.front().converged());
      CHECK(found.reports.front().reason() != reason::peer_lost);
      if (std::isnan(factor)) CHECK(found.reports.front().reason() == reason::nan_or_infinity);
    }
  }
}

TEST_CASE("preconditioners that are not for groups are refused on all ranks", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:6").matrix;
  const std::vector<double> b = some_b<double>(A.rows());
  const auto refused = [&](const char* method, const char* preconditioner, const std::string& why) {
    const auto found = solved_by_ranks(3, A, {0, 10, 20, 36}, b, on_the_host(method, preconditioner));
    for (const std::string& one : found.thrown) CHECK_THAT(one, contains(why));
  };
  refused("cg", "auto", "preconditioner auto is not for several ranks");
  refused("cg", "neumann", "preconditioner neumann is not for several ranks");
  refused("cg", "multigrid", "preconditioner multigrid is not for several ranks");
  refused("cg", "solve", "preconditioner solve is not for several ranks");
  refused("minres", "chebyshev", "method minres does not take preconditioner chebyshev on several ranks");
  refused("minres", "amg", "method minres does not take preconditioner amg on several ranks");
  refused("cg", "amg,cycle=K", "the method needs a fixed one");
  refused("cg", "nonsense", "there is no preconditioner called 'nonsense'");
}

TEMPLATE_TEST_CASE("a Chebyshev polynomial is that of the whole matrix on any number of ranks", "[group][linear]",
                   float, double) {
  using T = TestType;
  const csr_matrix<T> A = whilst::make_gallery<T>("poisson3d:9").matrix;
  const std::vector<T> b = some_b<T>(A.rows());
  for (const char* method : {"cg", "flexible-cg"}) {
    for (const char* preconditioner : {"chebyshev", "chebyshev,degree=1", "chebyshev,degree=4,ratio=40"}) {
      linear_solver_options options = on_the_host(method, preconditioner);
      options.rtol = sizeof(T) == 4 ? 1e-4 : 1e-10;
      std::vector<T> serial(b.size());
      const whilst::report alone = whilst::linear_solver<T>(A, options).solve(b, serial);
      for (const int size : {1, 2, 3, 5, 8}) {
        CAPTURE(method, preconditioner, size);
        const auto found = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options);
        REQUIRE(found.thrown == nothing(size));
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
        check_alike(found);
        // Sums are rounded in another order.
        CHECK(std::abs(found.reports.front().iterations() - alone.iterations()) <= 1);
      }
      CAPTURE(method, preconditioner);
      const index_type n = A.rows();
      const auto uneven = solved_by_ranks(4, A, {0, 1, 1, 400, n}, b, options);
      REQUIRE(uneven.thrown == nothing(4));
      CHECK(std::abs(uneven.reports.front().iterations() - alone.iterations()) <= 1);
    }
  }
}

TEST_CASE("a Chebyshev polynomial of new values, and of an indefinite matrix", "[group][linear]") {
  std::vector<double> beside(99, 1.0), others;
  for (int i = 0; i < 99; ++i) others.push_back(1 + i % 7);
  const csr_matrix<double> A = tridiagonal(beside), other = tridiagonal(others);
  const std::vector<double> b = some_b<double>(A.rows());
  const linear_solver_options options = on_the_host("cg", "chebyshev");
  const auto anew = solved_by_ranks(3, other, {0, 40, 60, 100}, b, options);
  const auto then = solved_by_ranks(3, A, {0, 40, 60, 100}, b, options, {other});
  REQUIRE(then.thrown == nothing(3));
  CHECK(same_bits(then.x, anew.x));

  std::vector<double> values(A.values().begin(), A.values().end());
  std::vector<int> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(static_cast<int>(A.row_offset(i)));
  for (auto k = static_cast<std::size_t>(offsets[50]); k < static_cast<std::size_t>(offsets[60]); ++k) values[k] *= -1;
  const csr_matrix<double> indefinite(A.rows(), A.rows(), offsets,
                                      std::vector<int>(A.column_indices().begin(), A.column_indices().end()), values);
  const auto found = solved_by_ranks(3, indefinite, {0, 40, 60, 100}, b, options);
  REQUIRE(found.thrown == nothing(3));
  check_alike(found);
  CHECK_FALSE(found.reports.front().converged());
  CHECK(found.reports.front().reason() != reason::peer_lost);
}

// On a line the hierarchies of ranks know nothing of what is smooth over all of them: 46 iterations without the coarse
// space on 8 ranks.
TEST_CASE("the coarse space of an amg within ranks joins many", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:4000").matrix;
  const std::vector<double> b = some_b<double>(A.rows());
  const linear_solver_options options = on_the_host("cg", "amg,smoother=l1_jacobi");
  std::vector<double> serial(b.size());
  const whilst::report alone = whilst::linear_solver<double>(A, options).solve(b, serial);
  const auto found = solved_by_ranks(8, A, equal_split(A.rows(), 8), b, options);
  REQUIRE(found.thrown == nothing(8));
  CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
  CHECK(found.reports.front().iterations() <= alone.iterations());
  CHECK_THAT(found.reports.front().preconditioner_choice(), contains("coarse unknowns on all ranks"));
}
