#include "solvers/linear/factorization/factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "solvers/linear/factorization/block_triangular.hpp"
#include "solvers/linear/factorization/elimination.hpp"
#include "solvers/linear/factorization/matching.hpp"
#include "solvers/linear/factorization/ordering.hpp"
#include "whilst/basics/error.hpp"

namespace whilst::factorization {
namespace {

/// Half of the entries go to each triangle.
elimination_rules rules_for(const sparse_rows& A, const ilu_options& options) {
  elimination_rules rules{options.drop, 0, options.levels, options.pivoting, {}, {}};
  if (options.fill > 0 && A.rows() > 0) {
    const double share = options.fill * static_cast<double>(A.nonzeros()) / static_cast<double>(A.rows()) / 2;
    rules.most_of_row = static_cast<index_type>(std::clamp(std::ceil(share), 1.0, static_cast<double>(A.rows())));
  }
  return rules;
}

/// In order "degree" or "blocks" rcm takes the place of a minimum degree that takes too much.
indices order_of(const sparse_rows& A, const std::string& order, const factorization_bounds& bounds) {
  if (order == "none") return in_turn(A.rows());
  const sparse_rows pattern = symmetric_part(A);
  if (order != "rcm")
    if (std::optional<indices> found = minimum_degree(pattern, bounds)) return *std::move(found);
  return reverse_cuthill_mckee(pattern);
}

/// The diagonal becomes 1 in size. Where it is 0, the row's largest entry takes its place.
log_scales of_diagonal(const sparse_rows& A) {
  log_scales result{std::vector<double>(static_cast<std::size_t>(A.rows()), 0.0), {}};
  for (index_type i = 0; i < A.rows(); ++i) {
    double own = 0, largest = 0;
    for (std::size_t e = A.begin(i); e < A.end(i); ++e) {
      const double size = std::fabs(A.values[e]);
      largest = std::max(largest, size);
      if (A.columns[e] == i) own = size;
    }
    if (own == 0) own = largest;
    if (own > 0) result.row[static_cast<std::size_t>(i)] = -std::log(own) / 2;
  }
  result.column = result.row;
  return result;
}

double trace_of(const sparse_rows& A) {
  double trace = 0;
  for (index_type i = 0; i < A.rows(); ++i)
    for (std::size_t e = A.begin(i); e < A.end(i); ++e)
      if (A.columns[e] == i) trace += A.values[e];
  return trace;
}

/// A scaled and permuted: row k is A's row rows[k], column k is A's column columns[k].
struct arranged {
  sparse_rows matrix;
  log_scales scales;
  indices rows, columns;
  indices block_ends;  ///< see elimination_rules
  double sign = 1;     ///< of the matrix that is factored instead of A
  std::string words;
};

/// The diagonal blocks in turn, each in the order that minimum degree gives the rows where only entries within blocks
/// count.
void arrange_blocks(const sparse_rows& A, const factorization_bounds& bounds, arranged& result) {
  const diagonal_blocks blocks = block_triangular_order(A);
  indices block_of(result.columns.size());
  for (std::size_t b = 0; b < blocks.count(); ++b)
    for (std::int32_t k = blocks.offsets[b]; k < blocks.offsets[b + 1]; ++k) {
      block_of[static_cast<std::size_t>(blocks.order[static_cast<std::size_t>(k)])] = static_cast<std::int32_t>(b);
      result.block_ends.push_back(blocks.offsets[b + 1]);
    }
  sparse_rows within;
  for (index_type i = 0; i < A.rows(); ++i) {
    for (std::size_t e = A.begin(i); e < A.end(i); ++e)
      if (block_of[static_cast<std::size_t>(A.columns[e])] == block_of[static_cast<std::size_t>(i)])
        within.append(A.columns[e], A.values[e]);
    within.end_row();
  }
  indices next(blocks.offsets.begin(), blocks.offsets.end() - 1);
  result.rows.resize(result.columns.size());
  for (const std::int32_t i : order_of(within, "degree", bounds)) {
    std::int32_t& place = next[static_cast<std::size_t>(block_of[static_cast<std::size_t>(i)])];
    result.rows[static_cast<std::size_t>(place++)] = i;
  }
  result.words += "; " + std::to_string(blocks.count()) + " diagonal blocks";
}

arranged arranged_for_lu(const sparse_rows& A, const ilu_options& options, const factorization_bounds& bounds) {
  const index_type n = A.rows();
  arranged result;
  result.columns = in_turn(n);
  std::optional<matching> found;
  if (options.matching && !(found = maximum_product_matching(A, bounds)))
    result.words = "; not matched: it took too much";
  if (found) {
    result.scales = std::move(found->scales);
    result.columns = std::move(found->column_of_row);
    result.words = "; matched";
    if (found->matched < n) result.words += " " + std::to_string(found->matched) + " of " + std::to_string(n) + " rows";
  } else {
    result.scales = equilibrating(A);
  }
  const sparse_rows B = permuted(A, result.scales, in_turn(n), result.columns);
  if (options.order == "blocks")
    arrange_blocks(B, bounds, result);
  else
    result.rows = order_of(B, options.order, bounds);
  result.columns = composed(result.columns, result.rows);
  result.matrix = permuted(A, result.scales, result.rows, result.columns);
  return result;
}

arranged arranged_for_cholesky(const sparse_rows& A, const ilu_options& options, const factorization_bounds& bounds) {
  const sparse_rows symmetric = symmetric_part(A);
  arranged result;
  result.scales = of_diagonal(symmetric);
  result.rows = result.columns = order_of(symmetric, options.order, bounds);
  result.matrix = permuted(symmetric, result.scales, result.rows, result.columns);
  if (trace_of(result.matrix) < 0) {
    result.sign = -1;
    for (double& value : result.matrix.values) value = -value;
  }
  return result;
}

std::string in_short(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

factors factorize(const sparse_rows& A, factors_kind kind, const ilu_options& options,
                  const factorization_bounds& bounds) {
  const bool symmetric = kind == factors_kind::ic;
  const arranged B = symmetric ? arranged_for_cholesky(A, options, bounds) : arranged_for_lu(A, options, bounds);
  elimination_rules rules = rules_for(A, options);
  rules.block_ends = B.block_ends;
  rules.bounds = bounds;
  const incomplete_factors made = symmetric ? incomplete_cholesky(B.matrix, rules) : incomplete_lu(B.matrix, rules);
  if (const double growth = growth_of_solves(made); !(growth <= bounds.most_growth))
    throw error("making incomplete factors", "they are unstable: a solve makes 1 grow to " + in_short("%.1g", growth),
                "Set a smaller drop, or pivoting");

  factors result{in_levels(made.L, /*upper=*/false), in_levels(made.U, /*upper=*/true), {}, {}, {}, {}, {}, {}, {}};
  const indices place_in_L = inverse_of(result.L.row_at), columns = composed(B.columns, made.column_at);
  for (const std::int32_t row : result.L.row_at) {
    const std::int32_t source = B.rows[static_cast<std::size_t>(row)];
    result.source.push_back(source);
    result.row_scale.push_back(std::exp(B.scales.row[static_cast<std::size_t>(source)]));
  }
  for (const std::int32_t row : result.U.row_at) {
    const auto k = static_cast<std::size_t>(row);
    result.between.push_back(place_in_L[k]);
    result.target.push_back(columns[k]);
    result.inverse_pivot.push_back(1 / made.pivots[k]);
    result.column_scale.push_back(B.sign * std::exp(B.scales.column[static_cast<std::size_t>(columns[k])]));
  }
  const index_type nonzeros = made.L.nonzeros() + made.U.nonzeros() + A.rows();
  const double of_matrix = A.nonzeros() > 0 ? static_cast<double>(nonzeros) / static_cast<double>(A.nonzeros()) : 1;
  result.description = std::to_string(nonzeros) + " nonzeros, " + in_short("%.1f", of_matrix) + " of the matrix's; " +
                       std::to_string(result.L.levels() + result.U.levels()) + " levels" + B.words;
  if (options.order != "none") result.description += "; " + options.order;
  if (made.replaced_pivots > 0) result.description += "; " + std::to_string(made.replaced_pivots) + " pivots replaced";
  if (made.shift > 0) result.description += "; diagonal shifted by " + in_short("%.2g", made.shift);
  return result;
}

}  // namespace whilst::factorization
