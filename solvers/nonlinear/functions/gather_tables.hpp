#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/operators.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// Where pieces go: sorted by owner, and in their original order within it.
struct incidence {
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> positions;

  /// owner[k] of piece k, below `owners`; negative for none.
  incidence(const std::vector<std::int64_t>& owner, index_type owners) : offsets(static_cast<std::size_t>(owners) + 1) {
    for (const std::int64_t to : owner)
      if (to >= 0) ++offsets[static_cast<std::size_t>(to) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    positions.resize(static_cast<std::size_t>(offsets.back()));
    std::vector<std::int32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t k = 0; k < owner.size(); ++k)
      if (owner[k] >= 0)
        positions[static_cast<std::size_t>(next[static_cast<std::size_t>(owner[k])]++)] = static_cast<std::int32_t>(k);
  }
};

/// Throws whilst::error on more pieces or entries than 32-bit offsets can address; `has` and `of` frame the number in
/// the message: "it has" and "entries of the Hessian".
inline void check_number(std::size_t number, std::string_view doing, const std::string& has, const std::string& of) {
  if (!offsets_suffice_32(static_cast<index_type>(number)))
    throw error(doing, has + " " + std::to_string(number) + " " + of,
                "Make it smaller: fewer than 2^31 - 256 can be told apart");
}

/// Indices, given element after element, rearranged in the order in which neighbouring elements read them.
inline std::vector<std::int32_t> by_input(const std::vector<std::int32_t>& of_elements, std::size_t elements) {
  const std::size_t an_element = of_elements.size() / elements;
  std::vector<std::int32_t> turned(of_elements.size());
  for (std::size_t e = 0; e < elements; ++e)
    for (std::size_t k = 0; k < an_element; ++k) turned[k * elements + e] = of_elements[e * an_element + k];
  return turned;
}

/// Gathers the entries of a sparse matrix, if *wanted is not 0.
template <class T>
struct gather_entries {
  gathered<T> pieces;
  T* values;
  const int* wanted;
  WHILST_HD void operator()(index_type k) const {
    if (*wanted) values[k] = pieces(k, pieces.entries(k));
  }
};

template <class Value>
buffer<Value> copied(place where, const std::vector<Value>& values) {
  buffer<Value> made(where, static_cast<index_type>(values.size()));
  if (!values.empty()) made.upload(values.data());
  return made;
}

/// The tables of a gathered vector, and memory for its pieces, on the place.
template <class T>
struct gather_tables {
  buffer<std::int32_t> offsets;
  buffer<std::int32_t> positions;
  buffer<T> pieces;

  gather_tables() = default;
  gather_tables(place where, const incidence& order, std::size_t number_of_pieces)
      : offsets(copied(where, order.offsets)),
        positions(copied(where, order.positions)),
        pieces(where, static_cast<index_type>(number_of_pieces)) {}
  gathered<T> view() const { return {pieces.data(), offsets.data(), positions.data()}; }
};

}  // namespace whilst
