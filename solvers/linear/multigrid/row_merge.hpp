#pragma once

#include <limits>

#include "solvers/linear/multigrid/sparse_pattern.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// No column.
inline constexpr std::int32_t no_column = std::numeric_limits<std::int32_t>::max();

/// Row i of a product A B as the union of the rows of B that row i of A names: each thread of a team follows some of
/// these, which are in order, so that the columns come out in order, without duplicates, and without memory for them. A
/// thread remembers where it is in `held` rows; in further ones it looks for its place anew.
class row_merge {
  static constexpr int held = on_device ? 4 : 64;

 public:
  template <class Team>
  WHILST_HD row_merge(const pattern_view& A, const pattern_view& B, index_type i, const Team& team)
      : B_(B), A_indices_(A.indices), step_(team.size()) {
    const std::int32_t first = A.offsets[i] + team.rank();
    end_of_A_ = A.offsets[i + 1];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      const std::int32_t e = first + j * step_;
      at_[j] = end_[j] = 0;
      if (e < end_of_A_) {
        const std::int32_t row = A_indices_[e];
        at_[j] = B_.offsets[row];
        end_[j] = B_.offsets[row + 1];
      }
      if (!on_device && e >= end_of_A_) {
        used_ = j;
        break;
      }
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j)
      if (on_device || j < used_) column_[j] = at_[j] < end_[j] ? B_.indices[at_[j]] : no_column;
    first_ = first;
    rest_ = first + held * step_;
  }

  /// The least column beyond `last`, the one found before; begin with -1. no_column if this thread knows of none.
  WHILST_HD std::int32_t beyond(std::int32_t last) {
    std::int32_t least = no_column;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      if (column_[j] == last) advance(j);
      if (column_[j] < least) least = column_[j];
    }
    for (std::int32_t e = rest_; e < end_of_A_; e += step_) {
      const std::int32_t row = A_indices_[e], at = B_.find(row, last + 1);
      if (at < B_.offsets[row + 1] && B_.indices[at] < least) least = B_.indices[at];
    }
    return least;
  }
  /// Calls use(e, at) for the entries of B in that column and the entries e of A that name their rows. Ask for one
  /// column after another, none left out.
  template <class Use>
  WHILST_HD void take(std::int32_t column, const Use& use) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < held; ++j) {
      if (!on_device && j >= used_) break;
      if (column_[j] != column) continue;
      use(first_ + j * step_, at_[j]);
      advance(j);
    }
    for (std::int32_t e = rest_; e < end_of_A_; e += step_) {
      const std::int32_t row = A_indices_[e], at = B_.find(row, column);
      if (at < B_.offsets[row + 1] && B_.indices[at] == column) use(e, at);
    }
  }

 private:
  WHILST_HD void advance(int j) {
    ++at_[j];
    column_[j] = at_[j] < end_[j] ? B_.indices[at_[j]] : no_column;
  }

  pattern_view B_;
  const std::int32_t* A_indices_;
  std::int32_t end_of_A_, step_, first_ = 0, rest_ = 0;
  int used_ = held;  ///< on the host, where a team is one thread that may have few rows
  std::int32_t at_[held], end_[held], column_[held];
};

/// The rows of a product A B.
struct columns_of_product {
  pattern_view A, B;

  template <class Team>
  WHILST_HD row_merge begin(index_type i, const Team& team) const {
    return {A, B, i, team};
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

/// The values of a product A B on its pattern. sources: where the values of A lie, null for in order. Sums are formed
/// in double.
template <class C>
struct product_values {
  matrix_view<C> A;
  const std::int32_t* sources;
  matrix_view<C> B;
  pattern_view product;
  C* values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    row_merge row(A.pattern, B.pattern, i, team);
    const std::int32_t end = product.offsets[i + 1];
    for (std::int32_t q = product.offsets[i]; q < end; ++q) {
      double sum = 0;
      row.take(product.indices[q], [&](std::int32_t e, std::int32_t at) {
        sum += static_cast<double>(A.values[sources ? sources[e] : e]) * static_cast<double>(B.values[at]);
      });
      sum = team.sum(sum);
      if (team.rank() == 0) values[q] = static_cast<C>(sum);
    }
  }
};

}  // namespace whilst::multigrid
