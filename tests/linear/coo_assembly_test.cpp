#include "whilst/linear/coo_assembly.hpp"

#include <thread>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/host/place_of_executor.hpp"

namespace whilst_test {

using whilst::coo_assembly;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;

namespace {

struct coordinates {
  std::vector<int> rows, columns;
};

/// As elements on a line give them: 2 x 2 each, shuffled, with every entry off the diagonal of one and on it of two.
coordinates of_elements(int elements, unsigned seed) {
  coordinates made;
  std::vector<std::pair<int, int>> all;
  for (int e = 0; e < elements; ++e)
    for (const int i : {e, e + 1})
      for (const int j : {e, e + 1}) all.emplace_back(i, j);
  std::shuffle(all.begin(), all.end(), std::mt19937(seed));
  for (const auto& [i, j] : all) {
    made.rows.push_back(i);
    made.columns.push_back(j);
  }
  return made;
}

/// What an enqueued assembly makes, through memory of its place.
template <class T>
std::vector<T> enqueued(coo_assembly<T>& assembly, const std::vector<T>& values) {
  const whilst::place where = whilst::place_of_executor(assembly.executor());
  whilst::buffer<T> given(where, static_cast<index_type>(values.size()), values.data());
  whilst::buffer<T> sums(where, assembly.nonzeros());
  assembly.enqueue(nullptr, given.data(), sums.data());
  assembly.wait();
  std::vector<T> made(static_cast<std::size_t>(assembly.nonzeros()));
  sums.download(made.data());
  return made;
}

}  // namespace

TEST_CASE("a matrix of 2 x 3 from seven contributions, by hand", "[linear][assembly][sanitizer]") {
  const std::vector<int> rows{1, 0, 1, 0, 1, 0, 1}, columns{2, 1, 0, 1, 2, 0, 2};
  const std::vector<double> values{1, 2, 4, 8, 16, 32, 64};
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    coo_assembly<double> assembly(2, 3, rows, columns, {.executor = executor});
    CHECK(assembly.executor() == executor);
    CHECK(assembly.rows() == 2);
    CHECK(assembly.columns() == 3);
    CHECK(assembly.contributions() == 7);
    CHECK(assembly.nonzeros() == 4);
    const csr_matrix<double> A = assembly.matrix(values);
    CHECK(std::vector<int>(A.row_offsets_32().begin(), A.row_offsets_32().end()) == std::vector<int>{0, 2, 4});
    CHECK(std::vector<int>(A.column_indices().begin(), A.column_indices().end()) == std::vector<int>{0, 1, 0, 2});
    CHECK(std::vector<double>(A.values().begin(), A.values().end()) == std::vector<double>{32, 10, 4, 81});
    CHECK(enqueued(assembly, values) == std::vector<double>{32, 10, 4, 81});
  }
}

TEMPLATE_TEST_CASE("assembled matrices agree with Eigen's, and are the same everywhere", "[linear][assembly]", float,
                   double) {
  for (const int elements : {1, 40, 5000}) {
    const coordinates at = of_elements(elements, 5);
    const std::vector<TestType> values = random_vector<TestType>(static_cast<index_type>(at.rows.size()), 7);
    std::vector<Eigen::Triplet<double>> all;
    for (std::size_t e = 0; e < values.size(); ++e)
      all.emplace_back(at.rows[e], at.columns[e], static_cast<double>(values[e]));
    Eigen::SparseMatrix<double, Eigen::RowMajor> expected(elements + 1, elements + 1);
    expected.setFromTriplets(all.begin(), all.end());
    for (const std::string& executor : executors_with_steps()) {
      INFO(elements << " elements, " << executor);
      coo_assembly<TestType> assembly(elements + 1, elements + 1, at.rows, at.columns, {.executor = executor});
      const csr_matrix<TestType> A = assembly.matrix(values);
      // Two numbers of up to 1 are added, and rounded once.
      CHECK((to_eigen(A) - expected).norm() <=
            2 * static_cast<double>(std::numeric_limits<TestType>::epsilon()) * expected.norm());
      const std::vector<TestType> sums(A.values().begin(), A.values().end());
      CHECK(enqueued(assembly, values) == sums);
      // Again, with other values and with those.
      enqueued(assembly, random_vector<TestType>(assembly.contributions(), 8));
      CHECK(enqueued(assembly, values) == sums);
    }
  }
}

TEST_CASE("contributions are added in the order in which they were given", "[linear][assembly]") {
  const std::vector<int> none(3, 0);
  coo_assembly<double> assembly(1, 1, none, none);
  CHECK(assembly.matrix(std::vector<double>{1e16, -1e16, 1}).values()[0] == 1);
  CHECK(assembly.matrix(std::vector<double>{1, 1e16, -1e16}).values()[0] == 0);
  // In double, and rounded once.
  coo_assembly<float> narrow(1, 1, none, none);
  CHECK(narrow.matrix(std::vector<float>{1, 1e-8F, -1}).values()[0] == Approx(1e-8).epsilon(1e-7));
  CHECK(enqueued(narrow, std::vector<float>{1, 1e-8F, -1})[0] == Approx(1e-8).epsilon(1e-7));
}

TEST_CASE("what contributions add up to stays in the pattern, whatever it is", "[linear][assembly]") {
  const double infinity = std::numeric_limits<double>::infinity();
  coo_assembly<double> assembly(3, 3, std::vector<int>{0, 0, 2, 1}, std::vector<int>{0, 0, 2, 1});
  const csr_matrix<double> A = assembly.matrix(std::vector<double>{5, -5, infinity, std::nan("")});
  CHECK(A.values()[0] == 0);
  CHECK(std::isnan(A.values()[1]));
  CHECK(A.values()[2] == infinity);
}

