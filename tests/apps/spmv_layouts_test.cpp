// The layouts that whilst-bench spmv gives to cuSPARSE, multiplied as cuSPARSE's manual describes them.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/common/product_layouts.hpp"
#include "tests/catch.hpp"
#include "whilst/gallery.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;

std::vector<double> some_vector(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 1 + 0.5 * std::sin(static_cast<double>(i));
  return x;
}

std::vector<double> by_rows(const csr_matrix<double>& A, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(A.rows()), 0.0);
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      y[static_cast<std::size_t>(i)] += A.values()[static_cast<std::size_t>(k)] *
                                        x[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])];
  return y;
}

/// Entry j of row r of a slice: at its offset + j * rows of a slice + r.
std::vector<double> by_slices(const whilst::baselines::sliced_ell<double>& A, std::size_t rows,
                              const std::vector<double>& x) {
  const auto slice_rows = static_cast<std::size_t>(A.rows_a_slice);
  std::vector<double> y(rows, 0.0);
  for (std::size_t slice = 0; slice + 1 < A.slice_offsets.size(); ++slice) {
    const auto begin = static_cast<std::size_t>(A.slice_offsets[slice]);
    for (std::size_t k = begin; k < static_cast<std::size_t>(A.slice_offsets[slice + 1]); ++k)
      if (A.columns[k] >= 0)
        y.at(slice * slice_rows + (k - begin) % slice_rows) += A.values[k] * x[static_cast<std::size_t>(A.columns[k])];
  }
  return y;
}

std::vector<double> by_blocks(const whilst::baselines::filled_blocks<double>& A, std::vector<double> x) {
  const auto size = static_cast<std::size_t>(A.size);
  x.resize(x.size() + size);  // the last block may reach beyond it
  std::vector<double> y(static_cast<std::size_t>(A.rows()) * size, 0.0);
  for (std::size_t I = 0; I + 1 < A.row_offsets.size(); ++I)
    for (auto k = static_cast<std::size_t>(A.row_offsets[I]); k < static_cast<std::size_t>(A.row_offsets[I + 1]); ++k)
      for (std::size_t r = 0; r < size; ++r)
        for (std::size_t c = 0; c < size; ++c)
          y[I * size + r] += A.values[(k * size + r) * size + c] * x[static_cast<std::size_t>(A.columns[k]) * size + c];
  return y;
}

void check_equal(std::vector<double> found, const csr_matrix<double>& A, const std::vector<double>& expected) {
  found.resize(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double sum = 0;  // of absolute values, times the largest x, 1.5
    const auto row = static_cast<index_type>(i);
    for (index_type k = A.row_offset(row); k < A.row_offset(row + 1); ++k)
      sum += 1.5 * std::abs(A.values()[static_cast<std::size_t>(k)]);
    // Another order of a sum.
    const double bound =
        static_cast<double>(A.row_offset(row + 1) - A.row_offset(row)) * std::numeric_limits<double>::epsilon() * sum;
    CHECK(std::abs(found[i] - expected[i]) <= bound);
  }
}

/// Blocks of 3 x 3 of which the second of the first row comes first, with a last row and column that fill no block.
csr_matrix<double> blocks_and_a_rest() {
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < 10; ++i) {
    const int block = i / 3 * 3;
    for (const int first : {block == 6 ? 0 : block + 3, block}) {
      if (i == 9 && first != 9) continue;
      for (int j = first; j < std::min(first + 3, 10); ++j) {
        if (i == 4 && j == 3) continue;  // a hole
        columns.push_back(j);
        values.push_back(1 + i + 0.1 * j);
      }
    }
    offsets.push_back(static_cast<int>(columns.size()));
  }
  return csr_matrix<double>(10, 10, offsets, columns, values);
}

}  // namespace

TEST_CASE("sliced ELLPACK for cuSPARSE has the matrix's product") {
  for (const char* name : {"poisson2d:9", "powerlaw:100", "poisson1d:1"}) {
    CAPTURE(name);
    const auto A = whilst::make_gallery<double>(name).matrix;
    const auto x = some_vector(static_cast<std::size_t>(A.columns()));
    for (const index_type rows : {2, 32}) {
      const auto slices = whilst::baselines::lay_out_slices(A, rows);
      CHECK(static_cast<index_type>(slices.slice_offsets.size()) == (A.rows() + rows - 1) / rows + 1);
      CHECK(slices.values.size() == static_cast<std::size_t>(slices.slice_offsets.back()));
      check_equal(by_slices(slices, static_cast<std::size_t>(A.rows()), x), A, by_rows(A, x));
    }
  }
}

TEST_CASE("blocks for cuSPARSE have the matrix's product, and are sorted") {
  for (const auto& A : {whilst::make_gallery<double>("elasticity3d:2").matrix, blocks_and_a_rest()}) {
    CAPTURE(A.rows());
    const auto x = some_vector(static_cast<std::size_t>(A.columns()));
    const auto blocks = whilst::baselines::lay_out_filled_blocks(A);
    CHECK(blocks.size == 3);
    check_equal(by_blocks(blocks, x), A, by_rows(A, x));
    for (index_type I = 0; I < blocks.rows(); ++I)
      for (auto k = blocks.row_offsets[static_cast<std::size_t>(I)] + 1;
           k < blocks.row_offsets[static_cast<std::size_t>(I) + 1]; ++k)
        CHECK(blocks.columns[static_cast<std::size_t>(k) - 1] < blocks.columns[static_cast<std::size_t>(k)]);
  }
  CHECK_THROWS_AS(whilst::baselines::lay_out_filled_blocks(whilst::make_gallery<double>("poisson2d:9").matrix),
                  whilst::error);
}
