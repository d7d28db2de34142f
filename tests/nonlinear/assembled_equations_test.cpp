// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Assembled equations: F and its Jacobian against plain loops and differences, and what is refused.

#include "whilst/assembled_equations.hpp"

#include <algorithm>
#include <functional>

#include "kernels/problems/test_problems/test_systems.hpp"
#include "solvers/nonlinear/functions/gather_tables.hpp"
#include "tests/catch.hpp"
#include "tests/nonlinear/nonlinear_systems.hpp"
#include "tests/problems/published_systems.hpp"
#include "whilst/called_equations.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::index_type;
using whilst::place;

namespace {

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

/// F and J at x, as the steps on a place make them.
template <class T>
struct evaluated_system {
  std::vector<double> F;
  std::vector<std::vector<double>> J;  ///< dense

  evaluated_system(const std::string& executor, const whilst::equations<T>& system, const std::vector<T>& at) {
    const place where = system.where();
    const index_type n = system.unknowns();
    buffer<T> x(where, n);
    buffer<std::int32_t> wanted(where, 1);
    const std::int32_t yes = 1;
    x.upload(at.data());
    wanted.upload(&yes);
    whilst::program_recorder record(where);
    const whilst::gathered<T> pieces = system.evaluate(record, x.data());
    buffer<T> gathered_F(where, n);
    record.step("gather", n, gather{pieces, gathered_F.data()});
    const whilst::jacobian_view<T> view = system.jacobian();
    system.make_jacobian(record, x.data(), wanted.data());
    buffer<T> values(where, view.nonzeros);
    buffer<std::int32_t> offsets(where, n + 1), columns(where, view.nonzeros);
    record.step("copy the values", view.nonzeros, copy<T>{view.values, values.data()});
    record.step("copy the offsets", n + 1, copy<std::int32_t>{view.row_offsets, offsets.data()});
    record.step("copy the columns", view.nonzeros, copy<std::int32_t>{view.column_indices, columns.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = whilst::executor_from_name(executor)});
    program.enqueue(nullptr);
    program.wait();
    const auto size = static_cast<std::size_t>(n);
    std::vector<T> of_F(size), of_J(static_cast<std::size_t>(view.nonzeros));
    std::vector<std::int32_t> from(size + 1), column(of_J.size());
    gathered_F.download(of_F.data());
    values.download(of_J.data());
    offsets.download(from.data());
    columns.download(column.data());
    F.assign(of_F.begin(), of_F.end());
    J.assign(size, std::vector<double>(size, 0));
    for (std::size_t i = 0; i < size; ++i)
      for (auto k = static_cast<std::size_t>(from[i]); k < static_cast<std::size_t>(from[i + 1]); ++k) {
        if (k > static_cast<std::size_t>(from[i])) CHECK(column[k] > column[k - 1]);
        J[i][static_cast<std::size_t>(column[k])] = of_J[k];
      }
  }

  struct gather {
    whilst::gathered<T> pieces;
    T* target;
    WHILST_HD void operator()(index_type i) const { target[i] = pieces(i, pieces.entries(i)); }
  };
  template <class Value>
  struct copy {
    const Value* source;
    Value* target;
    WHILST_HD void operator()(index_type i) const { target[i] = source[i]; }
  };
};

/// r[0] = x[0]^2 - x[1], r[1] = x[0] x[1].
struct pair_block {
  static constexpr int unknowns = 2, equations = 2;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = x[0] * x[0] - x[1];
    r[1] = x[0] * x[1];
  }
};

using whilst::assembled_equations;
using indexes = std::vector<std::int32_t>;

}  // namespace

