#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>

#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/formats/row_slices.hpp"
#include "solvers/linear/formats/slice_statistics.hpp"
#include "solvers/linear/host_array.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {
namespace {

index_type longest_row(const host_pattern& A) {
  std::atomic<index_type> longest{0};
  detail::visit_ranges(static_cast<std::size_t>(A.rows()), [&](std::size_t begin, std::size_t end) {
    index_type of_range = 0;
    for (std::size_t i = begin; i < end; ++i) of_range = std::max(of_range, A.length(static_cast<index_type>(i)));
    index_type known = longest.load();
    while (known < of_range && !longest.compare_exchange_weak(known, of_range)) {
    }
  });
  return longest;
}

/// Whether the nonzeros form full blocks, with the columns of each row in order. Ends at the first that do not.
bool has_full_blocks(const host_pattern& A, int block) {
  if (A.rows() % block != 0 || A.columns() % block != 0 || A.nonzeros() % (block * block) != 0) return false;
  const auto rows = static_cast<std::size_t>(A.rows() / block);
  const auto is_other = [&](std::size_t row) {
    const index_type first = static_cast<index_type>(row) * block, begin = A.begin(first), length = A.length(first);
    if (length % block != 0) return true;
    for (index_type k = 0; k < length; ++k) {
      const std::int32_t column = A.column(begin + k);
      if (k % block == 0 ? column % block != 0 : column != A.column(begin + k - 1) + 1) return true;
    }
    for (int r = 1; r < block; ++r) {
      if (A.length(first + r) != length) return true;
      const index_type of_row = A.begin(first + r);
      for (index_type k = 0; k < length; ++k)
        if (A.column(of_row + k) != A.column(begin + k)) return true;
    }
    return false;
  };
  // Most matrices without blocks show it here; first_index would look at all of a range.
  if (rows > 0 && is_other(0)) return false;
  return detail::first_index(rows, is_other) == rows;
}

/// How many blocks bsr stores for each there is: slices are as wide as their longest row. Infinity if it cannot hold
/// so many.
double padding_of_blocks(const host_pattern& A, int block) try {
  const index_type rows_each = warp_threads / block;
  const row_slices made = slice_rows_of(
      A.rows() / block, rows_each, [&](index_type I) { return A.length(I * block) / block; }, "bsr",
      rows_each * block * block);
  return static_cast<double>(made.steps() * rows_each * block * block) / static_cast<double>(A.nonzeros());
} catch (const error&) {
  return std::numeric_limits<double>::infinity();
}

/// Whether slices of rows store little more than the nonzeros, cut no row, find most columns by their distances, and
/// leave memory free.
template <class T>
bool suits_slices(const solve_request<T>& placed, const format_rule& rule) {
  const double bytes = static_cast<double>(placed.nonzeros) * static_cast<double>(sizeof(T) + sizeof(std::int32_t));
  if (bytes < static_cast<double>(rule.least_bytes_in_slices) || placed.offsets_64) return false;
  const slice_statistics found = look_at_slices(placed);
  if (found.cut > 0 ||
      static_cast<double>(found.read) > rule.most_fill_of_slices * static_cast<double>(placed.nonzeros) ||
      static_cast<double>(found.far) > rule.most_far_slices * static_cast<double>(found.slices))
    return false;
#if WHILST_WITH_CUDA
  if (!placed.where.on_host()) {
    const cuda::device_guard current(placed.where.device());
    return static_cast<double>(found.bytes) <= rule.most_of_free_memory * static_cast<double>(cuda::free_bytes());
  }
#endif
  return true;
}

constexpr const char* why_ell = "since its rows are equally long, and entries of neighbouring rows near one another";

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// Whether the method has slices in the same kernels as its vectors. "auto" takes such methods first.
bool has_slices_in_kernels(const linear_solver_options& options) {
  if (has_scaling(options) || has_permutation(options) || has_null_space(options) || has_deflation(options))
    return false;
  for (const std::string_view method : {"auto", "cg", "minres", "bicgstab"})
    if (options.method == method) return true;
  return false;
}

}  // namespace

template <class T>
format_choice choose_format(const csr_matrix<T>& A, const solve_request<T>& placed, const format_rule& rule) {
  const host_pattern pattern(A);
  const index_type nonzeros = A.nonzeros();
  const double average = A.rows() > 0 ? static_cast<double>(nonzeros) / static_cast<double>(A.rows()) : 0;
  const index_type longest = longest_row(pattern), of_thread = longest / lanes_for_row(average);
  if (of_thread >= rule.least_entries_a_thread &&
      static_cast<double>(of_thread) > rule.least_part * static_cast<double>(nonzeros))
    return {"balanced",
            "since the longest row has " + std::to_string(longest) + " nonzeros, the average " + one_decimal(average)};
  for (int block = 6; nonzeros >= rule.least_nonzeros && block >= rule.least_block; --block)
    if (has_full_blocks(pattern, block) && padding_of_blocks(pattern, block) <= rule.most_padding)
      return {"bsr", "since its nonzeros form full blocks of " + std::to_string(block) + " x " + std::to_string(block)};
  if (suits_slices(placed, rule)) return {"ell", why_ell};
  if (nonzeros < rule.least_nonzeros)
    return {"csr", "since the matrix has fewer than " + std::to_string(rule.least_nonzeros) +
                       " nonzeros and no very long row"};
  return {"csr", "since the matrix has neither very long rows nor full blocks"};
}

template <class T>
format_choice format_for(const csr_matrix<T>& A, const solve_request<T>& placed, const linear_solver_options& options,
                         executor how) {
  if (options.format != automatic_format) return {options.format, ""};
  if (rounds_values<T>(options)) return {"sell", "since it holds values in float"};
  if (how == executor::resident) return {"csr", "since executor resident has no other"};
  if (options.method == "pipelined-cg" && !has_scaling(options) && !has_permutation(options))
    return {"csr", "since pipelined-cg reads it once for two products"};
  if (options.method == "refined-cg") return {"csr", "since refined-cg has a copy of its own, in float"};
  format_rule rule;
  if (how == executor::host || !has_slices_in_kernels(options))
    rule.least_bytes_in_slices = std::numeric_limits<index_type>::max();
  if (!A.is_on_device()) return choose_format(A, placed, rule);
  if (suits_slices(placed, rule)) return {"ell", why_ell};
  return {"csr", "since the matrix is in device memory"};
}

template format_choice choose_format(const csr_matrix<float>&, const solve_request<float>&, const format_rule&);
template format_choice choose_format(const csr_matrix<double>&, const solve_request<double>&, const format_rule&);
template format_choice format_for(const csr_matrix<float>&, const solve_request<float>&, const linear_solver_options&,
                                  executor);
template format_choice format_for(const csr_matrix<double>&, const solve_request<double>&, const linear_solver_options&,
                                  executor);

}  // namespace whilst
