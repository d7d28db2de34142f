#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "whilst/engine/recorder.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/linear_problems.hpp"
#include "whilst/linear/linear_solve.hpp"
#include "whilst/linear/preconditioners.hpp"

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
  /// The transpose, for methods that need it: see transposed_pattern. Offsets and sources are as wide as row_offsets.
  struct {
    const void* row_offsets = nullptr;
    const std::int32_t* column_indices = nullptr;
    const void* sources = nullptr;
  } transposed = {};
  /// Instead of a matrix: an operator in parts.
  linear_operator<T>* parts = nullptr;
  preconditioner_kind preconditioner = preconditioner_kind::none;
  whilst::preconditioner<T>* preconditioner_parts = nullptr;  ///< for preconditioner_kind::parts
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

/// The finish of a batch's first step.
struct note_time {
  std::uint64_t* time;
  WHILST_HD void operator()() const { *time = now_nanoseconds(); }
};

/// The request's matrix; the values are bound when it is recorded.
template <class Offset, class T>
csr_operator<T, Offset, constant_slot<const T>> csr_of(const solve_request<T>& request) {
  const int lanes =
      lanes_for_row(request.rows ? static_cast<double>(request.nonzeros) / static_cast<double>(request.rows) : 0);
  return {request.rows,    static_cast<const Offset*>(request.row_offsets), request.column_indices, {}, lanes,
          request.nonzeros};
}