namespace {

/// Holds F and J, as a place makes them at x, against loops on the host and their differences.
template <class T, class Loops>
void check_against(const Loops& loops, const std::string& executor, const whilst::equations<T>& system,
                   const std::vector<T>& at) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  const std::vector<double> x(at.begin(), at.end()), F = loops(x);
  const evaluated_system<T> made(executor, system, at);
  double size = 1, slope = 1;  // of the numbers that are added up
  for (std::size_t i = 0; i < x.size(); ++i) {
    size = std::max(size, std::abs(F[i]));
    for (const double entry : made.J[i]) slope = std::max(slope, std::abs(entry));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Some ten operations on numbers no larger than some ten.
    REQUIRE(std::abs(made.F[i] - F[i]) <= 100 * epsilon * size);
    // Differences of second order are off by h^2 times third derivatives, and by the rounding of F over h.
    constexpr double h = 1e-6;
    std::vector<double> beside = x;
    beside[i] = x[i] + h;
    const std::vector<double> above = loops(beside);
    beside[i] = x[i] - h;
    const std::vector<double> below = loops(beside);
    for (std::size_t k = 0; k < x.size(); ++k)
      REQUIRE(std::abs(made.J[k][i] - (above[k] - below[k]) / (2 * h)) <= (1e-8 + 100 * epsilon) * slope);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("F and its Jacobian are those of plain loops", "[nonlinear][sanitizer]", float, double) {
  for (const std::string& executor : recording_executors()) {
    const place where = whilst::place_of_executor(executor);
    for (const auto& [what, n] :
         std::vector<std::pair<problem, index_type>>{{problem::by_hand, 2}, {problem::linear, 300}}) {
      INFO(executor << ", problem " << static_cast<int>(what) << ", " << n << " unknowns");
      check_against([what = what](const auto& x) { return residual_of(what, x); }, executor,
                    *make_system<TestType>(where, what, n), random_vector<TestType>(n, 5));
    }
    std::vector<std::pair<std::string, index_type>> bundled{
        {"bratu", 1}, {"broyden-banded", 1}, {"broyden-tridiagonal", 300}};
    for (const whilst::test_system& usual : whilst::test_systems()) bundled.emplace_back(usual.name, usual.n);
    for (const auto& [name, n] : bundled) {
      INFO(executor << ", " << name << ", " << n << " unknowns");
      // A bit off the start, where some derivatives vanish.
      std::vector<TestType> x = rounded<TestType>(whilst::find_test_system(name, n).start);
      for (std::size_t j = 0; j < x.size(); ++j) x[j] += TestType(0.01) * static_cast<TestType>(1 + j % 3);
      check_against([name = name](const auto& at) { return published_residual(name, at); }, executor,
                    *whilst::make_test_system<TestType>(where, name, n), x);
    }
  }
}

TEST_CASE("blocks share unknowns and equations, name one twice, or none", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    INFO(executor);
    assembled_equations<double> system(whilst::place_of_executor(executor), 3);
    // Unknown 0 twice, both outputs to equation 1; a 0 for the first input, the first output nowhere; another kind.
    system.add("pairs", pair_block{}, indexes{0, 0, -1, 2, 1, 2}, indexes{1, 1, -1, 0, 2, 1});
    system.add("more pairs", pair_block{}, indexes{2, 1}, indexes{0, 2});
    const std::vector<double> x{3, 5, 7};
    const evaluated_system<double> made(executor, system, x);
    // Block 1: 9 - 3 and 9; block 2: -7 and 0; block 3: 25 - 7 to 2, 35 to 1; block 4: 49 - 5 to 0, 35 to 2.
    CHECK((made.F == std::vector<double>{0 + 44, 6 + 9 + 35, 18 + 35}));
    CHECK((made.J[0] == std::vector<double>{0, -1, 14 + 0}));
    CHECK((made.J[1] == std::vector<double>{2 * 3 - 1 + 2 * 3, 7, 5}));
    CHECK((made.J[2] == std::vector<double>{0, 10 + 7, -1 + 5}));
  }
}

TEST_CASE("systems that make no sense are refused with the cure", "[nonlinear]") {
  const place host = place::host();
  CHECK_THAT(message_of([&] { assembled_equations<double>(host, 0); }), contains("0 unknowns"));
  const auto add = [&](const indexes& unknowns, const indexes& equations) {
    return message_of([&] {
      assembled_equations<double> system(host, 3);
      system.add("pairs", pair_block{}, unknowns, equations);
    });
  };
  CHECK(add({0, 1}, {2, 1}) == "no exception");
  CHECK_THAT(add({}, {}), contains("'pairs'") && contains("none"));
  CHECK_THAT(add({0, 1, 2}, {0, 1}), contains("3 indexes of unknowns") && contains("2 for each block"));
  CHECK_THAT(add({0, 1}, {0, 1, 2}), contains("3 indexes of equations"));
  CHECK_THAT(add({0, 1, 1, 2}, {0, 1}), contains("2 blocks") && contains("for 1"));
  CHECK_THAT(add({0, 1, 3, 2}, {0, 1, 1, 2}), contains("block 1 names unknown 3"));
  CHECK_THAT(add({0, 1}, {-2, 1}), contains("block 0 names equation -2"));
  CHECK_THAT(message_of([&] {
               assembled_equations<double> system(host, 3);
               system.add("pairs", pair_block{}, indexes{0, 1}, indexes{0, 2});
               whilst::nonlinear_solver<double> solver(system, {.executor = "host"});
             }),
             contains("equation 1"));
  // What reads matrices counts in pieces of 256 entries.
  constexpr std::size_t most = (std::size_t{1} << 31) - 1 - 256;
  const auto count = [](std::size_t number) {
    return message_of([&] { whilst::check_number(number, "solving equations", "they have", "entries"); });
  };
  CHECK(count(most) == "no exception");
  CHECK_THAT(count(most + 1), contains("they have " + std::to_string(most + 1) + " entries"));
  assembled_equations<double> in_use(host, 2);
  in_use.add("pairs", pair_block{}, indexes{0, 1}, indexes{0, 1});
  whilst::nonlinear_solver<double> solver(in_use, {.executor = "host"});
  CHECK_THAT(message_of([&] { in_use.add("more", pair_block{}, indexes{0, 1}, indexes{0, 1}); }), contains("in use"));
  CHECK_THAT(message_of([&] { whilst::called_equations<double>(host, 2, {}); }), contains("callback is empty"));
  CHECK_THAT(message_of([&] {
               whilst::called_equations<double>(host, 0,
                                                [](whilst::stream_handle, index_type, const double*, double*) {});
             }),
             contains("0 unknowns"));
}

}  // namespace whilst_test
