#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/approximate_inverse/row_order.hpp"

namespace whilst::approximate_inverse {

/// The columns within `power` edges of i, i among them; at most `most`: those of fewest edges and of these the
/// strongest, by the product of the edges' weights. Of a factor, along columns before i alone.
///
/// For a factor that is all there is: row i of L^-1 depends on the rows and columns before i, so that a way through a
/// later one contributes nothing.
struct nearest_columns {
  static constexpr int most_of_all = 32;
  strong_edges graph;
  int power, most;
  bool of_factor;
  row_order order;

  /// Puts the columns in order; returns their number.
  WHILST_HD int find(index_type i, std::int32_t (&column)[most_of_all]) const {
    double weight[most_of_all];
    column[0] = static_cast<std::int32_t>(i);
    weight[0] = 1;
    int count = 1, begin = 0;
    for (int distance = 0; distance < power && begin < count && count < most; ++distance) {
      const int end = count;
      for (int q = begin; q < end; ++q) {
        graph.each(column[q], [&](std::int32_t j, double of_edge) {
          if (of_factor && !order.is_before(j, i)) return;
          add(j, of_edge * weight[q], end, column, weight, count);
        });
      }
      begin = end;
    }
    sort(column, count);
    return count;
  }

 private:
  /// Those before `end` are nearer.
  WHILST_HD void add(std::int32_t j, double w, int end, std::int32_t (&column)[most_of_all],
                     double (&weight)[most_of_all], int& count) const {
    int weakest = end;
    for (int k = 0; k < count; ++k) {
      if (column[k] == j) {
        if (k >= end && w > weight[k]) weight[k] = w;
        return;
      }
      if (k > end && weight[k] < weight[weakest]) weakest = k;
    }
    if (count == most) {
      if (!(w > weight[weakest])) return;
    } else {
      weakest = count++;
    }
    column[weakest] = j;
    weight[weakest] = w;
  }
  WHILST_HD static void sort(std::int32_t (&column)[most_of_all], int count) {
    for (int k = 1; k < count; ++k) {
      const std::int32_t one = column[k];
      int at = k;
      for (; at > 0 && column[at - 1] > one; --at) column[at] = column[at - 1];
      column[at] = one;
    }
  }
};

/// How many columns a row has. Sums: how many rows have more than 8, how many more than 16, and all columns.
struct count_nearest {
  nearest_columns columns;
  std::int32_t* counts;
  WHILST_HD auto operator()(index_type i) const {
    std::int32_t column[nearest_columns::most_of_all];
    const int count = columns.find(i, column);
    counts[i] = count;
    return sums<std::int64_t, 3>{{count > 8, count > 16, count}};
  }
};
struct put_nearest {
  nearest_columns columns;
  const std::int32_t* offsets;
  std::int32_t* indices;
  WHILST_HD void operator()(index_type i) const {
    std::int32_t column[nearest_columns::most_of_all];
    const int count = columns.find(i, column);
    for (int k = 0; k < count; ++k) indices[offsets[i] + k] = column[k];
  }
};

}  // namespace whilst::approximate_inverse
