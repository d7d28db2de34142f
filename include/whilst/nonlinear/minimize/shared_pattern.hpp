#pragma once

#include <cstdint>
#include <span>

#include "whilst/basics/host_device.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::detail {

/// Which unknowns each term of a function has, and where its derivatives go; borrowed, in memory of the place.
struct pattern_view {
  index_type unknowns = 0, terms = 0, nonzeros = 0;
  const std::int32_t* unknowns_of_terms = nullptr;  ///< unknown k of term e at k * terms + e
  /// Null if there is one term, of all unknowns in order: its gradient is the function's.
  const std::int32_t *gradient_offsets = nullptr, *gradient_positions = nullptr;
  /// Of the Hessian; null if not needed.
  const std::int32_t *row_offsets = nullptr, *columns = nullptr, *hessian_offsets = nullptr,
                     *hessian_positions = nullptr;

  /// Only the sizes, for one term of all unknowns.
  WHILST_HD static constexpr pattern_view of_one_term(index_type unknowns) {
    pattern_view made;
    made.unknowns = unknowns;
    made.terms = 1;
    made.nonzeros = unknowns * unknowns;
    return made;
  }
};

/// A pattern that all functions of a batch share: all terms have the same number of unknowns.
class shared_pattern {
 public:
  shared_pattern() = default;
  /// unknowns_of_terms: term after term, -1 for none; empty for one term of all unknowns. Throws whilst::error, whose
  /// message begins with `doing`, on indices out of range.
  shared_pattern(const char* doing, place where, index_type unknowns, int unknowns_a_term,
                 std::span<const std::int32_t> unknowns_of_terms, bool wants_hessian);
  const pattern_view& view() const { return view_; }

 private:
  pattern_view view_;
  buffer<std::int32_t> of_terms_, gradient_offsets_, gradient_positions_, row_offsets_, columns_, hessian_offsets_,
      hessian_positions_;
};

}  // namespace whilst::detail
