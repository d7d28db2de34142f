#include "solvers/problems/gallery_power_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "solvers/problems/gallery_grid.hpp"

namespace whilst::detail {
namespace {

/// 64 bits from a row and one of its entries: twice the finalizer of SplitMix64, G. L. Steele, D. Lea and C. H. Flood,
/// "Fast splittable pseudorandom number generators" (2014).
std::uint64_t hash_of(index_type row, index_type entry) {
  const auto mix = [](std::uint64_t bits) {
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
  };
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  return mix(mix(static_cast<std::uint64_t>(row) * golden + 1) + (static_cast<std::uint64_t>(entry) + 1) * golden);
}

/// Entries beside the diagonal of the row with this rank among the longest, from 0. Square roots, since they give the
/// same bits on every machine.
index_type length_of(index_type rank, index_type rows) {
  const double share = static_cast<double>(rows) / (static_cast<double>(rank) + 0.5);
  const double wanted = 2.375 * std::sqrt(share * std::sqrt(share));
  return std::min(static_cast<index_type>(wanted), rows - 1);
}

/// Entries beside the diagonal of each row. Rows of neighbouring ranks lie apart, by about 0.618 of all rows.
std::vector<std::int32_t> lengths_of_rows(index_type rows) {
  index_type step = std::max<index_type>(1, rows * 618 / 1000);
  while (std::gcd(step, rows) != 1) ++step;
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows));
  for (index_type rank = 0; rank < rows; ++rank)
    lengths[static_cast<std::size_t>((rows / 3 + rank * step) % rows)] =
        static_cast<std::int32_t>(length_of(rank, rows));
  return lengths;
}

/// Writes row i: `others` entries beside the diagonal, one in each of as many equal ranges of columns, and the diagonal
/// at its place.
template <class T>
void fill_row(index_type i, index_type others, index_type rows, std::int32_t* columns, T* values) {
  double sum = 0;
  T* diagonal = nullptr;
  const auto put = [&](index_type column, double value) {
    *columns++ = static_cast<std::int32_t>(column);
    *values = static_cast<T>(value);
    return values++;
  };
  for (index_type k = 0; k < others; ++k) {
    const index_type begin = k * (rows - 1) / others, end = (k + 1) * (rows - 1) / others;
    const std::uint64_t bits = hash_of(i, k);
    index_type column = begin + static_cast<index_type>((bits >> 32) % static_cast<std::uint64_t>(end - begin));
    if (column >= i) ++column;  // past the diagonal
    if (column > i && !diagonal) diagonal = put(i, 0);
    const double value = std::ldexp(static_cast<double>(bits & 0xffffffffu) + 0.5, -31) - 1;
    put(column, value);
    sum += std::abs(value);
  }
  if (!diagonal) diagonal = put(i, 0);
  *diagonal = static_cast<T>(1 + sum);
}

template <class T, class Offset>
csr_matrix<T> assemble(index_type rows, const std::vector<std::int32_t>& lengths, index_type nonzeros) {
  std::vector<Offset> row_offsets(static_cast<std::size_t>(rows) + 1);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    row_offsets[i + 1] = row_offsets[i] + static_cast<Offset>(lengths[i]) + 1;
  std::vector<std::int32_t> columns(static_cast<std::size_t>(nonzeros));
  std::vector<T> values(static_cast<std::size_t>(nonzeros));
  each_on_threads(rows, [&](index_type i) {
    const auto row = static_cast<std::size_t>(i);
    const auto begin = static_cast<std::size_t>(row_offsets[row]);
    fill_row(i, lengths[row], rows, &columns[begin], &values[begin]);
  });
  return csr_matrix<T>::adopt(rows, rows, std::move(row_offsets), std::move(columns), std::move(values));
}

}  // namespace

template <class T>
gallery_problem<T> power_law(index_type size, std::string name) {
  const std::vector<std::int32_t> lengths = lengths_of_rows(size);
  const index_type nonzeros = std::accumulate(lengths.begin(), lengths.end(), size);
  csr_matrix<T> matrix = nonzeros <= std::numeric_limits<std::int32_t>::max()
                             ? assemble<T, std::int32_t>(size, lengths, nonzeros)
                             : assemble<T, std::int64_t>(size, lengths, nonzeros);
  return {std::move(name), "rows whose lengths follow a power law, unsymmetric, diagonally dominant", std::move(matrix),
          std::vector<T>(static_cast<std::size_t>(size), T(1)), std::nullopt};
}

template gallery_problem<float> power_law(index_type, std::string);
template gallery_problem<double> power_law(index_type, std::string);

}  // namespace whilst::detail
