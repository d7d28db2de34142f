#include "kernels/problems/test_problems/cutest_problems.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "whilst/basics/error.hpp"

namespace whilst {

namespace test_functions {

// In cutest_*.cpp.
void describe_bordered(std::vector<cutest_problem>& into);
void describe_chained(std::vector<cutest_problem>& into);
void describe_scattered(std::vector<cutest_problem>& into);
void describe_summed_squares(std::vector<cutest_problem>& into);
void describe_wavy(std::vector<cutest_problem>& into);

}  // namespace test_functions

index_type cutest_problem::size_from(index_type n) const {
  return n <= least ? least : (n + multiple - 1) / multiple * multiple;
}

const std::vector<cutest_problem>& cutest_problems() {
  static const std::vector<cutest_problem> all = [] {
    std::vector<cutest_problem> made;
    test_functions::describe_bordered(made);
    test_functions::describe_chained(made);
    test_functions::describe_scattered(made);
    test_functions::describe_summed_squares(made);
    test_functions::describe_wavy(made);
    std::sort(made.begin(), made.end(), [](const cutest_problem& one, const cutest_problem& other) {
      return std::string_view(one.name) < other.name;
    });
    return made;
  }();
  return all;
}

const cutest_problem& find_cutest_problem(std::string_view name) {
  const auto same = [](char one, char other) { return one == std::toupper(static_cast<unsigned char>(other)); };
  for (const cutest_problem& known : cutest_problems()) {
    const std::string_view its = known.name;
    if (std::equal(its.begin(), its.end(), name.begin(), name.end(), same)) return known;
  }
  throw error("finding the problem '" + std::string(name) + "'", "there is none of that name",
              "whilst-bench cutest --help has the names");
}

}  // namespace whilst
