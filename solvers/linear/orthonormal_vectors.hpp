#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// How messages name vectors that options give: "null_space_vectors", "null space vector".
struct names_of_vectors {
  std::string_view option, one;
};

/// Orthonormal vectors with the span of those given, n entries each, one after another: in double, on the host. Throws
/// whilst::error on vectors of another length, more than 64 or n of them, entries that are not finite, a zero vector,
/// and vectors that depend on those before them.
std::vector<double> orthonormal_vectors(std::string_view doing, const names_of_vectors& names,
                                        std::span<const double> given, index_type n);

}  // namespace whilst