TEST_CASE("a solver on an assembled matrix, with values that change where they lie", "[linear][assembly][sanitizer]") {
  constexpr int elements = 300;
  const coordinates at = of_elements(elements, 3);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    coo_assembly<double> assembly(elements + 1, elements + 1, at.rows, at.columns, {.executor = executor});
    const whilst::place where = whilst::place_of_executor(executor);
    whilst::buffer<double> entries(where, assembly.nonzeros());
    whilst::buffer<double> b(where, elements + 1), x(where, elements + 1);
    const std::vector<double> rhs = random_vector<double>(elements + 1, 4);
    b.upload(rhs.data());
    linear_solver<double> solver(assembly.matrix_with(entries.data()), {.rtol = 1e-12, .executor = executor});
    for (const double stiffness : {1.0, 7.0}) {
      std::vector<double> values;  // of stiffness (1, -1; -1, 1) and a mass
      for (std::size_t e = 0; e < at.rows.size(); ++e)
        values.push_back(at.rows[e] == at.columns[e] ? stiffness + 0.5 : -stiffness);
      whilst::buffer<double> given(where, assembly.contributions(), values.data());
      assembly.enqueue(nullptr, given.data(), entries.data());
      CHECK(solver.enqueue(nullptr, b.data(), x.data()).wait().converged());
      std::vector<double> solution(rhs.size());
      x.download(solution.data());
      const Eigen::VectorXd residual = to_eigen(assembly.matrix(values)) * to_eigen(solution) - to_eigen(rhs);
      CHECK(residual.norm() <= 2e-12 * to_eigen(rhs).norm());
    }
  }
}

TEST_CASE("threads that share an assembly", "[linear][assembly][sanitizer]") {
  const coordinates at = of_elements(200, 9);
  coo_assembly<double> assembly(201, 201, at.rows, at.columns);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      const std::vector<double> values = random_vector<double>(assembly.contributions(), k);
      const csr_matrix<double> A = assembly.matrix(values);
      for (int again = 0; again < 20; ++again)
        if (enqueued(assembly, values) != std::vector<double>(A.values().begin(), A.values().end())) ++wrong;
    });
  for (std::thread& one : threads) one.join();
  CHECK(wrong == 0);
}

TEST_CASE("assemblies of nothing", "[linear][assembly]") {
  const std::vector<int> none;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    coo_assembly<double> assembly(3, 2, none, none, {.executor = executor});
    CHECK(assembly.nonzeros() == 0);
    CHECK(assembly.matrix(std::vector<double>{}).rows() == 3);
    assembly.enqueue(nullptr, nullptr, nullptr);
    coo_assembly<double> empty(0, 0, none, none, {.executor = executor});
    CHECK(empty.matrix(std::vector<double>{}).nonzeros() == 0);
    // Rows without contributions, at both ends and between.
    coo_assembly<double> holes(5, 5, std::vector<int>{3, 1}, std::vector<int>{0, 4}, {.executor = executor});
    const csr_matrix<double> A = holes.matrix(std::vector<double>{6, 7});
    CHECK(std::vector<int>(A.row_offsets_32().begin(), A.row_offsets_32().end()) == std::vector<int>{0, 0, 1, 1, 2, 2});
    CHECK(enqueued(holes, std::vector<double>{6, 7}) == std::vector<double>{7, 6});
  }
}

TEST_CASE("what an assembly refuses", "[linear][assembly]") {
  using ints = std::vector<int>;
  const auto make = [](index_type rows, index_type columns, const whilst::integer_array& i,
                       const whilst::integer_array& j) { coo_assembly<double>(rows, columns, i, j); };
  const ints a{0, 4}, b{1, 1};
  CHECK_THROWS_WITH(make(3, 3, a, b),
                    contains("row_indices[1] is 4, and the matrix has 3 rows. Count rows from 0 to 2"));
  CHECK_THROWS_WITH(make(5, 1, a, b), contains("column_indices[0] is 1, and the matrix has 1 columns"));
  const ints negative{0, -1};
  CHECK_THROWS_WITH(make(5, 5, a, negative), contains("column_indices[1] is -1"));
  CHECK_THROWS_WITH(make(0, 5, a, b), contains("row_indices[0] is 0, and the matrix has 0 rows. Give it no contrib"));
  const std::vector<unsigned long> huge{1, 1UL << 40};
  CHECK_THROWS_WITH(make(5, 5, a, huge), contains("column_indices[1] is 1099511627776"));
  const ints one{1};
  CHECK_THROWS_WITH(make(5, 5, a, one), contains("row_indices has 2 entries and column_indices 1. Give one of each"));
  CHECK_THROWS_WITH(make(-1, 5, one, one), contains("there are -1 rows and 5 columns"));
  CHECK_THROWS_WITH(make(index_type{1} << 31, 5, one, one), contains("there are 2147483648 rows"));
  CHECK_THROWS_WITH(coo_assembly<double>(2, 2, one, one, {.executor = "gpu"}), contains("gpu"));
  CHECK_THROWS_WITH(coo_assembly<double>(2, 2, one, one, {.executor = "batch"}), contains("batch"));
  coo_assembly<double> assembly(2, 2, one, one, {.executor = "host"});
  CHECK_THROWS_WITH(assembly.matrix(std::vector<double>{1, 2}), contains("there are 2 values for 1 contributions"));
  double value = 1;
  CHECK_THROWS_AS(assembly.enqueue(nullptr, nullptr, &value), whilst::error);
  CHECK_THROWS_AS(assembly.enqueue(nullptr, &value, nullptr), whilst::error);
}

}  // namespace whilst_test
