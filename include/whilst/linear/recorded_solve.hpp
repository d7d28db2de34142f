#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/engine/recorder.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/linear_solve.hpp"
#include "whilst/linear/method_within.hpp"
#include "whilst/linear/preconditioners.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {

enum class preconditioner_kind { none, jacobi, parts };

template <class T>
class around_solve;

/// What to record, with every pointer on the place that will run it. All of it must outlive the program.
template <class T>
struct solve_request {
  place where = place::host();
  index_type rows = 0, columns = 0, nonzeros = 0;
  const void* row_offsets = nullptr;
  bool offsets_64 = false;
  const std::int32_t* column_indices = nullptr;
  const T* values = nullptr;
  /// The transpose, for methods that need it: see pattern_of_transpose. Offsets and sources are as wide as row_offsets.
  struct {
    const void* row_offsets = nullptr;
    const std::int32_t* column_indices = nullptr;
    const void* sources = nullptr;
  } transposed = {};
  /// Instead of a matrix: an operator in parts.
  linear_operator<T>* parts = nullptr;
  /// The operator in parts, if any, that is the matrix as a sliced_operator; a method may have that in its own kernels.
  const linear_operator<T>* slices = nullptr;
  preconditioner_kind preconditioner = preconditioner_kind::none;
  whilst::preconditioner<T>* preconditioner_parts = nullptr;  ///< for preconditioner_kind::parts
  constant_slot<const T> values_of_M = {};                    ///< where it finds them, if not where A does
  /// 1, or the number of systems of a batch: values, b, x and outcomes then hold the systems consecutively.
  index_type systems = 1;
  method_settings settings = {};
  /// Put the whole solve into kernels (resident, batch) instead of recording its steps.
  bool in_kernel = false;
  /// What is recorded around the solve; null for nothing. Not in kernels. Need not outlive the program.
  around_solve<T>* around = nullptr;
};

/// A recorded solve and the parameters that a launch may change.
template <class T>
struct recorded_solve {
  std::unique_ptr<program> recorded;
  parameter<const T*> b, values;
  parameter<T*> x;
  parameter<solve_outcome*> outcome;
  parameter<control_settings> outer_settings, inner_settings;
  control *outer = nullptr, *inner = nullptr;  ///< on the place; one of each per system
  int lanes = 1;                               ///< threads per system, if the solve is a kernel of its own
};

/// Where a solve's operands and controls lie; the same constructor measures and places them.
template <class T>
struct solve_frame {
  const T** b;
  T** x;
  const T** values;
  solve_outcome** outcome;
  control_settings* settings;  ///< of the outer and the inner loop
  std::uint64_t* began;        ///< when a batch began, on the clock of its place
  control *outer, *inner;
  method_settings of_method;
  index_type systems;

  solve_frame(const solve_request<T>& request, workspace& memory)
      : b(memory.take<const T*>(1)),
        x(memory.take<T*>(1)),
        values(memory.take<const T*>(1)),
        outcome(memory.take<solve_outcome*>(1)),
        settings(memory.take<control_settings>(2)),
        began(memory.take<std::uint64_t>(1)),
        outer(memory.take<control>(request.systems)),
        inner(memory.take<control>(request.systems)),
        of_method(request.settings),
        systems(request.systems) {}

  template <class Solve>
  typename Solve::operands operands() const {
    typename Solve::operands made{{b}, {x}, {outcome}, of_method};
    if constexpr (requires { made.columns; }) made.columns = systems;
    return made;
  }
};

/// Steps before and after a solve, which then has b, x and an outcome of its own.
template <class T>
class around_solve {
 public:
  virtual ~around_solve() = default;
  /// Takes their memory, and returns where the solve finds its own operands. Called twice, like the layout of an arena.
  virtual solve_frame<T> within(const solve_frame<T>& callers, workspace& memory) = 0;
  virtual void record_before(program_recorder& run) = 0;
  virtual void record_after(program_recorder& run) = 0;
};

/// The request's matrix; the values are bound when it is recorded.
template <class Offset, class T>
csr_operator<T, Offset, constant_slot<const T>> csr_of(const solve_request<T>& request) {
  const int lanes =
      lanes_for_row(request.rows ? static_cast<double>(request.nonzeros) / static_cast<double>(request.rows) : 0);
  return {request.rows,    static_cast<const Offset*>(request.row_offsets), request.column_indices, {}, lanes,
          request.nonzeros};
}

/// What a launch may change, declared where the frame has it; the settings of the outer and the inner loop elsewhere.
/// Compiled once for a number type, in solvers/linear/recorded_solve.cpp.
template <class T>
recorded_solve<T> declare_parameters(program_recorder& record, const solve_request<T>& request,
                                     const solve_frame<T>& frame, control_settings* outer, control_settings* inner);

