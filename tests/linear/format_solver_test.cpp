// Linear solvers with each matrix format: every method, new values, matrices in device memory, what is refused.

#include <limits>
#include <string>

#include "solvers/linear/formats/formats.hpp"
#include "tests/catch.hpp"
#include "tests/linear/format_patterns.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/batch_linear_solver.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::report;

namespace {

const std::vector<std::string> formats{"csr", "bsr", "sell", "ell", "balanced"};

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

/// Symmetric positive definite in full blocks of 3, with one long row and column; row i has its diagonal 3 above the
/// sum of the others. Condition number below 100, whatever n.
template <class T>
csr_matrix<T> star_of_blocks(int nodes) {
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<T> values;
  for (int i = 0; i < nodes; ++i)
    for (int r = 0; r < 3; ++r) {
      for (int j = 0; j < nodes; ++j) {
        if (i != 0 && j != 0 && j != i && j != i + 1 && j + 1 != i) continue;
        for (int c = 0; c < 3; ++c) {
          const double size = i == 0 || j == 0 ? 1.0 / nodes : 1;
          columns.push_back(j * 3 + c);
          values.push_back(static_cast<T>(i == j && r == c ? 12 : -size * (1 + (r * c) % 2) / 2));
        }
      }
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  return {nodes * 3, nodes * 3, offsets, columns, values};
}

template <class T>
constexpr double tight = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

template <class T>
std::vector<T> solved(linear_solver<T>& solver, const csr_matrix<T>& A, double rtol = tight<T>) {
  const std::vector<T> b = random_vector<T>(A.rows(), 5);
  std::vector<T> x(b.size(), T(0));
  const report told = solver.solve(b, x);
  CHECK(told.converged());
  CHECK(relative_residual(A, b, x) <= 2 * rtol);
  return x;
}

/// A matrix in device memory, and the memory.
struct on_gpu {
  buffer<std::int32_t> offsets, columns;
  buffer<double> values;
  csr_matrix<double> matrix;

  explicit on_gpu(const csr_matrix<double>& A)
      : offsets(place::gpu(0), A.rows() + 1, A.row_offsets_32().data()),
        columns(place::gpu(0), A.nonzeros(), A.column_indices().data()),
        values(place::gpu(0), A.nonzeros(), A.values().data()),
        matrix(csr_matrix<double>::on_device(A.rows(), A.columns(), A.nonzeros(), offsets.data(), columns.data(),
                                             values.data())) {}
};

template <class T>
csr_matrix<T> with_values(const csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}

}  // namespace

TEMPLATE_TEST_CASE("every method solves with every format", "[linear][format][sanitizer]", float, double) {
  const auto A = star_of_blocks<TestType>(60);
  for (const std::string& executor : executors_with_steps())
    for (const std::string& format : formats)
      for (const std::string& method : methods_on(executor))
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(executor << ", " << format << ", " << method << ", " << preconditioner);
          linear_solver<TestType> solver(A, {.method = method,
                                             .preconditioner = preconditioner,
                                             .format = format,
                                             .rtol = tight<TestType>,
                                             .executor = executor});
          const auto x = solved(solver, A);
          CHECK((solved(solver, A) == x));
        }
}

TEMPLATE_TEST_CASE("values change in every format", "[linear][format]", float, double) {
  const auto A = star_of_blocks<TestType>(40);
  std::vector<TestType> twice(A.values().begin(), A.values().end()), other = twice;
  for (TestType& value : twice) value *= 2;
  for (std::size_t k = 0; k < other.size(); ++k) other[k] *= A.column_indices()[k] == 0 ? TestType(0.5) : TestType(1);
  for (const std::string& executor : executors_with_steps())
    for (const std::string& format : formats)
      for (const char* method : {"bicgstab", "auto"}) {
        INFO(executor << ", " << format << ", " << method);
        linear_solver<TestType> solver(A, {.method = method,
                                           .preconditioner = "jacobi",
                                           .format = format,
                                           .rtol = tight<TestType>,
                                           .executor = executor});
        solved(solver, A);
        solver.update_values(std::span<const TestType>(twice));
        solved(solver, with_values(A, twice));
        // Unsymmetric: auto records bicgstab for them, with memory of its own for the values.
        solver.update_values(with_values(A, other));
        solved(solver, with_values(A, other));
        const buffer<TestType> bound(executor == "host" ? place::host() : place::gpu(0), A.nonzeros(), twice.data());
        solver.bind_values(bound.data());
        solved(solver, with_values(A, twice));
        solver.update_values(A);
        solved(solver, A);
      }
}

