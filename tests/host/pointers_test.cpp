// compiled by nvcc where CUDA is on
// What is given by pointer, and what was moved from: a mistake is told, and harms nobody else.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <memory>
#include <utility>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"
#include "tests/nonlinear/minimizer_batch_problems.hpp"
#include "whilst/called_equations.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/least_squares_batch.hpp"
#include "whilst/nonlinear_solver.hpp"
#include "whilst/rebindable.hpp"
#include "whilst/template_door.hpp"

namespace whilst_test {

using whilst::batch_linear_solver;
using whilst::buffer;
using whilst::control;
using whilst::csr_matrix;
using whilst::linear_solver;
using whilst::place;
using whilst::program_recorder;

namespace {

place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

csr_matrix<double> line(index_type n) { return whilst::make_gallery<double>("poisson1d:" + std::to_string(n)).matrix; }

/// Whether a solver is as good as before: twice the tolerance that it was asked for.
template <class Solver>
void check_solves(Solver& solver, const csr_matrix<double>& A) {
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  std::vector<double> x(b.size(), 0);
  CHECK(solver.solve(b, x).converged());
  CHECK(relative_residual(A, b, x) <= 2e-8);
}

struct add_one {
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] += 1; }
};
struct twice {
  index_type n;
  WHILST_HD index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return 1; }
  template <class Team>
  WHILST_HD double row(index_type i, const double* x, const Team&) const {
    return 2 * x[i];
  }
};
/// x - 3, a residual for each problem.
struct off_by_three {
  static constexpr int unknowns = 1;
  WHILST_HD index_type count() const { return 1; }
  WHILST_HD off_by_three of_problem(index_type) const { return {}; }
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    return x[0] - 3.0;
  }
};
using fits = whilst::least_squares_batch<double, off_by_three>;
using minimizations = whilst::minimizer_batch<double, all_alike<rosenbrock_pair>>;
fits make_fits(const std::string& executor) {
  return fits([](place) { return off_by_three{}; }, 3, {.executor = executor});
}
minimizations make_minimizations(const std::string& executor) {
  return minimizations([](place) { return all_alike<rosenbrock_pair>{}; }, 3, {.executor = executor});
}
whilst::partially_separable<double> one_valley(place where) {
  whilst::partially_separable<double> f(where, 2);
  f.add("valley", rosenbrock_pair{}, std::vector<std::int32_t>{0, 1});
  return f;
}

}  // namespace

TEST_CASE("null pointers are refused by solvers of linear systems, which go on", "[pointers]") {
  const auto A = line(50);
  for (const std::string& executor : executors()) {
    INFO(executor);
    buffer<double> v(place_of(executor), 50);
    for (const bool looks : {true, false}) {
      linear_solver<double> solver(A, {.executor = executor, .check_pointers = looks});
      CHECK_THROWS_WITH(solver.enqueue(nullptr, nullptr, v.data()),
                        contains("enqueueing a solve: b is null. Give memory"));
      CHECK_THROWS_WITH(solver.enqueue(nullptr, v.data(), nullptr), contains("enqueueing a solve: x is null"));
      CHECK_THROWS_WITH(solver.bind_values(nullptr), contains("binding a matrix's values: the pointer is null"));
      check_solves(solver, A);
    }
    auto by_operator = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
        twice{50}, whilst::identity_preconditioner{}, {.executor = executor});
    CHECK_THROWS_WITH(by_operator.enqueue(nullptr, v.data(), nullptr), contains("x is null"));
  }
}

TEST_CASE("null pointers are refused by batches", "[pointers]") {
  const auto A = line(5);
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    buffer<double> v(place_of(executor), 3 * A.nonzeros());
    batch_linear_solver<double> solver(A, 3, {.executor = executor});
    CHECK_THROWS_WITH(solver.enqueue(nullptr, nullptr, v.data(), v.data()), contains("the pointer is null"));
    CHECK_THROWS_WITH(solver.enqueue(nullptr, v.data(), nullptr, v.data()), contains("b is null"));
    CHECK_THROWS_WITH(solver.enqueue(nullptr, v.data(), v.data(), nullptr), contains("x is null"));
    fits fitting = make_fits(executor);
    CHECK_THROWS_WITH(fitting.enqueue(nullptr, nullptr), contains("enqueueing a batch: x is null"));
    minimizations minimizing = make_minimizations(executor);
    CHECK_THROWS_WITH(minimizing.enqueue(nullptr, nullptr), contains("enqueueing a batch: x is null"));
    std::vector<double> at{1, 2, 5};
    CHECK(fitting.solve(at).all_converged());
  }
}

TEST_CASE("null pointers are refused by minimizers and solvers of equations", "[pointers]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const auto f = one_valley(w.where);
    whilst::minimizer<double> by(f, {.executor = w.name});
    CHECK_THROWS_WITH(by.enqueue(nullptr, nullptr), contains("enqueueing a solve: x is null"));
    std::vector<double> x{-1.2, 1};
    CHECK(by.solve(x).converged());
  }
  const whilst::called_equations<double> system(
      place::host(), 1, [](whilst::stream_handle, index_type, const double* x, double* F) { F[0] = x[0] - 1; });
  whilst::nonlinear_solver<double> by(system, {.method = "broyden", .executor = "host"});
  CHECK_THROWS_WITH(by.enqueue(nullptr, nullptr), contains("x is null"));
}

TEST_CASE("where there is nothing to point to, null will do", "[pointers]") {
  const csr_matrix<double> nothing(0, 0, std::vector<std::int32_t>{0}, std::vector<std::int32_t>{},
                                   std::vector<double>{});
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(nothing, {.executor = executor});
    solver.bind_values(nullptr);
    CHECK(solver.enqueue(nullptr, nullptr, nullptr).wait().converged());
  }
}

