#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernels/problems/test_functions/test_functions.hpp"
#include "whilst/nonlinear/functions/equations.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

/// What the sources in this folder give each other. They are several because each problem is two kernels or more.
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

/// Whether residuals read a few neighbours only, so that any size is affordable.
template <class Problem>
constexpr bool is_sparse = requires {
  Problem::width;
};

/// A sparse problem's unknowns are a multiple of this: windows begin to the left of the first unknown, the others are
/// blocks.
template <class Problem>
index_type multiple_of() {
  const Problem smallest{Problem::width};
  return smallest.first(0) < 0 ? 1 : Problem::width;
}

using made_problem = std::unique_ptr<objective<double>>;

/// Those dense problems of which least <= n <= most; null where none has that name and size.
template <int least, int most>
made_problem make_dense(place where, std::string_view name, index_type n);

/// The sparse ones, of any size that they can have; null where none has that name.
made_problem make_sparse(place where, std::string_view name, index_type n);

template <class T>
using made_system = std::unique_ptr<equations<T>>;

/// The sparse systems of equations, or those that are not, at a size that they can have; null where none has that name.
template <class T, bool sparse>
made_system<T> make_system(place where, std::string_view name, index_type n);

}  // namespace whilst::test_functions
