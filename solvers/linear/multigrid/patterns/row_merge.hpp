#pragma once

#include <limits>

#include "solvers/linear/multigrid/patterns/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// No column.
inline constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

/// A pattern stands in for a matrix where only columns are asked for.
struct no_values {};

/// Row i of a product A B as the union of the rows of B that row i of A names: each thread of a team follows some of
/// these, which are in order, so that the columns come out in order, without duplicates, and without memory for them. A
/// thread remembers where it is in `held` rows, with their next entry; in further ones it looks for its place anew.
///
/// Value: what the matrices have, or no_values.
template <class Value = no_values>
class row_merge {
  static constexpr bool has_values = !std::is_same_v<Value, no_values>;

 public:
  static constexpr int held_on_device = 8, held = on_device ? held_on_device : 64;
  /// sources: where the values of A lie, null for in order.
  template <class Team>
  WHILST_HD row_merge(const matrix_view<Value>& A, const std::int32_t* sources, const matrix_view<Value>& B,
                      index_type i, const Team& team, bool is_empty = false)
      : A_(A.values), sources_(sources), A_indices_(A.pattern.indices), B_(B), step_(team.size()) {
    const std::int32_t first = A.pattern.offsets[i] + team.rank();
    end_of_A_ = is_empty ? first : A.pattern.offsets[i + 1];
    rest_ = first + held * step_;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      const std::int32_t e = first + j * step_;
      if (!on_device && e >= end_of_A_) {
        used_ = j;
        break;
      }
      at_[j] = end_[j] = 0;
      if (e >= end_of_A_) continue;
      const std::int32_t row = A_indices_[e];
      at_[j] = B_.pattern.offsets[row];
      end_[j] = B_.pattern.offsets[row + 1];
      if constexpr (has_values) weight_[j] = weight_of(e);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j)
      if (on_device || j < used_) read(j);
  }

  /// The least column beyond `last`, the one found before; begin with -1. no_column if this thread knows of none.
  WHILST_HD std::int32_t beyond(std::int32_t last) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      advance_if(j, column_[j] == last);
    }
    return ahead(last);
  }
  /// The same where take() has gone past that column.
  WHILST_HD std::int32_t ahead(std::int32_t last) const {
    std::int32_t least = no_column;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      if (column_[j] < least) least = column_[j];
    }
    for (std::int32_t e = rest_; e < end_of_A_; e += step_) {
      const std::int32_t row = A_indices_[e], at = B_.pattern.find(row, last + 1);
      if (at < B_.pattern.offsets[row + 1] && B_.pattern.indices[at] < least) least = B_.pattern.indices[at];
    }
    return least;
  }
  /// The thread's share of the product's entry in that column, which beyond() has found.
  WHILST_HD double share(std::int32_t column) const {
    double sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      if (column_[j] == column) sum += static_cast<double>(weight_[j]) * static_cast<double>(value_[j]);
    }
    for (std::int32_t e = rest_; e < end_of_A_; e += step_) {
      const std::int32_t row = A_indices_[e], at = B_.pattern.find(row, column);
      if (at < B_.pattern.offsets[row + 1] && B_.pattern.indices[at] == column)
        sum += static_cast<double>(weight_of(e)) * static_cast<double>(B_.values[at]);
    }
    return sum;
  }
  /// The same, for one column after another, none left out; they may be known without beyond().
  WHILST_HD double take(std::int32_t column) {
    const double sum = share(column);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      advance_if(j, column_[j] == column);
    }
    return sum;
  }

 private:
  WHILST_HD Value weight_of(std::int32_t e) const { return A_[sources_ ? sources_[e] : e]; }
  WHILST_HD void read(int j) {
    column_[j] = no_column;
    if (at_[j] >= end_[j]) return;
    column_[j] = B_.pattern.indices[at_[j]];
    if constexpr (has_values) value_[j] = B_.values[at_[j]];
  }
  WHILST_HD void advance_if(int j, bool is_used) {
    if (!is_used) return;
    ++at_[j];
    read(j);
  }

  const Value* A_;
  const std::int32_t *sources_, *A_indices_;
  matrix_view<Value> B_;
  std::int32_t end_of_A_, step_, rest_;
  int used_ = held;  ///< on the host, where a team is one thread that may have few rows
  std::int32_t at_[held], end_[held], column_[held];
  Value weight_[held], value_[held];
};