TEST_CASE("a recorder refuses null names, controls, flags and functions, and goes on", "[pointers]") {
  for (const way& w : ways()) {
    INFO(w.name);
    buffer<double> x(w.where, 10);
    program_recorder record(w.where);
    const auto body = [&](auto& run) { run.step("x += 1", 10, add_one{x.data()}); };
    constexpr const char* no_name = nullptr;
    CHECK_THROWS_WITH(record.step(no_name, 10, add_one{x.data()}), contains("its name is null"));
    CHECK_THROWS_WITH(record.loop("l", nullptr, body), contains("recording loop 'l': the control is null"));
    CHECK_THROWS_WITH(record.branch("b", nullptr, body), contains("recording branch 'b': the flag is null"));
    CHECK_THROWS_WITH(record.branch("b", nullptr, body, body), contains("recording branch 'b': the flag is null"));
    CHECK_THROWS_WITH(record.select("s", nullptr, body, body), contains("recording select 's': the choice is null"));
    CHECK_THROWS_WITH(record.parallel(no_name, body), contains("its name is null"));
    CHECK_THROWS_WITH(record.call("c", {}), contains("recording call 'c': the function is empty"));
    CHECK_THROWS_WITH(record.parameter<int>(no_name, 1), contains("recording a parameter: its name is null"));
    CHECK_THROWS_WITH(record.slot<int>(no_name), contains("recording a slot: its name is null"));
    CHECK_THROWS_WITH(record.uses(no_name, x), contains("its name is null"));
    CHECK_THROWS_WITH(record.parameter<int>(static_cast<int*>(nullptr), 1), contains("its address is null"));
    body(record);
    whilst::program program = std::move(record).finish();
    CHECK_THROWS_WITH(std::move(record).finish(), contains("its recorder has given it already"));
    program.prepare({.how = w.how});
    run(program);
    CHECK((values(x) == std::vector<double>(10, 1)));
  }
#if !WHILST_WITH_CUDA  // a kernel takes no pointer to a function of the host
  program_recorder record(place::host());
  void (*no_map)(index_type) = nullptr;
  CHECK_THROWS_WITH(record.step("s", 1, no_map), contains("recording step 's': a pointer to a function is null"));
#endif
  const linear_solver<double>::preconditioner_callback none;
  CHECK_THROWS_WITH(linear_solver<double>(line(5), none, {.executor = "host"}), contains("callback is empty"));
}

TEST_CASE("what was moved from says so", "[pointers]") {
  const auto A = line(50);
  const std::vector<double> b(50, 1);
  std::vector<double> x(50);
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> first(A, {.executor = executor}), second = std::move(first);
    CHECK_THROWS_WITH(first.solve(b, x), contains("using a linear_solver: it was moved from. Use the one"));
    CHECK_THROWS_WITH(first.explain(), contains("moved from"));
    CHECK_THROWS_WITH(first.cancel(), contains("moved from"));
    check_solves(second, A);
    buffer<double> on_b(place_of(executor), 50), on_x(place_of(executor), 50);
    whilst::ticket left = second.enqueue(nullptr, on_b.data(), on_x.data()), taken = std::move(left);
    CHECK_THROWS_WITH(left.wait(), contains("using a ticket: it was moved from"));
    CHECK_THROWS_WITH(left.done(), contains("moved from"));
    CHECK(taken.wait().converged());
    first = linear_solver<double>(A, {.executor = executor});
    check_solves(first, A);
  }
  auto cached = whilst::default_cache().borrow(A, {.executor = "host"}), moved = std::move(cached);
  CHECK_THROWS_WITH(cached->solve(b, x), contains("using a lease: it was moved from"));
  check_solves(*moved, A);
}

TEST_CASE("batches, minimizers and programs that were moved from say so", "[pointers]") {
  std::vector<double> x(6), y(3);
  for (const std::string& executor : batch_executors()) {
    fits fitting = make_fits(executor), other = std::move(fitting);
    CHECK_THROWS_WITH(fitting.solve(y), contains("using a batch: it was moved from"));
    CHECK(other.solve(y).all_converged());
    batch_linear_solver<double> solver(line(5), 3, {.executor = executor}), taken = std::move(solver);
    CHECK_THROWS_WITH(solver.cancel(), contains("using a batch_linear_solver: it was moved from"));
  }
  for (const way& w : ways()) {
    const auto f = one_valley(w.where);
    whilst::minimizer<double> by(f, {.executor = w.name}), other = std::move(by);
    CHECK_THROWS_WITH(by.solve(x), contains("using a minimizer: it was moved from"));
    program_recorder record(w.where);
    whilst::program left = std::move(record).finish(), taken = std::move(left);
    CHECK_THROWS_WITH(left.prepare({.how = w.how}), contains("using a program: it was moved from"));
    CHECK_THROWS_WITH(left.set("x", 1), contains("moved from"));
    buffer<double> numbers(w.where, 3), moved = std::move(numbers);
    CHECK(numbers.size() == 0);
    CHECK(numbers.bytes() == 0);
    CHECK(moved.size() == 3);
    whilst::rebindable<double> cell(w.where, moved.data()), cell_too = std::move(cell);
    CHECK_THROWS_WITH(cell.bind(nullptr, moved.data()), contains("using a rebindable: it was moved from"));
  }
}

TEST_CASE("a matrix is as good after it was moved", "[pointers]") {
  auto A = line(50);
  const auto B = std::move(A);
  CHECK_FALSE(A.is_on_device());
  CHECK(A.rows() == 50);
  CHECK(A.has_pattern_of(B));
  for (const std::string& executor : executors()) {
    linear_solver<double> solver(A, {.executor = executor});
    check_solves(solver, B);
  }
}

}  // namespace whilst_test
