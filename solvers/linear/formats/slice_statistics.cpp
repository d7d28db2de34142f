// compiled by nvcc where CUDA is on
#include "solvers/linear/formats/slice_statistics.hpp"

#include <limits>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {
namespace {

/// A slice: entries stored, nonzeros, whether columns are far apart, whether rows are cut.
template <class Sliced>
struct look_at_slice {
  Sliced A;
  index_type step;

  WHILST_HD auto operator()(index_type index) const {
    constexpr int side_by_side = Sliced::side_by_side;
    const index_type first = index * step * side_by_side;
    int pieces = A.usual_pieces;
    double found = 0;
    bool is_far = false, is_cut = false;
    for (int j = 0; j <= A.pitch; ++j) {
      index_type least = std::numeric_limits<index_type>::max(), most = -least;
      for (index_type lane = first; lane < first + side_by_side; ++lane) {
        const index_type row = lane / A.lanes_a_row;
        if (row >= A.n) break;
        const index_type k = A.row_offsets[row] + lane % A.lanes_a_row + j * A.lanes_a_row;
        if (k >= A.row_offsets[row + 1]) continue;
        const index_type distance = A.column_indices[k] - row;
        least = distance < least ? distance : least;
        most = distance > most ? distance : most;
        found += j < A.pitch;
      }
      if (least > most) continue;
      if (j == A.pitch) is_cut = true;
      if (j < A.pitch && j >= pieces) pieces = j + 1;
      if (j < A.pitch && most - least >= Sliced::no_entry) is_far = true;
    }
    return sums{static_cast<double>(pieces * side_by_side), found, is_far ? 1.0 : 0.0, is_cut ? 1.0 : 0.0};
  }
};
struct note_slices {
  double* to;
  WHILST_HD void operator()(const sums<double, 4>& total) const {
    for (int k = 0; k < 4; ++k) to[k] = total[k];
  }
};

}  // namespace

template <class T>
slice_statistics look_at_slices(const solve_request<T>& csr) {
  constexpr index_type enough = 1000;
  const sliced_operator A(csr_of<std::int32_t>(csr));
  const index_type step = 1 + A.count() / enough, looked_at = (A.count() + step - 1) / step;
  if (looked_at == 0) return {};
  const buffer<double> noted(csr.where, 4);
  program_recorder record(csr.where);
  record.step("look at slices", looked_at, look_at_slice<std::remove_const_t<decltype(A)>>{A, step},
              note_slices{noted.data()});
  run_now(std::move(record).finish(), csr.where);
  double total[4];
  noted.download(total);
  const auto number = [&](int k) { return static_cast<index_type>(total[k]); };
  return {looked_at, number(0), number(1), number(2), number(3)};
}
template slice_statistics look_at_slices(const solve_request<float>&);
template slice_statistics look_at_slices(const solve_request<double>&);

}  // namespace whilst
