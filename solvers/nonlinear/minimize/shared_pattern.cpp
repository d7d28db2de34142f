#include "whilst/nonlinear/minimize/shared_pattern.hpp"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "solvers/nonlinear/functions/gather_tables.hpp"
#include "whilst/basics/error.hpp"

namespace whilst::detail {
namespace {

using indexes = std::vector<std::int32_t>;

/// The unknowns of a pattern's terms, checked.
indexes checked(const char* doing, index_type unknowns, int K, std::span<const std::int32_t> of_terms) {
  if (unknowns < 1 || unknowns > std::numeric_limits<std::int32_t>::max())
    throw error(doing, "each has " + std::to_string(unknowns) + " unknowns", "Give 1 or more, and fewer than 2^31");
  if (of_terms.empty() && unknowns != K)
    throw error(doing, "the term has " + std::to_string(K) + " unknowns, and each problem " + std::to_string(unknowns),
                "Give the unknowns of each term");
  if (of_terms.size() % static_cast<std::size_t>(K) != 0)
    throw error(doing, "there are " + std::to_string(of_terms.size()) + " indexes of unknowns",
                "Give " + std::to_string(K) + " for each term");
  // Second derivatives are counted in 32 bits, off-diagonal ones twice.
  if (of_terms.size() >
      static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / static_cast<std::size_t>(K + 1))
    throw error(doing, "there are " + std::to_string(of_terms.size()) + " indexes of unknowns",
                "Make it of fewer terms");
  for (const std::int32_t unknown : of_terms)
    if (unknown < -1 || unknown >= unknowns)
      throw error(doing,
                  "a term names unknown " + std::to_string(unknown) + ", and there are " + std::to_string(unknowns),
                  "Unknowns count from 0; -1 stands for none");
  indexes all(of_terms.begin(), of_terms.end());
  if (all.empty())
    for (std::int32_t j = 0; j < K; ++j) all.push_back(j);
  return all;
}

}  // namespace

shared_pattern::shared_pattern(const char* doing, place where, index_type unknowns, int unknowns_a_term,
                               std::span<const std::int32_t> unknowns_of_terms, bool wants_hessian) {
  const indexes of_terms = checked(doing, unknowns, unknowns_a_term, unknowns_of_terms);
  const auto K = static_cast<std::size_t>(unknowns_a_term), terms = of_terms.size() / K;
  view_.unknowns = unknowns;
  view_.terms = static_cast<index_type>(terms);

  indexes by_unknown(of_terms.size());
  for (std::size_t e = 0; e < terms; ++e)
    for (std::size_t k = 0; k < K; ++k) by_unknown[k * terms + e] = of_terms[e * K + k];
  of_terms_ = copied(where, by_unknown);
  view_.unknowns_of_terms = of_terms_.data();
  if (!unknowns_of_terms.empty()) {
    const incidence order(std::vector<std::int64_t>(by_unknown.begin(), by_unknown.end()), unknowns);
    gradient_offsets_ = copied(where, order.offsets);
    gradient_positions_ = copied(where, order.positions);
    view_.gradient_offsets = gradient_offsets_.data();
    view_.gradient_positions = gradient_positions_.data();
  }
  if (!wants_hessian) return;

  // The pieces of each entry of the Hessian, by row and column. A piece off a term's diagonal goes to two of them.
  std::map<std::pair<std::int32_t, std::int32_t>, indexes> entries;
  for (const bool mirrored : {false, true}) {
    std::size_t piece = 0;
    for (std::size_t a = 0; a < K; ++a)
      for (std::size_t b = a; b < K; ++b)
        for (std::size_t e = 0; e < terms; ++e, ++piece) {
          const std::int32_t i = of_terms[e * K + (mirrored ? b : a)], j = of_terms[e * K + (mirrored ? a : b)];
          if (i >= 0 && j >= 0 && !(mirrored && a == b)) entries[{i, j}].push_back(static_cast<std::int32_t>(piece));
        }
  }
  indexes rows(static_cast<std::size_t>(unknowns) + 1), columns, offsets{0}, positions;
  for (const auto& [at, pieces] : entries) {
    ++rows[static_cast<std::size_t>(at.first) + 1];
    columns.push_back(at.second);
    positions.insert(positions.end(), pieces.begin(), pieces.end());
    offsets.push_back(static_cast<std::int32_t>(positions.size()));
  }
  std::partial_sum(rows.begin(), rows.end(), rows.begin());
  row_offsets_ = copied(where, rows);
  columns_ = copied(where, columns);
  hessian_offsets_ = copied(where, offsets);
  hessian_positions_ = copied(where, positions);
  view_.nonzeros = static_cast<index_type>(columns.size());
  view_.row_offsets = row_offsets_.data();
  view_.columns = columns_.data();
  view_.hessian_offsets = hessian_offsets_.data();
  view_.hessian_positions = hessian_positions_.data();
}

}  // namespace whilst::detail
