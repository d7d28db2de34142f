#pragma once

#include <memory>
#include <string>

#include "whilst/engine/recorder.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/linear/linear_solve.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

enum class preconditioner_kind { none, jacobi, called };

/// What to record, with every pointer on the place that will run it. All of it must outlive the program.
template <class T>
struct solve_request {
  place where = place::host();
  index_type rows = 0, nonzeros = 0;
  const void* row_offsets = nullptr;
  bool offsets_64 = false;
  const std::int32_t* column_indices = nullptr;
  const T* values = nullptr;
  /// Instead of a matrix: a callback that makes products, and where it writes them.
  const typename called_operator<T>::function* applied = nullptr;
  T* product = nullptr;
  preconditioner_kind preconditioner = preconditioner_kind::none;
  const typename called_preconditioner<T>::function* called = nullptr;
  /// 1, or the number of systems of a batch: values, b, x and outcomes then hold the systems consecutively.
  index_type systems = 1;
  /// See linear_solver_options::keep_best.
  bool keep_best = true;
  /// Put the whole solve into kernels (resident, batch) instead of recording its steps.
  bool in_kernel = false;
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
  bool keep_best;

  solve_frame(const solve_request<T>& request, workspace& memory)
      : b(memory.take<const T*>(1)),
        x(memory.take<T*>(1)),
        values(memory.take<const T*>(1)),
        outcome(memory.take<solve_outcome*>(1)),
        settings(memory.take<control_settings>(2)),
        began(memory.take<std::uint64_t>(1)),
        outer(memory.take<control>(request.systems)),
        inner(memory.take<control>(request.systems)),
        keep_best(request.keep_best) {}

  template <class Solve>
  typename Solve::operands operands() const {
    return {{b}, {x}, {outcome}, keep_best};
  }
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
                                           io.keep_best};
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

/// From this many rows on a warp is too slow, and a block solves a problem.
constexpr index_type rows_for_a_block = 64;
constexpr index_type rows_for_a_warp = 12;

template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
recorded_solve<T> record_with(const solve_request<T>& request, const Operator& A_without_values,
                              const Preconditioner& M) {
  using solve_type = linear_solve<T, Operator, Preconditioner, Method>;
  detail::check_lanes("recording a solve by an operator", A_without_values.lanes_wanted());
  recorded_solve<T> made;
  program_recorder record(request.where);
  const auto with_values = [&](const solve_frame<T>& frame) {
    Operator A = A_without_values;
    if constexpr (requires { A.values; }) A.values = {frame.values};
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
      return std::pair(placed, make_solve(placed, memory));
    });
    declare(frame);
    solve(record);
  } else if constexpr (solve_type::runs_in_kernel) {
    workspace of_problem, anywhere;
    make_solve(solve_frame<T>(request, anywhere), of_problem);
    const index_type alignment = 256, bytes = (of_problem.used() + alignment - 1) / alignment * alignment;
    const bool by_block = request.systems == 1 || request.rows >= rows_for_a_block;
    bool in_fast_memory = false;
#if WHILST_WITH_CUDA
    if (by_block && !request.where.on_host()) {
      // Shared memory is faster; many blocks per SM must divide it.
      const index_type limit =
          static_cast<index_type>(traits_of_device(request.where.device()).fast_memory_bytes) - 1024;
      in_fast_memory = bytes <= (request.systems == 1 ? limit : limit / 4);
    }
#endif
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
    const int threads = by_block ? threads_for_problem(request.rows) : request.rows >= rows_for_a_warp ? 32 : 1;
    if (by_block) {
      record.team(solve_type::method_type::name, request.systems,
                  problems_by_block<problems_type>{problems, threads, in_fast_memory ? bytes : 0});
    } else {
      record.step(solve_type::method_type::name, request.systems, problems_by_lanes<problems_type>{problems, threads});
    }
    if (!request.where.on_host()) made.lanes = threads;
  } else {
    throw error("recording a solve for a kernel", "the operator or the preconditioner needs calls on a stream",
                "Use executor graph, stream or host");
  }
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

/// Records the solve that `request` describes by Method, with its operator and preconditioner.
template <template <class, class, class> class Method, class T>
recorded_solve<T> record_solve(const solve_request<T>& request) {
  if (request.applied) {
    const called_operator<T> A{request.applied, request.rows, request.product};
    if (request.preconditioner == preconditioner_kind::called)
      return record_with<Method, T>(request, A, called_preconditioner<T>{request.called});
    return record_with<Method, T>(request, A, identity_preconditioner{});
  }
  const int lanes =
      lanes_for_row(request.rows ? static_cast<double>(request.nonzeros) / static_cast<double>(request.rows) : 0);
  const auto with_operator = [&](const auto& A) {
    switch (request.preconditioner) {
      case preconditioner_kind::jacobi:
        return record_with<Method, T>(request, A, jacobi_preconditioner<T>{});
      case preconditioner_kind::called:
        return record_with<Method, T>(request, A, called_preconditioner<T>{request.called});
      case preconditioner_kind::none:
        break;
    }
    return record_with<Method, T>(request, A, identity_preconditioner{});
  };
  const auto with_offsets = [&]<class Offset>(const Offset* row_offsets) {
    return with_operator(csr_operator<T, Offset, constant_slot<const T>>{
        request.rows, row_offsets, request.column_indices, {}, lanes, request.nonzeros});
  };
  if (request.offsets_64) return with_offsets(static_cast<const std::int64_t*>(request.row_offsets));
  return with_offsets(static_cast<const std::int32_t*>(request.row_offsets));
}

/// The methods by name. A new one adds a line here, a declaration below, and a file that defines it.
template <class T>
struct linear_method {
  const char* name;
  recorded_solve<T> (*record)(const solve_request<T>&);
};

template <class T>
recorded_solve<T> record_conjugate_gradient(const solve_request<T>& request);
template <class T>
recorded_solve<T> record_bicgstab(const solve_request<T>& request);

template <class T>
inline constexpr linear_method<T> linear_methods[] = {
    {"cg", record_conjugate_gradient<T>},
    {"bicgstab", record_bicgstab<T>},
};

}  // namespace whilst
