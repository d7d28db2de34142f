// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/eigenvalues/record_eigenvalue_range.hpp"

#include <limits>

#include "solvers/linear/columns/by_column.hpp"
#include "solvers/linear/eigenvalues/largest_row.hpp"
#include "solvers/linear/stationary/eigenvalue_bounds.hpp"

namespace whilst {
namespace {

/// What comes back to the host.
struct range_numbers {
  double norm, factor;
};
/// Lanczos steps square their numbers, so A is scaled by a power of two that makes it about 1.
struct note_norm {
  largest_of_pieces rows;
  range_numbers* found;
  WHILST_HD void operator()() const {
    found->norm = rows.largest();
    found->factor = found->norm > 0 ? power_of_two(-binary_exponent(found->norm)) : 1;
  }
};

template <class Offset, class T>
eigenvalue_range measure_with_offsets(const solve_request<T>& matrix, executor how, int steps) {
  auto unscaled = csr_of<Offset>(matrix);
  using operator_type = scaled_operator<T, decltype(unscaled)>;
  using lanczos = eigenvalue_bounds<T, operator_type, identity_preconditioner>;
  const column_layout rows(matrix.rows, 1);

  program_recorder record(matrix.where);
  struct places {
    const T** values;
    control* loop;
    typename lanczos::weights* handed;
    double* largest;
    T *z, *before, *Au;
  };
  const buffer<range_numbers> found(matrix.where, 1);
  const buffer<typename lanczos::lanczos_matrix> made(matrix.where, 1);
  const places at = record.arena([&](arena_layout& memory) {
    return places{
        memory.take<const T*>(1),         memory.take<control>(1),     memory.take<typename lanczos::weights>(1),
        memory.take<double>(rows.pieces), memory.take<T>(matrix.rows), memory.take<T>(matrix.rows),
        memory.take<T>(matrix.rows)};
  });
  record.parameter<const T*>(at.values, matrix.values);
  record.parameter(&at.loop->settings, control_settings{.limit = 1});
  unscaled.values = {at.values};
  record.step("the largest row of A", rows.pieces,
              largest_row<T, decltype(unscaled)>{unscaled, rows.rows_a_piece, at.largest},
              note_norm{{at.largest, rows.pieces}, found.data()});
  record.loop(
      "Lanczos", at.loop,
      [&](recorder& run) {
        lanczos::record(run, operator_type{unscaled, &found.data()->factor}, identity_preconditioner{}, steps, at.z,
                        at.before, at.Au, nullptr, made.data(), at.handed);
      },
      [](recorder&) {});
  program measure = std::move(record).finish();
  measure.prepare({.how = how});
  measure.enqueue(nullptr);
  measure.wait();
  range_numbers size;
  typename lanczos::lanczos_matrix tridiagonal;
  found.download(&size);
  made.download(&tridiagonal);
  if (tridiagonal.steps == 0 || !is_finite(size.norm)) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, size.norm};
  }
  return {lanczos::eigenvalue(tridiagonal, 0) / size.factor,
          lanczos::eigenvalue(tridiagonal, tridiagonal.steps - 1) / size.factor, size.norm};
}

}  // namespace

template <class T>
eigenvalue_range measure_eigenvalue_range(const solve_request<T>& matrix, executor how, int steps) {
  return matrix.offsets_64 ? measure_with_offsets<std::int64_t>(matrix, how, steps)
                           : measure_with_offsets<std::int32_t>(matrix, how, steps);
}
template eigenvalue_range measure_eigenvalue_range(const solve_request<WHILST_NUMBER>& matrix, executor how, int steps);

}  // namespace whilst
