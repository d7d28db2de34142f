#include "kernels/problems/test_problems/test_problems.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/problems/test_problems/parts.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

using namespace test_functions;

template <class Problem>
test_problem described(const Problem& problem, index_type n, const published_minima& minima) {
  test_problem made{.name = dashed(problem.name),
                    .title = problem.name,
                    .number = problem.number,
                    .n = n,
                    .residuals = problem.count(),
                    .minima = minima,
                    .start = {}};
  if constexpr (is_sparse<Problem>) made.multiple = multiple_of<Problem>();
  for (index_type j = 0; j < n; ++j) made.start.push_back(problem.start(j));
  return made;
}

template <class... F>
void describe_again(test_problem& problem, index_type n) {
  ((problem.title == F::name ? void(problem = described(F{n}, n, published_minima(problem.minima))) : void()), ...);
}

/// A sparse problem, resized.
test_problem resized(test_problem problem, index_type n, const std::string& doing) {
  if (n < 1 || n % problem.multiple != 0 || n > std::numeric_limits<std::int32_t>::max())
    throw error(doing, "it cannot have " + std::to_string(n) + " unknowns",
                "Give a multiple of " + std::to_string(problem.multiple) + " above 0 and below 2^31");
  describe_again<extended_rosenbrock, extended_powell_singular, discrete_boundary_value, broyden_tridiagonal,
                 broyden_banded>(problem, n);
  return problem;
}

}  // namespace

const std::vector<test_problem>& test_problems() {
  static const std::vector<test_problem> all = [] {
    std::vector<test_problem> made;
    for_each_test_function([&]<class F, int N>(const problem_of_size<F, N>& problem, const published_minima& minima) {
      made.push_back(described<F>(problem, N, minima));
    });
    return made;
  }();
  return all;
}

test_problem find_test_problem(std::string_view name, index_type n) {
  const std::string doing = "making the test problem '" + std::string(name) + "'";
  std::string sizes;
  for (const test_problem& known : test_problems()) {
    if (known.name != name) continue;
    if (n == 0 || n == known.n) return known;
    if (known.multiple > 0) return resized(known, n, doing);
    sizes += (sizes.empty() ? "" : " or ") + std::to_string(known.n);
  }
  if (sizes.empty()) throw error(doing, "there is none of that name", "whilst minimize --list has the names");
  throw error(doing, "it cannot have " + std::to_string(n) + " unknowns", "It has " + sizes);
}

bool is_published_minimum(double f, const published_minima& minima) {
  const auto is = [f](double published) {
    return std::abs(f - published) <= 1e-8 * std::max(1.0, published) + 1e-5 * published;
  };
  return is(minima.global) || std::any_of(minima.local.begin(), minima.local.end(), is);
}

made_problem make_test_problem(place where, std::string_view name, index_type n) {
  const test_problem wanted = find_test_problem(name, n);
  made_problem made = make_sparse(where, wanted.name, wanted.n);
  if (!made) made = make_dense<2, 3>(where, wanted.name, wanted.n);
  if (!made) made = make_dense<4, 6>(where, wanted.name, wanted.n);
  if (!made) made = make_dense<8, 9>(where, wanted.name, wanted.n);
  if (!made) made = make_dense<10, 12>(where, wanted.name, wanted.n);
  return made;
}

}  // namespace whilst
