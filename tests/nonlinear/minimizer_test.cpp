// Every method of minimization on functions whose minima are known, and what a minimizer promises of limits and
// histories.

#include "whilst/minimizer.hpp"

#include <Eigen/SparseCholesky>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"

namespace whilst_test {

using whilst::descent_record;
using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;

namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// A tolerance of the gradient that every method reaches on springs, though values are the means: where they stop
/// telling points apart, at a relative difference of some epsilon, the gradient is the square root of that times f's
/// size and curvature.
template <class T>
constexpr double reachable = sizeof(T) == 4 ? 1e-2 : 1e-5;

double norm(const std::vector<double>& v) { return to_eigen(v).norm(); }

/// What must hold of every report, whatever became of the minimization.
template <class T>
void check_report(const minimize_report& r, const minimizer_options& options) {
  CHECK(r.reason() != reason::running);
  CHECK(r.executor() == options.executor);
  CHECK(r.method() == options.method);
  CHECK(r.precision() == (sizeof(T) == 4 ? "float" : "double"));
  CHECK(r.message().find("f = ") != std::string::npos);
  CHECK(r.evaluations <= (options.max_evaluations ? options.max_evaluations : 20 * options.max_iterations + 20));
  CHECK(r.iterations() <= options.max_iterations);
  REQUIRE(r.records.size() == r.history().size());
  // The values of one step to the next may rise by their rounding; by a millionth with approximate-wolfe, which says
  // so.
  const double slack = options.line_search == "approximate-wolfe" ? 1e-6 : 4 * epsilon<T>;
  for (std::size_t k = 0; k < r.records.size(); ++k) {
    const descent_record& now = r.records[k];
    CHECK(now.iteration == r.history()[k].iteration);
    CHECK(now.gradient_norm == r.history()[k].residual_norm);
    if (k == 0) continue;
    const descent_record& before = r.records[k - 1];
    CHECK(now.iteration > before.iteration);
    CHECK(now.evaluations > before.evaluations);
    CHECK(now.inner_iterations >= before.inner_iterations);
    CHECK(now.step_length > 0);
    const auto steps = static_cast<double>(now.iteration - before.iteration);
    CHECK(now.value <= before.value + steps * slack * std::abs(before.value));
  }
}

template <class T, class Make>
minimize_report minimized(const Make& make, const minimizer_options& options, std::vector<T>& x) {
  const minimize_report r = own_minimizer<T>(make, options).solve(x);
  check_report<T>(r, options);
  return r;
}

struct executor_and_size {
  std::string executor;
  index_type n;
};
std::vector<executor_and_size> executors_and_sizes(const std::vector<index_type>& sizes) {
  std::vector<executor_and_size> all;
  for (const std::string& executor : recorded_executors())
    for (const index_type n : sizes) all.push_back({executor, n});
  return all;
}

template <class T>
auto rosenbrock(index_type n) {
  return [n](whilst::place where) { return make_rosenbrock<T>(where, n); };
}
template <class T>
auto springs(index_type n) {
  return [n](whilst::place where) { return make_spring_line<T>(where, n); };
}

}  // namespace

TEMPLATE_TEST_CASE("two springs by hand", "[minimizer][sanitizer][race]", float, double) {
  // A = [1.5 -1; -1 2.5], b = [-5 -1]: x = A^-1 b = [-54 -26] / 11, f = -b'x / 2 = -148 / 11.
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      INFO(executor << ", " << method);
      std::vector<TestType> x{3, -2};
      const minimize_report r =
          minimized(springs<TestType>(2),
                    {.method = method, .tolerances = {.gradient = reachable<TestType>}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_gradient);
      // The error of x is no more than ||A^-1|| ||g||, where the least eigenvalue of A is 0.88, and that of f goes with
      // its square; and both have their own rounding.
      CHECK(std::abs(x[0] + 54 / 11.0) <= 1.2 * reachable<TestType>);
      CHECK(std::abs(x[1] + 26 / 11.0) <= 1.2 * reachable<TestType>);
      CHECK(r.value == Approx(-148 / 11.0).epsilon(10 * epsilon<TestType> + 0.1 * std::pow(reachable<TestType>, 2)));
      // At the start g = A x - b = [11.5 -7].
      CHECK(r.rhs_norm() == Approx(std::hypot(11.5, 7)).epsilon(10 * epsilon<TestType>));
      CHECK(r.rows() == 2);
      if (method == "newton") CHECK(r.iterations() <= (sizeof(TestType) == 4 ? 2 : 1));
    }
  }
}

