// What solvers make of matrices whose arrays are the caller's, in host memory.

#include <algorithm>
#include <limits>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::linear_solver;

namespace {

/// A matrix that owns nothing, and the arrays that it borrows.
template <class T>
struct callers_arrays {
  std::vector<std::int32_t> offsets, columns;
  std::vector<T> values;

  explicit callers_arrays(const csr_matrix<T>& A)
      : offsets(A.row_offsets_32().begin(), A.row_offsets_32().end()),
        columns(A.column_indices().begin(), A.column_indices().end()),
        values(A.values().begin(), A.values().end()) {}
  whilst::index_type rows() const { return static_cast<whilst::index_type>(offsets.size()) - 1; }
  csr_matrix<T> borrowed() const { return csr_matrix<T>::borrow(rows(), rows(), offsets, columns, values); }
};

/// What the iteration reaches on a well conditioned system, and rounding in the oracle besides.
template <class T>
constexpr double tolerance = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

bool is_callers(const whilst::memory_table& table) {
  return std::any_of(table.items.begin(), table.items.end(),
                     [](const whilst::memory_item& item) { return item.name == "the matrix (the caller's)"; });
}

}  // namespace

TEMPLATE_TEST_CASE("a solver reads a borrowed matrix in place on the host", "[linear][borrow]", float, double) {
  callers_arrays<TestType> arrays(whilst::make_gallery<TestType>("poisson2d:12").matrix);
  const std::vector<TestType> b = random_vector<TestType>(arrays.rows(), 3);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const bool in_place = executor == "host";
    const csr_matrix<TestType> A = arrays.borrowed();
    linear_solver<TestType> solver(A, {.rtol = tolerance<TestType>, .executor = executor});
    CHECK(is_callers(solver.memory()) == in_place);
    const auto check = [&] {
      std::vector<TestType> x(b.size(), 0);
      CHECK(solver.solve(b, x).converged());
      CHECK(relative_residual(arrays.borrowed(), b, x) <= 2 * tolerance<TestType>);
    };
    check();
    // No copy could know of these.
    for (TestType& value : arrays.values) value *= 2;
    if (!in_place) solver.update_values(A);
    check();
    // Nor can one be taken for unchanged because it is the same matrix as before.
    for (TestType& value : arrays.values) value *= 2;
    solver.update_values(A);
    check();
    // Values of another array are copied, and the caller's stay what they were.
    const std::vector<TestType> others = arrays.values;
    arrays.values.assign(arrays.values.size(), TestType(0));
    solver.update_values(std::span<const TestType>(others));
    arrays.values = others;
    check();
    CHECK(arrays.values == others);
  }
}

TEST_CASE("a solver on the host takes no memory for a matrix, until it has values of its own", "[linear][borrow]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const callers_arrays<double> arrays(A);
  linear_solver<double> shares(A, {.executor = "host"}), borrows(arrays.borrowed(), {.executor = "host"});
  CHECK(shares.bytes() == borrows.bytes());
  CHECK_FALSE(is_callers(shares.memory()));
  CHECK(is_callers(borrows.memory()));
  const auto bytes = shares.bytes();
  shares.update_values(A.values());
  CHECK(shares.bytes() == bytes + 8 * A.nonzeros());
}

TEST_CASE("a cache keeps nothing that was borrowed", "[cache][borrow]") {
  callers_arrays<double> arrays(convection_diffusion<double>(30));
  const std::vector<double> b = random_vector<double>(arrays.rows(), 4);
  whilst::program_cache cache;
  const auto check = [&](whilst::index_type records, whilst::index_type hits) {
    std::vector<double> x(b.size(), 0);
    const auto told = cache.solve(arrays.borrowed(), b, x, {.method = "bicgstab", .rtol = 1e-12, .executor = "host"});
    CHECK(told.converged());
    CHECK(relative_residual(arrays.borrowed(), b, x) <= 2e-12);
    CHECK(cache.counters().records == records);
    CHECK(cache.counters().hits == hits);
  };
  check(1, 0);
  check(1, 1);
  for (double& value : arrays.values) value *= 3;
  check(1, 2);
  // Another pattern in the same arrays: the first row's second entry moves, its row stays dominated by the diagonal.
  arrays.columns[1] = 2;
  check(2, 2);
}

}  // namespace whilst_test