TEMPLATE_TEST_CASE("methods with ell in their own kernels read values in few bytes where that loses nothing",
                   "[linear][format][sanitizer]", float, double) {
  const auto A = whilst::make_gallery<TestType>("poisson2d:60").matrix;
  constexpr double rtol = sizeof(TestType) == 4 ? 1e-4 : 1e-10;
  // Values that 8 binary digits hold; that a float holds; and of which it does not hold one in the last row, or all.
  std::vector<TestType> one(A.values().begin(), A.values().end()), all = one, floats = one;
  one.back() += TestType(1) / 3;
  for (TestType& value : all) value /= 3;
  for (TestType& value : floats) value *= TestType(1 + 0x1p-12);
  for (const std::string& executor : executors_with_steps())
    for (const char* method : {"cg", "minres", "bicgstab", "auto"})
      for (const char* preconditioner : {"none", "jacobi"}) {
        // Each of them in one number type.
        if (under_sanitizers && (std::string(preconditioner) == "none") == (sizeof(TestType) == 8)) continue;
        INFO(executor << ", " << method << ", " << preconditioner);
        linear_solver<TestType> solver(
            A,
            {.method = method, .preconditioner = preconditioner, .format = "ell", .rtol = rtol, .executor = executor});
        // A product in parts is a step of its own.
        const std::string steps = solver.explain();
        if (std::string(method) != "auto") {
          CHECK(steps.find("slices of rows") != std::string::npos);
          CHECK(steps.find("y = A x") == std::string::npos);
        }
        const auto x = solved(solver, A, rtol);
        for (const std::vector<TestType>* values : {&floats, &one, &all}) {
          solver.update_values(std::span<const TestType>(*values));
          solved(solver, with_values(A, *values), rtol);
        }
        solver.update_values(A);
        CHECK((solved(solver, A, rtol) == x));
      }
}

TEST_CASE("a matrix in device memory in every format", "[linear][format]") {
  const auto A = star_of_blocks<double>(40);
  for (const std::string& executor : executors_with_steps()) {
    if (executor == "host") continue;
    const on_gpu copy(A);
    const csr_matrix<double>& there = copy.matrix;
    for (const std::string& format : formats) {
      INFO(executor << ", " << format);
      linear_solver<double> solver(
          there, {.preconditioner = "jacobi", .format = format, .rtol = tight<double>, .executor = executor});
      solved(solver, A);
    }
    linear_solver<double> automatic(there, {.executor = executor});
    std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0), x(b.size());
    CHECK(automatic.solve(b, x).format_choice() == "csr, since the matrix is in device memory");
  }
}

TEST_CASE("auto takes ell for a large stencil on a GPU, in host memory and in device memory", "[linear][format]") {
  const auto problem = whilst::make_gallery<double>("poisson2d:900");
  const csr_matrix<double>& A = problem.matrix;
  for (const std::string& executor : executors_with_steps()) {
    if (executor == "host") continue;
    const on_gpu copy(A);
    const csr_matrix<double>& there = copy.matrix;
    for (const csr_matrix<double>* matrix : {&A, &there}) {
      std::vector<double> x(problem.rhs.size(), 0.0);
      const report told = linear_solver<double>(*matrix, {.rtol = 1e-3, .executor = executor}).solve(problem.rhs, x);
      CHECK(told.converged());
      CHECK(relative_residual(A, problem.rhs, x) <= 1.01e-3);
      CHECK(told.format_choice() ==
            "ell, since its rows are equally long, and entries of neighbouring rows near one another");
    }
  }
}

