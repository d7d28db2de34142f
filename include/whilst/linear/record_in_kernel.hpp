#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "whilst/engine/recorder.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/linear/linear_problems.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// The finish of a batch's first step.
struct note_time {
  std::uint64_t* time;
  WHILST_HD void operator()() const { *time = now_nanoseconds(); }
};

/// Puts a solve_type, made from A, M and what a launch binds, into a kernel.
template <class solve_type, class T, class Operator, class Preconditioner>
recorded_solve<T> record_in_kernel_as(const solve_request<T>& request, const Operator& A, const Preconditioner& M) {
  static_assert(solve_type::runs_in_kernel, "the method, the operator or the preconditioner records steps of its own");
  if constexpr (requires { A.lanes_wanted(); })
    detail::check_lanes("recording a solve by an operator", A.lanes_wanted());
  program_recorder record(request.where);
  constexpr bool spans_blocks = spans_several_blocks<solve_type, Operator>;
  const kernel_layout layout =
      kernel_layout_for(request.where, request.rows, lanes_of_row(A), request.systems, spans_blocks, [&](int shift) {
        workspace of_block(nullptr, {.shift = shift}), anywhere;
        if constexpr (spans_blocks) copies_of_block<solve_type> copies(of_block);
        const solve_frame<T> frame(request, anywhere);
        solve_type(with_values(A, frame), M, frame.template operands<solve_type>(), frame.outer, frame.inner, of_block);
        return of_block.used();
      });
  const bool in_cluster = layout.as_cluster(spans_blocks, request.systems);
  const index_type of_rows = in_cluster ? bytes_of_rows(A, {.shift = layout.shift}) : 0;
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
  recorded_solve<T> made = declare_parameters(record, request, frame, frame.settings, frame.settings + 1);
  const bool is_batch = request.systems > 1;
  if (is_batch) record.once("the batch begins", note_time{frame.began});
  const auto problems_of = [&]<class Solve>(std::type_identity<Solve>) {
    return linear_problems<Solve, T, Operator, Preconditioner>{with_values(A, frame),
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
                  problems_by_cluster<std::remove_const_t<decltype(problems)>>{problems, layout.blocks, layout.threads,
                                                                               layout.shift, fast_bytes});
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
  made.recorded = std::make_unique<program>(std::move(record).finish());
  return made;
}

template <template <class, class, class> class Method, class T>
recorded_solve<T> record_in_kernel(const solve_request<T>& request) {
  return with_fused_parts<Method>(
      request, [&]<class Operator, class Preconditioner>(const Operator& A, const Preconditioner& M) {
        return record_in_kernel_as<linear_solve<T, Operator, Preconditioner, Method>>(request, A, M);
      });
}

}  // namespace whilst
