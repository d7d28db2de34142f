// compiled by nvcc where CUDA is on
#include "solvers/linear/approximate_inverse/rows_in_order.hpp"

#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"

namespace whilst::approximate_inverse {
namespace {

struct count_descents {
  multigrid::pattern_view A;
  WHILST_HD auto operator()(index_type i) const {
    std::int64_t count = 0;
    for (std::int32_t e = A.offsets[i] + 1; e < A.offsets[i + 1]; ++e) count += A.indices[e - 1] > A.indices[e];
    return sums{count};
  }
};
struct tell_descents {
  std::int64_t* told;
  WHILST_HD void operator()(const sums<std::int64_t, 1>& count) const { *told = count[0]; }
};
/// Which entry of the first matrix an entry of the second transpose is.
struct compose_sources {
  const std::int32_t *of_first, *of_second;
  std::int32_t* composed;
  WHILST_HD void operator()(index_type e) const { composed[e] = of_first[of_second[e]]; }
};

}  // namespace

rows_in_order in_order(place where, const multigrid::pattern_view& A, multigrid::level_memory& kept,
                       multigrid::level_memory& scratch) {
  const buffer<std::int64_t> told(where, 1);
  program_recorder looking(where);
  looking.step("rows out of order", A.rows, count_descents{A}, tell_descents{told.data()});
  run_now(std::move(looking).finish(), where);
  std::int64_t descents = 0;
  told.download(&descents);
  if (descents == 0) return {A, nullptr};

  program_recorder sorting(where);  // transposed twice, each row is in order
  const multigrid::transposed_pattern once = record_transpose(sorting, A, scratch, scratch),
                                      twice = record_transpose(sorting, once.view, kept, scratch);
  std::int32_t* const sources = kept.take<std::int32_t>(A.nonzeros).data();
  sorting.step("where the entries come from", A.nonzeros, compose_sources{once.sources, twice.sources, sources});
  run_now(std::move(sorting).finish(), where);
  return {twice.view, sources};
}

}  // namespace whilst::approximate_inverse
