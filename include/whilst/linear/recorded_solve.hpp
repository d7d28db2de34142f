#pragma once

#include <memory>
#include <string>
#include <vector>

#include "whilst/engine/recorder.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/linear/linear_operator.hpp"
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

/// Hands out the systems of a batch, or the one system of a resident solve.
template <class Solve, class T, class Operator, class Preconditioner>
struct linear_problems {
  Operator A;
  Preconditioner M;
  typename Solve::operands io;
  const control_settings* settings;
  const std::uint64_t* began;  ///< null for one system
  control *outer, *inner;
  std::byte* memory;
  index_type bytes_a_problem;
  bool in_fast_memory;

  template <class Team>
  WHILST_HD Solve operator()(index_type k, const Team& team) const {
    if (team.rank() == 0) {
      outer[k].settings = settings[0];
      inner[k].settings = settings[1];
      if (began && settings[0].deadline_nanoseconds) outer[k].settings.deadline_nanoseconds = time_left();
    }
    team.sync();
    void* const fast = in_fast_memory ? team.fast_memory() : nullptr;
    workspace of_problem(fast ? fast : memory + k * bytes_a_problem);
    const index_type n = A.rows();
    const typename Solve::operands shifted{io.b.shifted(k * n), io.x.shifted(k * n), io.outcome.shifted(k),
                                           io.settings};
    return Solve(A.of_problem(k), M, shifted, outer + k, inner + k, of_problem);
  }

 private:
  /// The deadline counts for the batch, not from each system's start. At least 1, since 0 means none.
  WHILST_HD std::uint64_t time_left() const {
    const std::uint64_t given = settings[0].deadline_nanoseconds, now = now_nanoseconds();
    const std::uint64_t used = now > *began ? now - *began : 0;
    return used < given ? given - used : 1;
  }
};

/// The request's matrix; the values are bound when it is recorded.
template <class Offset, class T>
csr_operator<T, Offset, constant_slot<const T>> csr_of(const solve_request<T>& request) {
  const int lanes =
      lanes_for_row(request.rows ? static_cast<double>(request.nonzeros) / static_cast<double>(request.rows) : 0);
  return {request.rows,    static_cast<const Offset*>(request.row_offsets), request.column_indices, {}, lanes,
          request.nonzeros};
}

/// Threads for each of many systems of so many rows: up to 32 share a warp, more are a block. The fastest of the powers
/// of two for conjugate gradients on an H200; BiCGSTAB's optima are the same. Fewer threads keep more of them busy in
/// the sums and in the last rows; more threads keep fewer systems, and with them fewer bytes, in flight.
inline int threads_for_each(index_type rows) {
  struct range {
    index_type most_rows;
    int threads;
  };
  constexpr range ranges[] = {{6, 4}, {30, 8}, {80, 16}, {200, 32}, {400, 128}, {800, 256}};
  for (const range& of : ranges)
    if (rows <= of.most_rows) return of.threads;
  return 512;
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
    workspace of_problem, anywhere;
    make_solve(solve_frame<T>(request, anywhere), of_problem);
    const index_type alignment = 256, bytes = (of_problem.used() + alignment - 1) / alignment * alignment;
    index_type multiprocessors = 1, fast_memory_bytes = 0;
#if WHILST_WITH_CUDA
    if (!request.where.on_host()) {
      const device_traits device = traits_of_device(request.where.device());
      multiprocessors = device.multiprocessors;
      fast_memory_bytes = static_cast<index_type>(device.fast_memory_bytes) - 1024;
    }
#endif
    // A system that has a multiprocessor to itself gets all the threads that it has rows for.
    const int threads =
        request.systems <= multiprocessors ? threads_for_problem(request.rows) : threads_for_each(request.rows);
    const bool by_block = threads > 32 || request.systems == 1;
    // Shared memory is faster; many blocks per SM must divide it.
    const bool in_fast_memory = by_block && bytes <= (request.systems == 1 ? fast_memory_bytes : fast_memory_bytes / 4);
    const auto [frame, of_problems] = record.arena([&](arena_layout& memory) {
      memory.item("controls");
      const solve_frame<T> placed(request, memory);
      memory.item("vectors and scalars");
      const std::size_t of_all = in_fast_memory ? 0 : detail::bytes_of_array(request.systems, bytes);
      return std::pair(placed, memory.take<std::byte>(static_cast<index_type>(of_all)));
    });
    declare(frame);
    const bool is_batch = request.systems > 1;
    if (is_batch) record.once("the batch begins", note_time{frame.began});
    using problems_type = linear_problems<solve_type, T, Operator, Preconditioner>;
    const problems_type problems{with_values(frame),
                                 M,
                                 frame.template operands<solve_type>(),
                                 frame.settings,
                                 is_batch ? frame.began : nullptr,
                                 frame.outer,
                                 frame.inner,
                                 of_problems,
                                 bytes,
                                 in_fast_memory};
    if (by_block) {
      record.team(solve_type::method_type::name, request.systems,
                  problems_by_block<problems_type>{problems, threads, in_fast_memory ? bytes : 0});
    } else {
      record.step(solve_type::method_type::name, request.systems, problems_by_lanes<problems_type>{problems, threads});
    }
    if (!request.where.on_host()) made.lanes = threads;
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
  bool runs_in_kernel;  ///< with a matrix, alone or with Jacobi: resident, and in batches
};

template <class T>
linear_method<T> conjugate_gradient_method();
template <class T>
linear_method<T> pipelined_conjugate_gradient_method();
template <class T>
linear_method<T> flexible_conjugate_gradient_method();
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
  return {method::name, record, method::needs, in_kernel::runs_in_kernel};
}

}  // namespace whilst
