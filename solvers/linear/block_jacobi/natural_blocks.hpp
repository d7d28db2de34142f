#pragma once

#include <array>
#include <cstdint>

#include "solvers/host/run_now.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst::block_jacobi {

inline constexpr int least_natural = 2, most_natural = 6;

/// How many rows do not fit full blocks of 2 x 2 to 6 x 6, with the columns of each row in order.
template <class Offset>
struct count_misfits {
  const Offset* offsets;
  const std::int32_t* columns;

  WHILST_HD bool fits(index_type i, int block) const {
    const index_type first = i / block * block;
    const index_type begin = offsets[i], length = offsets[i + 1] - begin, of_first = offsets[first];
    if (length % block != 0 || length != offsets[first + 1] - of_first) return false;
    for (index_type k = 0; k < length; ++k) {
      const std::int32_t column = columns[begin + k];
      if (i != first ? column != columns[of_first + k]
                     : (k % block == 0 ? column % block != 0 : column != columns[begin + k - 1] + 1))
        return false;
    }
    return true;
  }
  WHILST_HD auto operator()(index_type i) const {
    sums<std::uint64_t, most_natural - least_natural + 1> misfits;
    for (int block = least_natural; block <= most_natural; ++block)
      misfits.value[block - least_natural] = !fits(i, block);
    return misfits;
  }
};
struct note_misfits {
  std::uint64_t* found;
  WHILST_HD void operator()(const sums<std::uint64_t, most_natural - least_natural + 1>& total) const {
    for (int k = 0; k <= most_natural - least_natural; ++k) found[k] = total[k];
  }
};

/// The largest block of 2 x 2 to 6 x 6 of which the nonzeros are full; 1 if there is none. Looks at the pattern on its
/// place, and waits.
template <class Offset, class T>
int natural_block(const solve_request<T>& matrix) {
  constexpr int kinds = most_natural - least_natural + 1;
  const buffer<std::uint64_t> found(matrix.where, kinds);
  program_recorder record(matrix.where);
  record.step("rows that fit no blocks", matrix.rows,
              count_misfits<Offset>{static_cast<const Offset*>(matrix.row_offsets), matrix.column_indices},
              note_misfits{found.data()});
  run_now(std::move(record).finish(), matrix.where);
  std::array<std::uint64_t, kinds> misfits;
  found.download(misfits.data());
  for (int block = most_natural; block >= least_natural; --block)
    if (matrix.rows > 0 && matrix.rows % block == 0 && misfits[static_cast<std::size_t>(block - least_natural)] == 0)
      return block;
  return 1;
}

}  // namespace whilst::block_jacobi
