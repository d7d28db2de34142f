#include "kernels/problems/test_problems/test_systems.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include "kernels/problems/test_problems/parts.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

using namespace test_functions;

/// The sizes a problem supports besides its own: in words, and whether n is one.
template <class F>
std::string sizes_of() {
  if constexpr (std::is_same_v<F, bratu>) {
    return "any square number";
  } else if constexpr (is_sparse<F>) {
    return multiple_of<F>() == 1 ? "any number" : "any multiple of " + std::to_string(multiple_of<F>());
  } else {
    return {};
  }
}
template <class F>
bool fits(index_type n) {
  if (n < 1 || n > std::numeric_limits<std::int32_t>::max()) return false;
  if constexpr (std::is_same_v<F, bratu>) {
    return bratu(n).side * bratu(n).side == n;
  } else {
    return n % multiple_of<F>() == 0;
  }
}

template <class F>
test_system described(const F& problem, const known_root& root) {
  test_system made{.name = dashed(problem.name),
                   .title = problem.name,
                   .number = problem.number,
                   .n = problem.n,
                   .sizes = sizes_of<F>(),
                   .root = {},
                   .start = {}};
  for (std::size_t j = 0; j < static_cast<std::size_t>(problem.n); ++j) {
    if (!root.values.empty()) made.root.push_back(root.values[j % root.values.size()]);
    made.start.push_back(problem.start(static_cast<index_type>(j)));
  }
  return made;
}

}  // namespace

const std::vector<test_system>& test_systems() {
  static const std::vector<test_system> all = [] {
    std::vector<test_system> made;
    for_each_test_system(
        [&](const auto& problem, const known_root& root) { made.push_back(described(problem, root)); });
    return made;
  }();
  return all;
}

test_system find_test_system(std::string_view name, index_type n) {
  const std::string doing = "making the test system '" + std::string(name) + "'";
  std::optional<test_system> found;
  for_each_test_system([&]<class F>(const F& usual, const known_root& root) {
    if (dashed(usual.name) != name) return;
    if (n == 0 || n == usual.n) {
      found = described(usual, root);
      return;
    }
    if constexpr (is_sparse<F>) {
      if (fits<F>(n)) {
        found = described(F{n}, root);
        return;
      }
    }
    throw error(
        doing, "it cannot have " + std::to_string(n) + " unknowns",
        is_sparse<F> ? "Give " + sizes_of<F>() + " above 0 and below 2^31" : "It has " + std::to_string(usual.n));
  });
  if (!found) throw error(doing, "there is none of that name", "whilst equations --list has the names");
  return *found;
}

template <class T>
std::unique_ptr<equations<T>> make_test_system(place where, std::string_view name, index_type n) {
  const test_system wanted = find_test_system(name, n);
  made_system<T> made = make_system<T, true>(where, wanted.name, wanted.n);
  return made ? std::move(made) : make_system<T, false>(where, wanted.name, wanted.n);
}
template std::unique_ptr<equations<float>> make_test_system(place, std::string_view, index_type);
template std::unique_ptr<equations<double>> make_test_system(place, std::string_view, index_type);

}  // namespace whilst
