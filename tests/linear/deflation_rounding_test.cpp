#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

TEMPLATE_TEST_CASE("a deflated vector that A maps to rounding changes nothing", "[linear][deflation][sanitizer]", float,
                   double) {
  // Rows of a line without ends, whose entries cancel but for their rounding; and some that are larger than the rest.
  constexpr int n = 200;
  const double rtol = std::is_same_v<TestType, float> ? 1e-3 : 1e-8;
  for (const double jump : {1.0, 1e4}) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(0.1, 3);
    std::vector<TestType> w(n + 1);
    for (TestType& one : w) one = static_cast<TestType>(uniform(generator));
    for (std::size_t i = n / 2; i < n / 2 + 5; ++i) w[i] *= static_cast<TestType>(jump);
    triplets<TestType> t(n);
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const TestType left = i > 0 ? w[k] : 0, right = i < n - 1 ? w[k + 1] : 0;
      std::vector<std::pair<int, double>> entries{{i, static_cast<TestType>(left + right)}};
      if (i > 0) entries.insert(entries.begin(), {i - 1, -left});
      if (i < n - 1) entries.push_back({i + 1, -right});
      t.row(entries);
    }
    std::vector<TestType> b = random_vector<TestType>(n, 2);
    double mean = 0;
    for (const TestType one : b) mean += static_cast<double>(one) / n;
    for (TestType& one : b) one -= static_cast<TestType>(mean);
    for (const std::string& executor : executors_with_steps()) {
      for (const char* method : {"cg", "minres", "gmres"}) {
        INFO(executor << ", " << method << ", " << jump);
        linear_solver_options options{.method = method, .rtol = rtol, .max_iterations = 1000, .executor = executor};
        std::vector<TestType> x(n, 0), y = x;
        const report plain = linear_solver<TestType>(t.matrix(), options).solve(b, x);
        options.deflation = std::vector<double>(n, 1);
        const report deflated = linear_solver<TestType>(t.matrix(), options).solve(b, y);
        CHECK(deflated.reason() == plain.reason());
        CHECK(deflated.iterations() == plain.iterations());
        CHECK((y == x));
      }
    }
  }
}

}  // namespace whilst_test
