// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/eigenvalues/record_eigenvalues.hpp"

#include "solvers/linear/eigenvalues/eigenvalue_solve.hpp"

namespace whilst {
namespace {

template <class T>
struct operand_addresses {
  T** x;
  const T** values;
  eigenvalue_outcome** outcome;
  control *outer, *inner;

  explicit operand_addresses(workspace& memory)
      : x(memory.take<T*>(1)),
        values(memory.take<const T*>(1)),
        outcome(memory.take<eigenvalue_outcome*>(1)),
        outer(memory.take<control>(1)),
        inner(memory.take<control>(1)) {}
};

template <class Offset, class T>
recorded_eigenvalues<T> record_with_offsets(const eigenvalue_request<T>& request) {
  auto A = csr_of<Offset>(request.matrix);
  const correction_by<T> by{request.matrix.preconditioner == preconditioner_kind::jacobi,
                            request.matrix.preconditioner_parts};
  recorded_eigenvalues<T> made;
  program_recorder record(request.matrix.where);
  const auto [at, solve] = record.arena([&](arena_layout& memory) {
    memory.item("controls");
    const operand_addresses<T> placed(memory);
    memory.item("vectors and scalars");
    A.values = {placed.values};
    if (by.parts) by.parts->read_values_from({placed.values});
    return std::pair(placed, eigenvalue_solve<T, decltype(A)>(A, {{placed.x}, {placed.outcome}, request.wanted},
                                                              request.block_columns, request.largest, by, placed.outer,
                                                              placed.inner, memory));
  });
  made.x = record.parameter<T*>(at.x, nullptr);
  made.values = record.parameter<const T*>(at.values, request.matrix.values);
  made.outcome = record.parameter<eigenvalue_outcome*>(at.outcome, nullptr);
  made.outer_settings = record.parameter(&at.outer->settings, control_settings{});
  made.inner_settings = record.parameter(&at.inner->settings, control_settings{});
  made.outer = at.outer;
  made.inner = at.inner;
  solve(record);
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

}  // namespace

template <class T>
recorded_eigenvalues<T> record_eigenvalues(const eigenvalue_request<T>& request) {
  return request.matrix.offsets_64 ? record_with_offsets<std::int64_t>(request)
                                   : record_with_offsets<std::int32_t>(request);
}
template recorded_eigenvalues<WHILST_NUMBER> record_eigenvalues(const eigenvalue_request<WHILST_NUMBER>& request);

}  // namespace whilst
