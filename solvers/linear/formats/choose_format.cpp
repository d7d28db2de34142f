#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/formats/row_slices.hpp"
#include "solvers/linear/host_array.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/sliced_operator.hpp"

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

/// Whether slices of rows, as sliced_operator has them, store little more than the nonzeros, and find most columns by
/// their distances: by up to a thousand of them.
template <class Matrix>
bool suits_slices(const host_pattern& A, const Matrix& sliced, const format_rule& rule) {
  constexpr index_type looked_at = 1024;
  const index_type slices = sliced.count(), lanes = sliced.lanes_a_row, step = 1 + slices / looked_at;
  index_type stored = 0, found = 0, far = 0, seen = 0;
  for (index_type at = 0; at < slices; at += step, ++seen) {
    index_type pieces = sliced.usual_pieces;
    bool is_far = false;
    for (index_type j = 0; j <= sliced.pitch; ++j) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -least;
      for (index_type all = at * Matrix::side_by_side; all < (at + 1) * Matrix::side_by_side; ++all) {
        const index_type row = all / lanes;
        if (row >= A.rows()) break;
        const index_type k = A.begin(row) + all % lanes + j * lanes;
        if (k >= A.begin(row + 1)) continue;
        if (j == sliced.pitch) return false;  // a row that is cut: some others will be, too
        const std::int64_t distance = A.column(k) - row;
        least = std::min(least, distance);
        most = std::max(most, distance);
        ++found;
      }
      if (least > most) continue;
      pieces = std::max(pieces, j + 1);
      is_far |= most - least >= Matrix::no_entry;
    }
    stored += pieces * Matrix::side_by_side;
    far += is_far;
  }
  return static_cast<double>(stored) <= rule.most_fill_of_slices * static_cast<double>(found) &&
         static_cast<double>(far) <= rule.most_far_slices * static_cast<double>(seen);
}
/// The same, of A, for products on a GPU.
template <class T>
bool suits_slices(const csr_matrix<T>& A, const format_rule& rule) {
  solve_request<T> request;
  request.rows = A.rows();
  request.nonzeros = A.nonzeros();
  return suits_slices(host_pattern(A), sliced_operator(csr_of<std::int32_t>(request)), rule);
}

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// Whether the method has slices in the same kernels as its vectors. "auto" takes such methods first.
bool has_slices_in_kernels(const linear_solver_options& options) {
  if (has_scaling(options) || has_null_space(options)) return false;
  for (const std::string_view method : {"auto", "cg", "minres", "bicgstab"})
    if (options.method == method) return true;
  return false;
}

}  // namespace

template <class T>
format_choice choose_format(const csr_matrix<T>& A, const format_rule& rule) {
  const host_pattern pattern(A);
  const index_type nonzeros = A.nonzeros();
  const double average = A.rows() > 0 ? static_cast<double>(nonzeros) / static_cast<double>(A.rows()) : 0;
  const index_type longest = longest_row(pattern), of_thread = longest / lanes_for_row(average);
  if (of_thread >= rule.least_entries_a_thread &&
      static_cast<double>(of_thread) > rule.least_part * static_cast<double>(nonzeros))
    return {"balanced",
            "since the longest row has " + std::to_string(longest) + " nonzeros, the average " + one_decimal(average)};
  const index_type fewest = std::min(rule.least_nonzeros, rule.least_nonzeros_in_slices);
  if (nonzeros < fewest)
    return {"csr", "since the matrix has fewer than " + std::to_string(fewest) + " nonzeros and no very long row"};
  for (int block = 6; nonzeros >= rule.least_nonzeros && block >= rule.least_block; --block)
    if (has_full_blocks(pattern, block) && padding_of_blocks(pattern, block) <= rule.most_padding)
      return {"bsr", "since its nonzeros form full blocks of " + std::to_string(block) + " x " + std::to_string(block)};
  if (nonzeros >= rule.least_nonzeros_in_slices && suits_slices(A, rule))
    return {"ell", "since its rows are equally long, and entries of neighbouring rows near one another"};
  return {"csr", "since the matrix has neither very long rows nor full blocks"};
}

template <class T>
format_choice format_for(const csr_matrix<T>& A, const linear_solver_options& options, executor how) {
  if (options.format != automatic_format) return {options.format, ""};
  if (rounds_values<T>(options)) return {"sell", "since it holds values in float"};
  if (how == executor::resident) return {"csr", "since executor resident has no other"};
  if (options.method == "pipelined-cg" && !has_scaling(options))
    return {"csr", "since pipelined-cg reads it once for two products"};
  if (options.method == "refined-cg") return {"csr", "since refined-cg has a copy of its own, in float"};
  if (A.is_on_device()) return {"csr", "since the matrix is in device memory"};
  format_rule rule;
  if (how == executor::host || A.has_64bit_offsets() || !has_slices_in_kernels(options))
    rule.least_nonzeros_in_slices = std::numeric_limits<index_type>::max();
  return choose_format(A, rule);
}

template format_choice choose_format(const csr_matrix<float>&, const format_rule&);
template format_choice format_for(const csr_matrix<float>&, const linear_solver_options&, executor);
template format_choice format_for(const csr_matrix<double>&, const linear_solver_options&, executor);
template format_choice choose_format(const csr_matrix<double>&, const format_rule&);

}  // namespace whilst