// For a race detector: each block of a grid judges the point, chooses the direction and goes on with it by itself.
TEST_CASE("lbfgs on some blocks takes the steps that it takes on the host", "[minimizer][race]") {
  constexpr index_type n = 3000;
  static_assert(n > whilst::largest_cluster * whilst::threads_spread, "one cluster would finish by itself");
  const auto steps = [](const std::string& executor, std::vector<double>& x) {
    return minimized(springs<double>(n), {.max_iterations = 3, .executor = executor}, x);
  };
  std::vector<double> expected(n, 0);
  const minimize_report on_host = steps("host", expected);
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    std::vector<double> x(n, 0);
    const minimize_report r = steps(executor, x);
    CHECK(r.reason() == reason::iteration_limit);
    CHECK(r.iterations() == 3);
    CHECK(r.evaluations == on_host.evaluations);
    // Sums in another order differ by n epsilon of their terms' sizes at most; three steps magnify that, by far less
    // than 100.
    constexpr double rounding = 100 * n * epsilon<double>;
    CHECK((to_eigen(x) - to_eigen(expected)).norm() <= rounding * to_eigen(expected).norm());
    CHECK(std::abs(r.value - on_host.value) <= rounding * std::abs(on_host.value));
    CHECK(std::abs(r.residual_norm() - on_host.residual_norm()) <= rounding * on_host.rhs_norm());
  }
}