/// A with the values that the frame binds.
template <class T, class Operator>
Operator with_values(Operator A, const solve_frame<T>& frame) {
  if constexpr (requires { A.values; }) A.values = {frame.values};
  if constexpr (requires { A.local.values; }) A.local.values = {frame.values};
  if constexpr (requires { A.parts; }) A.parts->read_values_from({frame.values});
  return A;
}
/// The same of M. A caller's own, whatever its members are called, stays as it is.
template <class T, class Preconditioner>
const Preconditioner& M_with_values(const Preconditioner& M, [[maybe_unused]] constant_slot<const T> values) {
  if constexpr (std::is_same_v<Preconditioner, composed_preconditioner<T>>)
    if (M.parts) M.parts->read_values_from(values);
  return M;
}

/// Throws whilst::error: what is asked for records steps, and cannot be put into a kernel.
[[noreturn]] void refuse_in_kernel();

/// Has a recorder record a solve.
struct by_the_recorder {
  template <class Solve>
  void operator()(program_recorder& record, const Solve& solve) const {
    solve(record);
  }
};

/// Records the steps of a solve_type, made from A, M and what a launch binds. record_by(recorder, solve): another way
/// to have them recorded.
template <class solve_type, class T, class Operator, class Preconditioner, class RecordBy = by_the_recorder>
recorded_solve<T> record_as(const solve_request<T>& request, const Operator& A, const Preconditioner& M,
                            const RecordBy& record_by = {}) {
  if (request.in_kernel) refuse_in_kernel();
  if constexpr (has_rows<Operator> && requires { A.lanes_wanted(); })
    detail::check_lanes("recording a solve by an operator", A.lanes_wanted());
  program_recorder record(request.where);
  if (preconditioner<T>* const M_in_parts = request.preconditioner_parts)
    record.seek_room([M_in_parts](std::size_t bytes) { return M_in_parts->room_for(bytes); });
  const auto [frame, solve] = record.arena([&](arena_layout& memory) {
    memory.item("controls");
    const solve_frame<T> placed(request, memory);
    memory.item("vectors and scalars");
    const solve_frame<T> own = request.around ? request.around->within(placed, memory) : placed;
    const constant_slot<const T> of_M =
        request.values_of_M.where ? request.values_of_M : constant_slot<const T>{own.values};
    return std::pair(placed, solve_type(with_values(A, own), M_with_values(M, of_M),
                                        own.template operands<solve_type>(), own.outer, own.inner, memory));
  });
  recorded_solve<T> made = declare_parameters(record, request, frame, &frame.outer->settings, &frame.inner->settings);
  if (request.around) request.around->record_before(record);
  record_by(record, solve);
  if (request.around) request.around->record_after(record);
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_with(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  return record_as<linear_solve<T, Operator, Preconditioner, Method>>(request, A, M);
}

/// Whether a method runs in kernels, with a matrix and a fused preconditioner.
template <template <class, class, class> class Method, class T>
inline constexpr bool method_runs_in_kernel =
    Method<T, csr_operator<T, std::int32_t, constant_slot<const T>>, identity_preconditioner>::runs_in_kernel;

/// Records the solve that `request` describes by Method, from parts: an operator and a preconditioner that record steps
/// of their own. Compiled once for a method and a number type.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_from_parts(const solve_request<T>& request) {
  std::unique_ptr<linear_operator<T>> matrix;
  if (!request.parts) {
    matrix = request.offsets_64 ? make_csr_operator<T>(request.where, csr_of<std::int64_t>(request))
                                : make_csr_operator<T>(request.where, csr_of<std::int32_t>(request));
  }
  std::unique_ptr<preconditioner<T>> jacobi;
  if (request.preconditioner == preconditioner_kind::jacobi) {
    constexpr bool absolute =
        Method<T, composed_operator<T>, composed_preconditioner<T>>::needs.definite_preconditioner;
    jacobi = make_jacobi_preconditioner<T>(absolute);
  }
  return record_with<Method, T>(request, composed_operator<T>{request.parts ? request.parts : matrix.get()},
                                composed_preconditioner<T>{jacobi ? jacobi.get() : request.preconditioner_parts});
}

/// Calls record(M) with what is measured to pay in one kernel with the method and a matrix: none, or Jacobi.
template <template <class, class, class> class Method, class T, class Operator, class Record>
recorded_solve<T> with_fused_preconditioner(const solve_request<T>& request, const Record& record) {
  if (request.preconditioner != preconditioner_kind::jacobi) return record(identity_preconditioner{});
  constexpr bool absolute = Method<T, Operator, jacobi_preconditioner<T>>::needs.definite_preconditioner;
  return record(jacobi_preconditioner<T>{.absolute = absolute});
}
/// Calls record(A, M) with what is measured to pay in one kernel with the method: a matrix with 32-bit offsets, alone
/// or with Jacobi.
template <template <class, class, class> class Method, class T, class Record>
recorded_solve<T> with_fused_parts(const solve_request<T>& request, const Record& record) {
  const auto A = csr_of<std::int32_t>(request);
  return with_fused_preconditioner<Method, T, std::remove_const_t<decltype(A)>>(
      request, [&](const auto& M) { return record(A, M); });
}

