// Preconditioner "auto" on circuits with ideal parts, which factors that seem complete do not all solve.

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/linear/true_residual.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {
namespace {

/// Modified nodal analysis of resistors from 1e-3 to 1e12 ohms, transistors, voltage sources and ideal amplifiers:
/// unsymmetric, with zeros on the diagonal, and so ill-conditioned that what a factorization drops may matter.
whilst::csr_matrix<double> circuit(int nodes, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const int sources = nodes / 40;
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(nodes + 2 * sources));
  const auto add = [&](int i, int j, double value) { rows[static_cast<std::size_t>(i)].emplace_back(j, value); };
  const auto any = [&] { return static_cast<int>(generator() % static_cast<unsigned>(nodes)); };
  for (int i = 0; i < nodes; ++i) add(i, i, 1e-12);
  for (int k = 0; k < 3 * nodes; ++k) {
    const int i = any(), j = (i + 1 + any() % 29) % nodes;
    const double conductance = std::pow(10.0, -12 + 15 * unit(generator));
    add(i, i, conductance);
    add(j, j, conductance);
    add(i, j, -conductance);
    add(j, i, -conductance);
  }
  for (int k = 0; k < nodes / 4; ++k) {
    const int i = any(), j = any();
    const double transconductance = std::pow(10.0, -6 + 7 * unit(generator));
    add(i, j, transconductance);
    add(j, j, transconductance / 100);
  }
  for (int k = 0; k < sources; ++k) {
    const int source = nodes + k, amplifier = nodes + sources + k;
    const int node = (k * 37 + static_cast<int>(seed)) % nodes;
    add(source, node, 1);
    add(node, source, 1);
    const int in = any(), output = any();
    add(amplifier, in, 1);
    add(amplifier, (in + 1) % nodes, -1);
    add(output, amplifier, 1);
  }
  triplets<double> t(nodes + 2 * sources);
  for (const auto& row : rows) t.row(row);
  return t.matrix();
}

}  // namespace

TEST_CASE("auto solves circuits that are singular but for rounding", "[linear][auto_M]") {
  constexpr int circuits = under_sanitizers ? 8 : 40;
  int solved = 0;
  for (unsigned seed = 1; seed <= circuits; ++seed) {
    const auto A = circuit(800, seed);
    const std::vector<double> there_is = random_vector<double>(A.rows(), seed);
    std::vector<double> b, x(there_is.size(), 0.0);
    for (whilst::index_type i = 0; i < A.rows(); ++i) {
      long double sum = 0;
      for (whilst::index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
        const auto e = static_cast<std::size_t>(k);
        sum += static_cast<long double>(A.values()[e]) * there_is[static_cast<std::size_t>(A.column_indices()[e])];
      }
      b.push_back(static_cast<double>(sum));
    }
    const whilst::report r =
        whilst::linear_solver<double>(A, {.method = "auto", .preconditioner = "auto", .executor = "host"}).solve(b, x);
    INFO(seed << ": " << r.message() << ", " << r.choice());
    const bool is_solved = true_residual(A, b, x) <= 1e-8 * (1 + 1e-6);  // the tolerance, and its last digit
    CHECK(r.converged() == is_solved);
    solved += is_solved;
  }
  // Each has a solution. With factors that drop 1e-10 of a row, 34 were solved.
  CHECK(solved >= circuits - 3);
}

}  // namespace whilst_test