TEMPLATE_TEST_CASE("a line of springs comes to rest where Cholesky says", "[minimizer]", float, double) {
  constexpr int n = 1000;
  const Eigen::SparseMatrix<double> A = spring_line::matrix(n);
  const Eigen::VectorXd b = spring_line::right_hand_side(n);
  const Eigen::VectorXd exact = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(A).solve(b);
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      // Dense: n^2 numbers a step, n^3 for newton. Their turn is below.
      if (method == "bfgs" || method == "newton") continue;
      INFO(executor << ", " << method);
      std::vector<TestType> x(n, 0);
      constexpr double tolerance = reachable<TestType>;
      const minimize_report r = minimized(
          springs<TestType>(n), {.method = method, .tolerances = {.gradient = tolerance}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_gradient);
      // The least eigenvalue of A is that of the ties at least, 1/2.
      CHECK((to_eigen(x) - exact).norm() <= 2 * (tolerance + n * epsilon<TestType>));
      CHECK(r.value == Approx(-0.5 * b.dot(exact)).epsilon(10 * epsilon<TestType> + tolerance * tolerance));
      CHECK(r.rhs_norm() == Approx(b.norm()));
      const double recomputed = (A * to_eigen(x) - b).norm();
      CHECK(std::abs(recomputed - r.residual_norm()) <= n * epsilon<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("dense methods on a line of springs longer than a warp", "[minimizer]", float, double) {
  constexpr int n = 70;
  const Eigen::SparseMatrix<double> A = spring_line::matrix(n);
  const Eigen::VectorXd exact =
      Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(A).solve(spring_line::right_hand_side(n));
  for (const std::string& executor : recorded_executors()) {
    for (const char* method : {"bfgs", "newton"}) {
      INFO(executor << ", " << method);
      std::vector<TestType> x(n, 0);
      constexpr double tolerance = reachable<TestType>;
      const minimize_report r = minimized(
          springs<TestType>(n), {.method = method, .tolerances = {.gradient = tolerance}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK((to_eigen(x) - exact).norm() <= 2 * (tolerance + n * epsilon<TestType>));
      if (method == std::string("newton")) CHECK(r.iterations() <= 3);
    }
  }
}

TEMPLATE_TEST_CASE("every method and line search on Rosenbrock's function", "[minimizer]", float, double) {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      for (const std::string& search : all_searches) {
        INFO(executor << ", " << method << ", " << search);
        std::vector<TestType> x = rosenbrock_start<TestType>(2);
        // Conjugate gradients ask for lengths that a search which only knows shorter ones does not find.
        if (search == "backtracking" && method.starts_with("conjugate")) continue;
        // g has the rounding of 400 x (x[1] - x[0]^2); steepest descent creeps.
        const double tolerance = sizeof(TestType) == 4 ? 2e-3 : method == "gradient-descent" ? 1e-3 : 1e-8;
        const minimize_report r = minimized(
            rosenbrock<TestType>(2),
            {.method = method, .line_search = search, .tolerances = {.gradient = tolerance}, .executor = executor}, x);
        CHECK(r.reason() == reason::converged_gradient);
        // The least eigenvalue of the Hessian at [1 1] is 0.3994.
        for (const TestType value : x) CHECK(std::abs(value - 1) <= 4 * tolerance);
        const std::vector<double> there(x.begin(), x.end());
        CHECK(std::abs(norm(rosenbrock_gradient(there)) - r.residual_norm()) <= 2000 * epsilon<TestType>);
        CHECK(r.rhs_norm() == Approx(norm(rosenbrock_gradient({-1.2, 1}))));
        CHECK(r.records.front().value == Approx(24.2));
        if (r.iterations() < 512) CHECK(r.evaluations == r.records.back().evaluations);  // else thinned
      }
    }
  }
}

TEMPLATE_TEST_CASE("thousands of Rosenbrock's functions at once", "[minimizer]", float, double) {
  constexpr index_type n = 10'000;
  for (const std::string& executor : recorded_executors()) {
    for (const std::string method : {"lbfgs", "newton-cg", "conjugate-gradient-hz"}) {
      INFO(executor << ", " << method);
      std::vector<TestType> x = rosenbrock_start<TestType>(n);
      const double tolerance = sizeof(TestType) == 4 ? 5e-2 : 1e-6;
      const minimize_report r = minimized(
          rosenbrock<TestType>(n), {.method = method, .tolerances = {.gradient = tolerance}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(r.records.front().value == Approx(24.2 * n / 2));
      for (const TestType value : x) REQUIRE(std::abs(value - 1) <= 4 * tolerance);
      const std::vector<double> there(x.begin(), x.end());
      CHECK(std::abs(norm(rosenbrock_gradient(there)) - r.residual_norm()) <= 100 * 2000 * epsilon<TestType>);
      if (method == "newton-cg") CHECK(r.inner_iterations >= r.iterations());
    }
  }
}

TEST_CASE("every method on problems of the literature", "[minimizer]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& name : bundled_names) {
      for (const std::string& method : all_methods) {
        for (const std::string& search : all_searches) {
          if (search != "strong-wolfe" && name != "wood") continue;
          if (search == "backtracking" && method.starts_with("conjugate")) continue;
          INFO(executor << ", " << name << ", " << method << ", " << search);
          const bundled_function problem = make_bundled(whilst::place_of_executor(executor), name);
          // Past Wood's saddle, where f is 7.88, and to Powell's singular minimum steepest descent takes many
          // thousands.
          const bool steepest = method == "gradient-descent";
          const bool creeps = steepest && (name == "wood" || name == "powell_singular");
          const double tolerance = steepest ? 1e-3 : 1e-6;
          const minimizer_options options{.method = method,
                                          .line_search = search,
                                          .tolerances = {.gradient = tolerance},
                                          .max_iterations = creeps ? 300 : 10'000,
                                          .executor = executor};
          whilst::minimizer<double> minimizer(*problem.f, options);
          std::vector<double> x = problem.start;
          const minimize_report r = minimizer.solve(x);
          check_report<double>(r, options);
          if (creeps) {
            CHECK(r.value <= 8);
            continue;
          }
          CHECK(r.converged());
          // The paper's six digits; and of values the gradient's square, since no curvature is below 0.1 but in
          // Powell's function, where the value is as the power 4/3 of the gradient.
          CHECK(r.value == Approx(problem.least).epsilon(1e-5).margin(10 * std::pow(tolerance, 4.0 / 3)));
        }
      }
    }
  }
}

TEST_CASE("a warm start at the minimum takes no step", "[minimizer]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      INFO(executor << ", " << method);
      std::vector<double> x(10, 1);
      const minimize_report r =
          minimized(rosenbrock<double>(10), {.method = method, .tolerances = {.gradient = 0}, .executor = executor}, x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(r.iterations() == 0);
      CHECK(r.evaluations == 1);
      CHECK(r.value == 0);
      CHECK((x == std::vector<double>(10, 1)));
    }
  }
}

TEST_CASE("limits are respected exactly", "[minimizer]") {
  constexpr index_type n = 20;
  const std::vector<double> start = rosenbrock_start<double>(n);
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      minimizer_options options{.method = method, .max_iterations = 50, .executor = executor};
      own_minimizer<double> unlimited(rosenbrock<double>(n), options);
      std::vector<double> x = start;
      const minimize_report whole = unlimited.solve(x);
      REQUIRE(whole.iterations() > 7);
      for (const index_type limit : {0, 1, 2, 7}) {
        INFO(executor << ", " << method << ", " << limit << " iterations at most");
        unlimited.by.set_max_iterations(limit);
        x = start;
        const minimize_report r = unlimited.solve(x);
        CHECK(r.reason() == reason::iteration_limit);
        CHECK(r.iterations() == limit);
        if (limit == 0) {
          CHECK((x == start));
        } else {
          CHECK(r.value == whole.records[static_cast<std::size_t>(limit)].value);
          // Differences of squares lose digits, and not the same ones everywhere.
          CHECK(rosenbrock_value(x) == Approx(r.value).epsilon(1e-10));
        }
      }
      for (const index_type limit : {1, 2, 3, 5, 11}) {
        INFO(executor << ", " << method << ", " << limit << " evaluations at most");
        options.max_evaluations = limit;
        x = start;
        const minimize_report r = minimized(rosenbrock<double>(n), options, x);
        CHECK(r.reason() == reason::iteration_limit);
        CHECK(r.evaluations == limit);
        // The best of the points that were accepted, the last one included.
        std::size_t last = 0;
        while (last + 1 < whole.records.size() && whole.records[last + 1].evaluations <= limit) ++last;
        CHECK(r.value == whole.records[last].value);
        CHECK(r.iterations() == whole.records[last].iteration);
        CHECK(rosenbrock_value(x) == Approx(r.value).epsilon(1e-10));
        CHECK(norm(rosenbrock_gradient(x)) == Approx(r.residual_norm()).epsilon(1e-10));
      }
    }
  }
}

