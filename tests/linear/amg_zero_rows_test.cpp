// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is within a header of tests; nvcc warns about its annotations for devices

// Rows of zeros, as a Hessian may have them: amg's M has 1 there on the finest level, and so is not singular.

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {
namespace {

/// Numbers in memory of a place.
template <class V>
std::vector<double> read_on(const way& on, const V* from, index_type count) {
  const whilst::buffer<double> copied(on.where, count);
  whilst::program_recorder record(on.where);
  record.step("copy", count, copy_values<V, double>{from, copied.data()});
  whilst::program copy = std::move(record).finish();
  copy.prepare({.how = on.how});
  run(copy);
  return values(copied);
}

bool is_zero_row(index_type i) { return i % 7 == 3; }
/// The line's rows of -1, 2, -1 but for rows and columns of zeros, of which every other one stores its zeros.
whilst::csr_matrix<double> line_with_zeros(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    for (const int j : {i - 1, i, i + 1}) {
      if (j < 0 || j >= n) continue;
      const bool is_zero = is_zero_row(i) || is_zero_row(j);
      if (!is_zero || (i + j) % 4 < 2) row.emplace_back(j, is_zero ? 0.0 : i == j ? 2.0 : -1.0);
    }
    t.row(row);
  }
  return t.matrix();
}

}  // namespace

TEMPLATE_TEST_CASE("amg: M is 1 at a row of zeros, by every smoother", "[linear][amg][sanitizer]", float, double) {
  constexpr int n = 210;
  const whilst::csr_matrix<double> A = line_with_zeros(n);
  for (const way& on : ways()) {
    for (const std::string smoother : {"spai0", "l1_jacobi", "chebyshev", "chebyshev_first"}) {
      for (const int block : {1, 3}) {
        for (const bool symmetric : {true, false}) {
          INFO(on.name << ", " << smoother << ", nodes of " << block << ", symmetric " << symmetric);
          whilst::amg_options options;
          options.smoother = smoother;
          options.sweeps = 2;
          options.unknowns_a_node = block;
          options.coarsest_rows = 20;
          const hierarchy_there<TestType> made(on.where, A, symmetric, options);
          const auto& finest = made.levels.levels().front();
          const std::vector<double> M =
              block == 1 ? read_on(on, finest.M, n) : read_on(on, finest.in_double.M, n * block);
          for (int i = 0; i < n; ++i)
            for (int k = 0; k < block; ++k) {
              const double entry = M[static_cast<std::size_t>(i * block + k)];
              const bool is_diagonal = k == i % block;
              if (is_zero_row(i)) CHECK(entry == (is_diagonal ? 1 : 0));
              if (!is_zero_row(i) && is_diagonal) CHECK((entry > 0 && entry < 2));
            }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("amg: the only level's inverse is 1 at a row of zeros", "[linear][amg]", float, double) {
  constexpr int n = 40;
  const whilst::csr_matrix<double> A = line_with_zeros(n);
  for (const way& on : ways()) {
    for (const int block : {1, 2}) {
      INFO(on.name << ", nodes of " << block);
      whilst::amg_options options;
      options.unknowns_a_node = block;
      const hierarchy_there<TestType> made(on.where, A, true, options);
      REQUIRE(made.levels.has_inverse());
      const std::vector<double> inverse = read_on(on, made.levels.inverse(), n * n);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const double entry = inverse[static_cast<std::size_t>(i * n + j)];
          if (is_zero_row(i) || is_zero_row(j)) CHECK(entry == (i == j));
        }
      // Between two of them lie six unknowns: the inverse of their block has (6 + 1 - 1) / (6 + 1) in its corner.
      CHECK(inverse[4 * n + 4] == Approx(6.0 / 7).epsilon(64 * std::numeric_limits<TestType>::epsilon()));
    }
  }
}

}  // namespace whilst_test
