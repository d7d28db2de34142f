// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // nvcc warns about its annotations for devices

// The levels of amg across ranks, on the host, against products of Eigen: matrices of all ranks put together.
#include <cmath>
#include <Eigen/Sparse>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "solvers/linear/distributed/multigrid/levels_of_group.hpp"
#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_grids.hpp"
#include "tests/linear/distributed_matrices.hpp"

namespace {

using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using whilst::index_type;
using whilst::multigrid::pattern_view;

/// A level of all ranks together.
struct whole_level {
  std::vector<Eigen::Triplet<double>> A, P, Q, W, coarse;
  index_type rows = 0, coarse_rows = 0;

  matrix made(const std::vector<Eigen::Triplet<double>>& from, index_type m, index_type n) const {
    matrix all(m, n);
    all.setFromTriplets(from.begin(), from.end());
    return all;
  }
};

/// The levels of a matrix on ranks with those rows.
std::vector<whole_level> levels_on_ranks(const whilst::csr_matrix<double>& A, const std::vector<index_type>& split) {
  std::vector<whole_level> levels;
  std::mutex lock;
  const int size = static_cast<int>(split.size()) - 1;
  const auto thrown = whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
    using whilst::multigrid::local_numbers;
    const auto given = whilst_test::distributed<double>(ranks, A, split);
    const whilst::exchange words(ranks, whilst::place::host(), 10);
    const whilst::csr_matrix<double> local = given.local();
    const std::vector<std::int32_t> offsets(local.row_offsets_32().begin(), local.row_offsets_32().end());
    const pattern_view pattern{local.rows(), local.columns(), local.nonzeros(), offsets.data(),
                               local.column_indices().data()};
    const whilst::multigrid::levels_of_group<double> of_group(
        words, local_numbers{given.partition(), ranks.rank(), given.halo().ghosts}, given.halo(), pattern,
        local.values().data(), whilst::amg_options{});
    const std::lock_guard hold(lock);
    levels.resize(of_group.levels().size());
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const auto& one = of_group.levels()[k];
      const local_numbers& below =
          k + 1 < levels.size() ? of_group.levels()[k + 1].named : of_group.gathered()->numbers;
      local_numbers of_cycle = one.named;
      of_cycle.ghosts = one.ghosts;
      const auto add = [](std::vector<Eigen::Triplet<double>>& to, const pattern_view& from, const double* values,
                          index_type rows, const local_numbers& of_rows, const local_numbers& of_columns) {
        for (index_type i = 0; i < rows; ++i)
          for (std::int32_t e = from.offsets[i]; e < from.offsets[i + 1]; ++e)
            to.emplace_back(static_cast<int>(of_rows.global(static_cast<std::int32_t>(i))),
                            static_cast<int>(of_columns.global(from.indices[e])), values[e]);
      };
      whole_level& whole = levels[k];
      add(whole.A, one.A, one.A_values, one.rows(), one.named, one.named);
      add(whole.P, one.P, one.P_values, one.rows(), one.named, below);
      add(whole.Q, one.Q, one.Q_values, one.rows(), one.named, below);
      add(whole.W, one.W.view, one.W_values, below.own(), below, of_cycle);
      add(whole.coarse, one.coarse, one.coarse_values, below.own(), below, below);
      whole.rows = one.named.partition.rows();
      whole.coarse_rows = below.partition.rows();
    }
  });
  REQUIRE(thrown == whilst_test::nothing(size));
  return levels;
}

double largest(const matrix& A) {
  return A.nonZeros() == 0 ? 0 : Eigen::Map<const Eigen::ArrayXd>(A.valuePtr(), A.nonZeros()).abs().maxCoeff();
}

/// Entries are sums of some hundred products.
constexpr double rounding = 256 * std::numeric_limits<double>::epsilon();

}  // namespace

TEST_CASE("amg across ranks: coarse matrices are P'A P, and the way down is Q'", "[group][linear][amg]") {
  for (const bool has_jumps : {false, true}) {
    const auto A = has_jumps ? whilst_test::cube(16, {1, 1, 50}, 4) : whilst_test::cube(16, {1, 1, 1});
    const index_type n = A.rows();
    for (const std::vector<index_type>& split :
         std::vector<std::vector<index_type>>{{0, n / 2, n}, {0, 1, 1, 700, n}, {0, n / 5, n / 4, n / 2, n - 3, n}}) {
      CAPTURE(split);
      const std::vector<whole_level> levels = levels_on_ranks(A, split);
      REQUIRE(!levels.empty());
      for (const whole_level& one : levels) {
        const matrix fine = one.made(one.A, one.rows, one.rows), P = one.made(one.P, one.rows, one.coarse_rows),
                     Q = one.made(one.Q, one.rows, one.coarse_rows), W = one.made(one.W, one.coarse_rows, one.rows),
                     coarse = one.made(one.coarse, one.coarse_rows, one.coarse_rows);
        const matrix product = matrix(P.transpose()) * fine * P;
        CHECK(largest(coarse - product) <= rounding * largest(product));
        CHECK(largest(W - matrix(Q.transpose())) == 0);
        // Where a row of A adds up to zero, one of P keeps a constant. Between jumps, an unknown may be in no aggregate
        // and follow nobody.
        const Eigen::VectorXd of_A = fine * Eigen::VectorXd::Ones(one.rows),
                              of_P = P * Eigen::VectorXd::Ones(one.coarse_rows);
        for (index_type i = 0; i < one.rows; ++i) {
          if (has_jumps && of_P[i] == 0) continue;
          if (std::fabs(of_A[i]) <= rounding * fine.coeff(i, i)) CHECK(std::fabs(of_P[i] - 1) <= rounding);
        }
      }
      CHECK(levels.front().made(levels.front().A, n, n).nonZeros() == A.nonzeros());
    }
  }
}