TEST_CASE("a history too small for all is thinned", "[minimizer]") {
  for (const auto& [executor, n] : executors_and_sizes({2, 5000})) {
    std::vector<double> x = rosenbrock_start<double>(n);
    const minimize_report whole = minimized(rosenbrock<double>(n), {.executor = executor, .history_capacity = 512}, x);
    REQUIRE(whole.records.size() == static_cast<std::size_t>(whole.iterations() + 1));
    for (const index_type capacity : {0, 2, 8, 20}) {
      INFO(executor << ", n = " << n << ", capacity " << capacity);
      x = rosenbrock_start<double>(n);
      const minimize_report r =
          minimized(rosenbrock<double>(n), {.executor = executor, .history_capacity = capacity}, x);
      CHECK(r.iterations() == whole.iterations());
      CHECK(r.records.size() <= static_cast<std::size_t>(capacity));
      CHECK(r.records.size() >= static_cast<std::size_t>(capacity / 2));
      for (const descent_record& one : r.records) {
        const descent_record& same = whole.records[static_cast<std::size_t>(one.iteration)];
        CHECK(one.value == same.value);
        CHECK(one.gradient_norm == same.gradient_norm);
        CHECK(one.step_length == same.step_length);
        CHECK(one.evaluations == same.evaluations);
      }
    }
  }
}