/// Puts a whole solve into a kernel: resident, or a batch. Defined in record_in_kernel.hpp. Each method of the library
/// that can run so instantiates it in a source of its own, since that is as much code as the method's other kernels.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_in_kernel(const solve_request<T>& request);

/// The same as record_from_parts, fused where that is measured to pay, or in a kernel.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_solve(const solve_request<T>& request) {
  if (request.parts || request.offsets_64 || request.preconditioner == preconditioner_kind::parts)
    return record_from_parts<Method>(request);
  if constexpr (method_runs_in_kernel<Method, T>)
    if (request.in_kernel) return record_in_kernel<Method, T>(request);
  return with_fused_parts<Method>(request,
                                  [&](const auto& A, const auto& M) { return record_with<Method, T>(request, A, M); });
}

/// The same for a method that has a sliced_operator in its own kernels, too.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_solve_with_slices(const solve_request<T>& request) {
  if (!request.slices || request.parts != request.slices || request.offsets_64 ||
      request.preconditioner == preconditioner_kind::parts)
    return record_solve<Method>(request);
  const sliced_operator A(csr_of<std::int32_t>(request));
  return with_fused_preconditioner<Method, T, std::remove_const_t<decltype(A)>>(
      request, [&](const auto& M) { return record_with<Method, T>(request, A, M); });
}

/// The same for one that is worth kernels of its own with a matrix and a preconditioner in parts, too.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_solve_with_matrix(const solve_request<T>& request) {
  const bool has_rows = !request.offsets_64 && (!request.parts || request.parts == request.slices);
  if (!has_rows || request.preconditioner != preconditioner_kind::parts ||
      !request.preconditioner_parts->prepares_by_itself())
    return record_solve_with_slices<Method>(request);
  const composed_preconditioner<T> M{request.preconditioner_parts};
  const auto A = csr_of<std::int32_t>(request);
  if (request.slices) return record_with<Method, T>(request, sliced_operator(A), M);
  return record_with<Method, T>(request, A, M);
}

/// A method, its name and what it is for.
template <class T>
struct linear_method {
  const char* name;
  recorded_solve<T> (*record)(const solve_request<T>&);
  method_needs needs;
  kernel_abilities in_kernel;               ///< with a matrix, alone or with Jacobi: resident, and in batches
  method_within_maker<T> within = nullptr;  ///< null where it is no part of another solve
};

template <class T>
linear_method<T> conjugate_gradient_method();
template <class T>
linear_method<T> pipelined_conjugate_gradient_method();
template <class T>
linear_method<T> flexible_conjugate_gradient_method();
template <class T>
linear_method<T> refined_conjugate_gradient_method();
template <class T>
linear_method<T> minres_method();
template <class T>
linear_method<T> conjugate_residual_method();
template <class T>
linear_method<T> bicgstab_method();
template <class T>
linear_method<T> bicgstabl_method();
template <class T>
linear_method<T> idr_method();
template <class T>
linear_method<T> gmres_method();
template <class T>
linear_method<T> fgmres_method();
template <class T>
linear_method<T> conjugate_gradient_squared_method();
template <class T>
linear_method<T> tfqmr_method();
template <class T>
linear_method<T> chebyshev_method();
template <class T>
linear_method<T> richardson_method();
template <class T>
linear_method<T> lsqr_method();
template <class T>
linear_method<T> lsmr_method();
template <class T>
linear_method<T> cgls_method();

/// All methods. A new one adds a declaration above, a line here, and a file that defines it.
template <class T>
const std::vector<linear_method<T>>& linear_methods() {
  static const std::vector<linear_method<T>> all{
      conjugate_gradient_method<T>(),
      pipelined_conjugate_gradient_method<T>(),
      flexible_conjugate_gradient_method<T>(),
      refined_conjugate_gradient_method<T>(),
      minres_method<T>(),
      conjugate_residual_method<T>(),
      bicgstab_method<T>(),
      bicgstabl_method<T>(),
      idr_method<T>(),
      gmres_method<T>(),
      fgmres_method<T>(),
      conjugate_gradient_squared_method<T>(),
      tfqmr_method<T>(),
      chebyshev_method<T>(),
      richardson_method<T>(),
      lsqr_method<T>(),
      lsmr_method<T>(),
      cgls_method<T>(),
  };
  return all;
}
/// The entry of a method in that list.
template <template <class, class, class> class Method, class T>
linear_method<T> listed(recorded_solve<T> (*record)(const solve_request<T>&)) {
  using method = Method<T, composed_operator<T>, composed_preconditioner<T>>;
  using in_kernel = Method<T, csr_operator<T, std::int32_t, constant_slot<const T>>, identity_preconditioner>;
  kernel_abilities abilities{.runs = method_runs_in_kernel<Method, T>};
  if constexpr (requires { in_kernel::spans_blocks; }) abilities.spans_blocks = in_kernel::spans_blocks;
  if constexpr (requires { in_kernel::most_rows_of_block; })
    abilities.most_rows_of_block = in_kernel::most_rows_of_block;
  return {method::name, record, method::needs, abilities, method_in_parts<Method, T>::make};
}

}  // namespace whilst