/// Records a solve_type, made from A, M and what a launch binds.
template <class solve_type, class T, class Operator, class Preconditioner>
recorded_solve<T> record_as(const solve_request<T>& request, const Operator& A_without_values,
                            const Preconditioner& M) {
  if constexpr (has_rows<Operator> && requires { A_without_values.lanes_wanted(); })
    detail::check_lanes("recording a solve by an operator", A_without_values.lanes_wanted());
  recorded_solve<T> made;
  program_recorder record(request.where);
  const auto with_values = [&](const solve_frame<T>& frame) {
    Operator A = A_without_values;
    if constexpr (requires { A.values; }) A.values = {frame.values};
    if constexpr (requires { A.parts; }) A.parts->read_values_from({frame.values});
    return A;
  };
  const auto make_solve = [&](const solve_frame<T>& frame, workspace& memory) {
    return solve_type(with_values(frame), M, frame.template operands<solve_type>(), frame.outer, frame.inner, memory);
  };
  const auto declare = [&](const solve_frame<T>& frame) {
    made.b = record.parameter<const T*>(frame.b, nullptr);
    made.x = record.parameter<T*>(frame.x, nullptr);
    made.values = record.parameter<const T*>(frame.values, request.values);
    made.outcome = record.parameter<solve_outcome*>(frame.outcome, nullptr);
    control_settings* const outer_target = request.in_kernel ? frame.settings : &frame.outer->settings;
    control_settings* const inner_target = request.in_kernel ? frame.settings + 1 : &frame.inner->settings;
    made.outer_settings = record.parameter(outer_target, control_settings{});
    made.inner_settings = record.parameter(inner_target, control_settings{});
    made.outer = frame.outer;
    made.inner = frame.inner;
  };

  if (!request.in_kernel) {
    const auto [frame, solve] = record.arena([&](arena_layout& memory) {
      memory.item("controls");
      const solve_frame<T> placed(request, memory);
      memory.item("vectors and scalars");
      return std::pair(placed, make_solve(request.around ? request.around->within(placed, memory) : placed, memory));
    });
    declare(frame);
    if (request.around) request.around->record_before(record);
    solve(record);
    if (request.around) request.around->record_after(record);
  } else if constexpr (solve_type::runs_in_kernel) {
    constexpr bool spans_blocks = spans_several_blocks<solve_type, Operator>;
    const kernel_layout layout = kernel_layout_for(request.where, request.rows, lanes_of_row(A_without_values),
                                                   request.systems, spans_blocks, [&](int shift) {
                                                     workspace of_block(nullptr, {.shift = shift}), anywhere;
                                                     if constexpr (spans_blocks)
                                                       copies_of_block<solve_type> copies(of_block);
                                                     make_solve(solve_frame<T>(request, anywhere), of_block);
                                                     return of_block.used();
                                                   });
    const bool in_cluster = layout.as_cluster(spans_blocks, request.systems);
    const index_type of_rows = in_cluster ? bytes_of_rows(A_without_values, {.shift = layout.shift}) : 0;
    // Clang 14 lets no lambda capture structured bindings.
    const auto memory_of = record.arena([&](arena_layout& memory) {
      memory.item("controls");
      const solve_frame<T> placed(request, memory);
      memory.item("vectors and scalars");
      const std::size_t of_all = layout.in_fast_memory ? 0 : detail::bytes_of_array(request.systems, layout.bytes);
      std::byte* const of_each = memory.take<std::byte>(static_cast<index_type>(of_all));
      memory.item("rows as threads read them");
      return std::tuple(placed, of_each, memory.take<std::byte>(request.systems * layout.blocks * of_rows));
    });
    const solve_frame<T>& frame = std::get<0>(memory_of);
    declare(frame);
    const bool is_batch = request.systems > 1;
    if (is_batch) record.once("the batch begins", note_time{frame.began});
    const auto problems_of = [&]<class Solve>(std::type_identity<Solve>) {
      return linear_problems<Solve, T, Operator, Preconditioner>{with_values(frame),
                                                                 M,
                                                                 frame.template operands<Solve>(),
                                                                 frame.settings,
                                                                 is_batch ? frame.began : nullptr,
                                                                 frame.outer,
                                                                 frame.inner,
                                                                 std::get<1>(memory_of),
                                                                 layout.bytes,
                                                                 layout.in_fast_memory,
                                                                 std::get<2>(memory_of),
                                                                 of_rows,
                                                                 layout.blocks};
    };
    const char* const name = solve_type::method_type::name;
    const index_type fast_bytes = layout.in_fast_memory ? layout.bytes : 0;
    if (in_cluster) {
      if constexpr (spans_blocks) {
        using spread = typename solve_type::template with_operator<typename spread_over_blocks<Operator>::type>;
        const auto problems = problems_of(std::type_identity<spread>());
        record.team(name, request.systems,
                    problems_by_cluster<std::remove_const_t<decltype(problems)>>{
                        problems, layout.blocks, layout.threads, layout.shift, fast_bytes});
      }
    } else {
      const auto problems = problems_of(std::type_identity<solve_type>());
      using problems_type = std::remove_const_t<decltype(problems)>;
      if (layout.blocks == 0) {
        record.step(name, request.systems, problems_by_lanes<problems_type>{problems, layout.threads});
      } else {
        record.team(name, request.systems, problems_by_block<problems_type>{problems, layout.threads, fast_bytes});
      }
    }
    if (!request.where.on_host()) made.lanes = layout.threads * (layout.blocks > 1 ? layout.blocks : 1);
  } else {
    throw error("recording a solve for a kernel",
                "the method, the operator or the preconditioner records steps of its own",
                "Use executor graph, stream or host");
  }
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_with(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  return record_as<linear_solve<T, Operator, Preconditioner, Method>>(request, A, M);
}

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

/// The same; what is measured to pay in one kernel with the method is: a matrix with 32-bit offsets, alone or with
/// Jacobi.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_solve(const solve_request<T>& request) {
  if (request.parts || request.offsets_64 || request.preconditioner == preconditioner_kind::parts)
    return record_from_parts<Method>(request);
  auto A = csr_of<std::int32_t>(request);
  if (request.preconditioner == preconditioner_kind::jacobi) {
    constexpr bool absolute = Method<T, decltype(A), jacobi_preconditioner<T>>::needs.definite_preconditioner;
    return record_with<Method, T>(request, A, jacobi_preconditioner<T>{.absolute = absolute});
  }
  return record_with<Method, T>(request, A, identity_preconditioner{});
}

/// A method, its name and what it is for.
template <class T>
struct linear_method {
  const char* name;
  recorded_solve<T> (*record)(const solve_request<T>&);
  method_needs needs;
  kernel_abilities in_kernel;  ///< with a matrix, alone or with Jacobi: resident, and in batches
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
  kernel_abilities abilities{.runs = in_kernel::runs_in_kernel};
  if constexpr (requires { in_kernel::spans_blocks; }) abilities.spans_blocks = in_kernel::spans_blocks;
  if constexpr (requires { in_kernel::most_rows_of_block; })
    abilities.most_rows_of_block = in_kernel::most_rows_of_block;
  return {method::name, record, method::needs, abilities};
}

}  // namespace whilst