TEST_CASE("each tolerance ends a minimization by itself", "[minimizer]") {
  for (const std::string& executor : recorded_executors()) {
    own_minimizer<double> rosenbrock_10(rosenbrock<double>(10), {.executor = executor});
    const auto solve = [&](const whilst::descent_tolerances& tolerances) {
      rosenbrock_10.by.set_tolerances(tolerances);
      std::vector<double> x = rosenbrock_start<double>(10);
      return rosenbrock_10.solve(x);
    };
    INFO(executor);
    const minimize_report loose = solve({.gradient = 1}), tight = solve({.gradient = 1e-9});
    CHECK(loose.residual_norm() <= 1);
    CHECK(loose.residual_norm() > 1e-9);
    CHECK(tight.residual_norm() <= 1e-9);
    CHECK(tight.iterations() > loose.iterations());
    const minimize_report relative = solve({.gradient = 0, .relative_gradient = 1e-3});
    CHECK(relative.reason() == reason::converged_gradient);
    CHECK(relative.residual_norm() <= 1e-3 * relative.rhs_norm());
    CHECK(relative.records[relative.records.size() - 2].gradient_norm > 1e-3 * relative.rhs_norm());
    const minimize_report step = solve({.gradient = 0, .step = 1e-3});
    CHECK(step.reason() == reason::converged_step);
    // ||x|| is about that of the minimum, sqrt(10).
    CHECK(step.records.back().step_length <= 1e-3 * 3.5);
    const minimize_report value = solve({.gradient = 0, .function = 0.05});
    CHECK(value.reason() == reason::converged_function);
    CHECK(value.records[value.records.size() - 2].value - value.value <= 0.05 * value.value);
    // And back: nothing of one solve is left in the next.
    CHECK(solve({.gradient = 1}).value == loose.value);
  }
}

TEST_CASE("the same launch gives the same bits, however it is run", "[minimizer]") {
  struct solved {
    std::string method;
    index_type n;
  };
  std::vector<solved> all;
  for (const std::string& method : all_methods) all.push_back({method, 300});
  for (const std::string method : {"lbfgs", "conjugate-gradient-hz"}) all.push_back({method, 9001});
  for (const auto& [method, n] : all) {
    std::vector<std::vector<double>> on_gpu;
    std::vector<minimize_report> reports;
    for (const std::string& executor : recorded_executors()) {
      for (const int unroll : executor == "graph" ? std::vector<int>{1, 2, 5, 16} : std::vector<int>{1}) {
        INFO(method << ", " << executor << ", n = " << n << ", " << unroll << " a trip");
        own_minimizer<double> again(springs<double>(n),
                                    {.method = method, .max_iterations = 25, .executor = executor, .unroll = unroll});
        const auto entries = static_cast<std::size_t>(n);
        std::vector<double> x(entries, 0), y(entries, 0), other(entries, 7);
        const minimize_report first = again.solve(x);
        again.solve(other);
        const minimize_report second = again.solve(y);
        CHECK((x == y));
        CHECK(first.value == second.value);
        CHECK(first.evaluations == second.evaluations);
        if (executor == "host") continue;
        on_gpu.push_back(x);
        reports.push_back(first);
        CHECK((x == on_gpu.front()));
        CHECK(first.evaluations == reports.front().evaluations);
        CHECK(first.iterations() == reports.front().iterations());
        REQUIRE(first.records.size() == reports.front().records.size());
        for (std::size_t k = 0; k < first.records.size(); ++k) {
          CHECK(first.records[k].value == reports.front().records[k].value);
          CHECK(first.records[k].gradient_norm == reports.front().records[k].gradient_norm);
          CHECK(first.records[k].step_length == reports.front().records[k].step_length);
        }
      }
    }
  }
}

}  // namespace whilst_test