/// The columns of the rows of a product A B.
struct columns_of_product {
  pattern_view A, B;
  bool skips_long_rows = false;  ///< of A: those of the product are empty then

  template <class Team>
  WHILST_HD row_merge<> begin(index_type i, const Team& team) const {
    return {{A}, nullptr, {B}, i, team, skips_long_rows && A.is_too_long(i)};
  }
};

/// A set of columns for each row: Source::begin(i, team) gives what has beyond(last), as a row_merge.
template <class Source>
struct count_columns {
  Source source;
  std::int32_t* counts;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    auto row = source.begin(i, team);
    std::int32_t count = 0;
    for (std::int32_t column = team.least(row.beyond(-1)); column != no_column; column = team.least(row.beyond(column)))
      ++count;
    if (team.rank() == 0) counts[i] = count;
  }
};
template <class Source>
struct put_columns {
  Source source;
  const std::int32_t* offsets;
  std::int32_t* indices;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    auto row = source.begin(i, team);
    std::int32_t to = offsets[i];
    for (std::int32_t column = team.least(row.beyond(-1)); column != no_column;
         column = team.least(row.beyond(column))) {
      if (team.rank() == 0) indices[to] = column;
      ++to;
    }
  }
};

/// Sums of a row that a team forms together: fewer exchanges than one after another.
inline constexpr int sums_at_once = 4;

/// The values of a product A B on its pattern. sources: where the values of A lie, null for in order. Sums are formed
/// in double.
template <class C>
struct product_values {
  static constexpr int blocks_wanted = 3;
  matrix_view<C> A;
  const std::int32_t* sources;
  matrix_view<C> B;
  pattern_view product;
  C* values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    row_merge<C> row(A, sources, B, i, team);
    const std::int32_t end = product.offsets[i + 1];
    for (std::int32_t q = product.offsets[i]; q < end; q += sums_at_once) {
      double share[sums_at_once];
      WHILST_UNROLLED
      for (int k = 0; k < sums_at_once; ++k) share[k] = q + k < end ? row.take(product.indices[q + k]) : 0;
      team.share_out(share, [&](int k, double sum) {
        if (q + k < end) values[q + k] = static_cast<C>(sum);
      });
    }
  }
};
/// The same together with the columns, where only the offsets are known: one merge instead of two. counts: where the
/// lengths of rows are to be told, if their offsets only bound them; else null.
template <class C>
struct put_product {
  static constexpr int blocks_wanted = 3;
  matrix_view<C> A;
  const std::int32_t* sources;
  matrix_view<C> B;
  const std::int32_t* offsets;
  std::int32_t* indices;
  C* values;
  std::int32_t* counts;
  bool skips_long_rows;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    row_merge<C> row(A, sources, B, i, team, skips_long_rows && A.pattern.is_too_long(i));
    std::int32_t column = team.least(row.ahead(-1)), to = offsets[i];
    while (column != no_column) {
      double share[sums_at_once];
      int found = 0;
      WHILST_UNROLLED
      for (int k = 0; k < sums_at_once; ++k) {
        share[k] = 0;
        if (column == no_column) continue;
        if (team.rank() == 0) indices[to + k] = column;
        share[k] = row.take(column);
        column = team.least(row.ahead(column));
        ++found;
      }
      team.share_out(share, [&](int k, double sum) {
        if (k < found) values[to + k] = static_cast<C>(sum);
      });
      to += found;
    }
    if (counts && team.rank() == 0) counts[i] = to - offsets[i];
  }
};

}  // namespace whilst::multigrid