TEST_CASE("the report names the format, and auto says why", "[linear][format]") {
  const auto A = star_of_blocks<double>(40);
  std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0), x(b.size());
  const auto told = [&](const csr_matrix<double>& matrix, const linear_solver_options& options) {
    b.assign(static_cast<std::size_t>(matrix.rows()), 1.0);
    x.assign(b.size(), 0.0);
    return linear_solver<double>(matrix, options).solve(b, x);
  };
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    for (const std::string& format : formats) {
      const report named = told(A, {.format = format, .executor = executor});
      CHECK(named.format() == format);
      CHECK(named.format_choice().empty());
    }
    const report small = told(A, {.executor = executor});
    CHECK(small.format() == "csr");
    CHECK(small.format_choice() == "csr, since the matrix has fewer than 10000000 nonzeros and no very long row");
    const report skewed = told(star_of_blocks<double>(2000), {.executor = executor});
    CHECK(skewed.format() == "balanced");
    CHECK(skewed.format_choice() == "balanced, since the longest row has 6000 nonzeros, the average 15.0");
    const report pipelined = told(star_of_blocks<double>(2000), {.method = "pipelined-cg", .executor = executor});
    CHECK(pipelined.format_choice() == "csr, since pipelined-cg reads it once for two products");
    const report refined = told(star_of_blocks<double>(2000), {.method = "refined-cg", .executor = executor});
    CHECK(refined.format_choice() == "csr, since refined-cg has a copy of its own, in float");
  }
  for (const std::string& executor : executors())
    if (executor == "resident")
      CHECK(told(A, {.executor = executor}).format_choice() == "csr, since executor resident has no other");
  // Under method auto it is the same format, whichever methods run.
  const report automatic = told(star_of_blocks<double>(2000), {.method = "auto", .executor = "host"});
  CHECK(automatic.method() == "cg");
  CHECK(automatic.format() == "balanced");
  // Without a matrix there is none.
  const auto apply = [](whilst::stream_handle, whilst::index_type n, const double* from, double* to) {
    for (whilst::index_type i = 0; i < n; ++i) to[i] = 2 * from[i];
  };
  linear_solver<double> called(5, apply, {.callback_memory = "host"});
  b.assign(5, 1.0);
  x.assign(5, 0.0);
  CHECK(called.solve(b, x).format().empty());
}

TEST_CASE("a format's memory is listed", "[linear][format]") {
  const auto A = star_of_blocks<double>(40);
  const linear_solver<double> csr(A, {.format = "csr", .executor = "host"});
  const linear_solver<double> bsr(A, {.format = "bsr", .executor = "host"});
  // Of each stored entry where it comes from; of a block its column. The values are the program's. A slice has 10 rows
  // of blocks: the first has the 40 blocks of node 0, the other three 4. Nodes 1 and 39, with 3, move to the end.
  const index_type blocks = 10 * (40 + 3 * 4), entries = 9 * blocks;
  const index_type of_pattern = 4 * (entries + blocks + (4 + 1) + 40);
  bool found = false;
  for (const auto& item : bsr.memory().items)
    if (item.name == "the pattern as bsr") found = static_cast<index_type>(item.bytes) == of_pattern;
  CHECK(found);
  CHECK(bsr.bytes() >= csr.bytes() + of_pattern + 8 * entries);
}

TEST_CASE("formats are refused where they cannot be had", "[linear][format]") {
  const auto A = star_of_blocks<double>(5);
  CHECK(message_of([&] { linear_solver<double>(A, {.format = "coo"}); }) ==
        "making a linear solver: there is no format called 'coo'. Use one of auto, csr, bsr, sell, ell, balanced");
  CHECK(message_of([&] { linear_solver<double>(A, {.format = "sell", .executor = "resident"}); }) ==
        "making a linear solver: format sell records steps of its own, and executor resident is one kernel. Use "
        "format csr or auto, or executor graph or stream");
  CHECK(message_of([&] { whilst::batch_linear_solver<double>(A, 3, {.format = "sell"}); }) ==
        "making a batch solver: format sell records steps for one large system, and a batch is one kernel. Use "
        "format csr or auto, or a linear_solver for each system");
  whilst::batch_linear_solver<double>(A, 3, {.format = "csr"});
  const auto apply = [](whilst::stream_handle, whilst::index_type, const double*, double*) {};
  CHECK(message_of([&] { linear_solver<double>(5, apply, {.format = "ell"}); }) ==
        "making a linear solver: format ell is of a matrix, and there is none. Leave the format out");
  CHECK(message_of([&] {
          linear_solver<double>(whilst::make_gallery<double>("poisson1d:20").matrix, {.format = "bsr"});
        }).find("storing a matrix as bsr: in blocks of any size") == 0);
}

TEST_CASE("whilst::solve keeps formats apart", "[linear][format]") {
  const auto A = star_of_blocks<double>(20);
  whilst::program_cache cache;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  for (const char* format : {"csr", "sell", "csr", "sell"}) {
    std::vector<double> x(b.size());
    const auto lent = cache.borrow(A, {.format = format});
    CHECK(lent->solve(b, x).format() == format);
  }
  CHECK(cache.counters().records == 2);
}

}  // namespace whilst_test
