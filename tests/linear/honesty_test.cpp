// CI runs this in full
// Random linear systems, most of them bad: what a report claims must be true of x.

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test {

using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

constexpr int systems_of_each_type = under_sanitizers ? 2000 : 50000;

template <class T>
struct random_system {
  triplets<T> matrix;
  std::vector<T> b, x;
};

/// A power of ten, of which a half are 1.
double random_scale(std::mt19937& random, int decades) {
  if (random() % 2) return 1;
  return std::pow(10.0, std::uniform_real_distribution<double>(-decades, decades)(random));
}

/// 1 to 14 rows: definite, indefinite, unsymmetric, singular with empty rows and columns; b in the range of A or not;
/// x zero or not.
template <class T>
random_system<T> make_system(std::mt19937& random) {
  const int decades = sizeof(T) == 4 ? 30 : 300, n = 1 + static_cast<int>(random() % 14);
  const double of_A = random_scale(random, decades), of_b = random_scale(random, decades);
  const auto number = [&] { return (static_cast<int>(random() % 129) - 64) / 16.0; };
  random_system<T> made{triplets<T>(n), std::vector<T>(static_cast<std::size_t>(n)),
                        std::vector<T>(static_cast<std::size_t>(n), T(0))};
  const unsigned kind = random() % 4;
  const double diagonal = kind == 0 ? 2.5 : kind == 1 ? -2.5 : number();
  const int live = 1 + static_cast<int>(random() % static_cast<unsigned>(n));  // columns beyond stay empty
  for (int i = 0; i < n; ++i) {
    if (kind < 3) {  // symmetric, definite for the first two
      if (i > 0) made.matrix.columns.push_back(i - 1), made.matrix.values.push_back(static_cast<T>(-of_A));
      made.matrix.columns.push_back(i), made.matrix.values.push_back(static_cast<T>(diagonal * of_A));
      if (i + 1 < n) made.matrix.columns.push_back(i + 1), made.matrix.values.push_back(static_cast<T>(-of_A));
    } else {
      for (unsigned k = random() % 4; k > 0; --k) {
        made.matrix.columns.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(live)));
        made.matrix.values.push_back(static_cast<T>(number() * of_A));
      }
    }
    made.matrix.offsets.push_back(static_cast<std::int32_t>(made.matrix.columns.size()));
  }
  std::vector<double> y(static_cast<std::size_t>(n));
  for (double& value : y) value = number();
  const bool consistent = random() % 2;
  for (int i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    double sum = consistent ? 0 : number() * of_b;
    if (consistent)
      for (auto k = static_cast<std::size_t>(made.matrix.offsets[row]);
           k < static_cast<std::size_t>(made.matrix.offsets[row + 1]); ++k)
        sum += static_cast<double>(made.matrix.values[k]) / of_A * y[static_cast<std::size_t>(made.matrix.columns[k])] *
               of_b;
    made.b[row] = static_cast<T>(sum);
  }
  if (random() % 3 == 0)
    for (T& value : made.x) value = static_cast<T>(number() * (random() % 8 ? of_b / of_A : 1));
  for (std::vector<T>* v : {&made.b, &made.x})
    for (T& value : *v)
      if (!std::isfinite(value)) value = 1;
  for (T& value : made.matrix.values)
    if (!std::isfinite(value)) value = 1;
  return made;
}

/// The norms of b - A x, of b, and of what rounding in T may do to b - A x: in extended precision, whose exponents hold
/// the squares of all doubles.
struct norms {
  long double residual = 0, rhs = 0, rounding = 0;
};
template <class T>
norms measure(const random_system<T>& system, const std::vector<T>& x) {
  norms made;
  const long double epsilon = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::denorm_min();
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double r = system.b[i], size = std::abs(r), roundings = 1, b = r;
    for (auto k = static_cast<std::size_t>(system.matrix.offsets[i]);
         k < static_cast<std::size_t>(system.matrix.offsets[i + 1]); ++k) {
      const long double term =
          static_cast<long double>(system.matrix.values[k]) * x[static_cast<std::size_t>(system.matrix.columns[k])];
      r -= term;
      size += std::abs(term);
      roundings += 1;
    }
    const long double error = roundings * (epsilon * size + tiny);
    made.residual += r * r;
    made.rhs += b * b;
    made.rounding += error * error;
  }
  made.residual = std::sqrt(made.residual);
  made.rhs = std::sqrt(made.rhs);
  made.rounding = std::sqrt(made.rounding);
  return made;
}

}  // namespace

TEMPLATE_TEST_CASE("no random system is called solved that is not", "[honesty]", float, double) {
  std::mt19937 random(20261122);
  const double rtols[] = {0, 1e-300, 1e-14, 1e-8, 1e-4, 0.1, 0.9, 1, 10};
  const std::vector<std::string> methods = methods_on("host");
  int solved = 0, of_scale = 0;
  for (int k = 0; k < systems_of_each_type; ++k) {
    const random_system<TestType> system = make_system<TestType>(random);
    linear_solver_options options{.method = methods[random() % methods.size()],
                                  .preconditioner = random() % 2 ? "jacobi" : "none",
                                  .rtol = rtols[random() % 9],
                                  .max_iterations = random() % 8 ? 200 : static_cast<whilst::index_type>(random() % 4),
                                  .executor = "host"};
    if (random() % 4 == 0) options.atol = random_scale(random, 300);
    std::vector<TestType> x = system.x;
    const report r = linear_solver<TestType>(system.matrix.matrix(), options).solve(system.b, x);

    const norms before = measure(system, system.x), after = measure(system, x);
    bool finite = true;
    for (const TestType value : x) finite = finite && std::isfinite(value);
    // The norm itself is summed in double: some roundings more.
    const long double some = 1 + 64 * std::numeric_limits<double>::epsilon();
    const long double tolerance = std::max<long double>(options.rtol * after.rhs, options.atol);
    const bool true_claim = !r.converged() || after.residual <= tolerance * some + after.rounding;
    // At their limit these hand back the last iterate, whose error is less though its residual may be more.
    const bool lowers_error = options.method == "cg" || options.method == "flexible-cg";
    const bool may_rise = lowers_error && r.reason() == whilst::reason::iteration_limit;
    const bool no_worse = may_rise || after.residual <= before.residual * some + before.rounding + after.rounding;
    if (!finite || !true_claim || !no_worse) {
      INFO("system " << k << ", " << x.size() << " rows, " << options.method << ", " << options.preconditioner
                     << ", rtol " << options.rtol << ", atol " << options.atol << ": " << r.message());
      INFO("true residual " << static_cast<double>(after.residual) << " of " << static_cast<double>(after.rhs)
                            << ", before " << static_cast<double>(before.residual) << ", rounding "
                            << static_cast<double>(after.rounding));
      CHECK(finite);
      CHECK(true_claim);
      CHECK(no_worse);
    }
    solved += r.converged();
    of_scale += r.converged() && (after.rhs < 1e-20L || after.rhs > 1e20L);
  }
  // It would be easy never to claim anything.
  CHECK(solved > systems_of_each_type / 4);
  CHECK(of_scale > systems_of_each_type / 20);
}

}  // namespace whilst_test
