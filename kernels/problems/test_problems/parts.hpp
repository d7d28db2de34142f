#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernels/problems/test_functions/test_functions.hpp"
#include "whilst/nonlinear/functions/equations.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

/// What the sources in this folder share. They are separate files because each problem compiles to two kernels or more.
namespace whilst::test_functions {

/// "Linear, full rank" as "linear-full-rank".
inline std::string dashed(std::string_view title) {
  std::string name;
  for (const char c : title) {
    if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if (c != ',') {
      name += c == ' ' ? '-' : c;
    }
  }
  return name;
}

/// Whether residuals read only a few neighbours, so that any size is affordable.
template <class Problem>
constexpr bool is_sparse = requires {
  Problem::width;
};

/// A sparse problem's number of unknowns is a multiple of this: 1 if windows begin to the left of the first unknown,
/// otherwise the block size.
template <class Problem>
index_type multiple_of() {
  const Problem smallest{Problem::width};
  return smallest.first(0) < 0 ? 1 : Problem::width;
}

using made_problem = std::unique_ptr<objective<double>>;

/// The dense problems with least <= n <= most; null if none has that name and size.
template <int least, int most>
made_problem make_dense(place where, std::string_view name, index_type n);

/// The sparse ones, of any size they support; null if none has that name.
made_problem make_sparse(place where, std::string_view name, index_type n);

template <class T>
using made_system = std::unique_ptr<equations<T>>;

/// The systems of equations, sparse or dense, at a size they support; null if none has that name.
template <class T, bool sparse>
made_system<T> make_system(place where, std::string_view name, index_type n);

}  // namespace whilst::test_functions
