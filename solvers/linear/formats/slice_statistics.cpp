// compiled by nvcc where CUDA is on
#include "solvers/linear/formats/slice_statistics.hpp"

#include <utility>

#include "solvers/host/run_now.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {
namespace {

template <class Sliced>
struct look_at_slice {
  Sliced A;

  WHILST_HD static int lanes_wanted() { return Sliced::side_by_side; }
  template <class Team>
  WHILST_HD auto operator()(index_type at, const Team& team) const {
    double read = 0, far = 0, cut = 1;
    if (has_offsets(at, team)) {
      const auto found = A.find(at, team);
      read = found.pieces * Sliced::side_by_side;
      far = found.has_distances ? 0 : 1;
      cut = found.is_cut ? 1 : 0;
    }
    return sums{read, far, cut};
  }

 private:
  /// A matrix in device memory may not be there yet.
  template <class Team>
  WHILST_HD bool has_offsets(index_type at, const Team& team) const {
    double wrong = 0;
    for (int k = team.rank(); k < Sliced::side_by_side; k += team.size()) {
      const auto here = A.lane(at, k, 0);
      const index_type begin = here.row < A.n ? A.row_offsets[here.row] : 0;
      if (begin < 0 || here.end < begin || here.end > A.nonzeros) wrong = 1;
    }
    return team.sum(wrong) == 0;
  }
};
struct note_slices {
  double* to;
  WHILST_HD void operator()(const sums<double, 3>& total) const {
    for (int k = 0; k < 3; ++k) to[k] = total[k];
  }
};

}  // namespace

template <class T>
slice_statistics look_at_slices(const solve_request<T>& csr) {
  const sliced_operator A(csr_of<std::int32_t>(csr));
  workspace measured;
  A.with_memory(measured);
  slice_statistics found{.slices = A.count(), .bytes = static_cast<std::size_t>(measured.used())};
  if (found.slices == 0) return found;
  buffer<double> noted(csr.where, 3);
  program_recorder record(csr.where);
  record.step("look at slices", found.slices, look_at_slice<std::remove_const_t<decltype(A)>>{A},
              note_slices{noted.data()});
  run_now(std::move(record).finish(), csr.where);
  double total[3];
  noted.download(total);
  found.read = static_cast<index_type>(total[0]);
  found.far = static_cast<index_type>(total[1]);
  found.cut = static_cast<index_type>(total[2]);
  return found;
}
template slice_statistics look_at_slices(const solve_request<float>&);
template slice_statistics look_at_slices(const solve_request<double>&);

}  // namespace whilst
