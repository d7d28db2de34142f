// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "whilst/template_door.hpp"

#include <Eigen/LU>
#include <optional>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

constexpr int band_width = 8;

/// Entry (i, j) of a band matrix that is diagonally dominant by rows; not symmetric where skew is not 0.
WHILST_HD inline double band_entry(index_type i, index_type j, double skew) {
  if (i == j) return 5.0 + static_cast<double>(i % 3);
  const index_type distance = i < j ? j - i : i - j;
  if (distance > band_width) return 0;
  return (j < i ? 1 + skew : 1) / static_cast<double>(-1 - distance);
}

/// A user's own operator: no matrix in memory, four threads a row, nothing but what an operator must have.
template <class T>
struct band_operator {
  index_type n;
  double skew;
  WHILST_HD index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return 4; }
  template <class Team>
  WHILST_HD T row(index_type i, const T* x, const Team& team) const {
    T sum = 0;
    for (index_type j = i - band_width + team.rank(); j <= i + band_width; j += team.size())
      if (j >= 0 && j < n) sum += static_cast<T>(band_entry(i, j, skew)) * x[j];
    return team.sum(sum);
  }
};

/// A user's own preconditioner: a function of one entry.
template <class T>
struct divide_by_diagonal {
  WHILST_HD T operator()(index_type i, T r) const { return r / static_cast<T>(5 + i % 3); }
};
/// The same as a complete preconditioner, which reads early.
template <class T>
struct divide_by_diagonal_read_early : whilst::pointwise_preconditioner<divide_by_diagonal<T>> {
  using whilst::pointwise_preconditioner<divide_by_diagonal<T>>::operator();
  struct entry {
    T diagonal;
  };
  template <class Team>
  WHILST_HD entry fetch(index_type i, const Team&) const {
    return {static_cast<T>(5 + i % 3)};
  }
  WHILST_HD T operator()(const entry& of, T r) const { return r / of.diagonal; }
  WHILST_HD divide_by_diagonal_read_early with_memory(index_type, whilst::workspace&) const { return *this; }
};
/// One whose members are called as those of the library's own are.
struct multiply_by_values {
  const double *values, *parts;
  WHILST_HD double operator()(index_type i, double r) const { return values[i] * parts[i] * r; }
};
template <class T>
struct halve {
  WHILST_HD T operator()(index_type, T r) const { return r / 2; }
};

Eigen::MatrixXd band_matrix(index_type n, double skew) {
  Eigen::MatrixXd A(n, n);
  for (index_type i = 0; i < n; ++i)
    for (index_type j = 0; j < n; ++j) A(i, j) = band_entry(i, j, skew);
  return A;
}

/// Rounding of a recomputed residual is some 10 epsilon of ||b||, where A is as well conditioned as here.
template <class T>
constexpr double reachable = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// A bound on the 2-norm of a matrix: the geometric mean of its 1-norm and its maximum norm.
double norm_bound(const Eigen::MatrixXd& A) {
  const Eigen::MatrixXd absolute = A.cwiseAbs();
  return std::sqrt(absolute.rowwise().sum().maxCoeff() * absolute.colwise().sum().maxCoeff());
}

/// Checks x against a direct solution: the relative error is at most the condition number times the relative residual,
/// which the tolerance bounds. Twice that, since the residual is itself rounded.
template <class T>
void check_solution(const Eigen::MatrixXd& A, const std::vector<T>& b, const std::vector<T>& x) {
  const Eigen::PartialPivLU<Eigen::MatrixXd> factors(A);
  const double condition = norm_bound(A) * norm_bound(factors.inverse());
  const Eigen::VectorXd exact = factors.solve(to_eigen(b));
  CHECK((A * to_eigen(x) - to_eigen(b)).norm() <= 2 * reachable<T> * to_eigen(b).norm());
  CHECK((to_eigen(x) - exact).norm() <= 2 * condition * reachable<T> * exact.norm());
}

/// Systems with one operator, laid out by hand: what the template door does when nobody helps.
template <class Solve, class T, class Operator, class Preconditioner>
struct systems_by_hand {
  Operator A;
  Preconditioner M;
  typename Solve::operands io;
  whilst::control *outer, *inner;
  std::byte* memory;
  index_type bytes_a_system;

  WHILST_HD Solve system(index_type k) const {
    whilst::workspace own(memory + k * bytes_a_system);
    const index_type n = A.rows();
    return Solve(A, M, {io.b.shifted(k * n), io.x.shifted(k * n), io.outcome.shifted(k)}, outer + k, inner + k, own);
  }
  template <class Team>
  WHILST_HD Solve operator()(index_type k, const Team&) const {
    return system(k);
  }
};

template <template <class, class, class> class Method, class T>
struct by_hand {
  using own = whilst::pointwise_preconditioner<divide_by_diagonal<T>>;
  using solve = whilst::linear_solve<T, band_operator<T>, own, Method>;
  using systems = systems_by_hand<solve, T, band_operator<T>, own>;

  whilst::place where;
  index_type n, count;
  whilst::buffer<T> b, x;
  whilst::buffer<const T*> b_slot;
  whilst::buffer<T*> x_slot;
  whilst::buffer<whilst::solve_outcome> outcomes;
  whilst::buffer<whilst::solve_outcome*> outcome_slot;
  whilst::buffer<whilst::control> outer, inner;
  whilst::raw_buffer memory;
  systems all;

  template <class Value>
  static whilst::buffer<Value> holding(whilst::place where, const std::vector<Value>& values) {
    whilst::buffer<Value> made(where, static_cast<index_type>(values.size()));
    made.upload(values.data());
    return made;
  }
  static std::vector<whilst::control> controls(index_type count, index_type limit) {
    whilst::control one{};
    one.settings.limit = limit;
    one.settings.rtol = reachable<T>;
    return std::vector<whilst::control>(static_cast<std::size_t>(count), one);
  }

  by_hand(whilst::place where, const band_operator<T>& A, index_type count, const std::vector<T>& rhs)
      : where(where),
        n(A.n),
        count(count),
        b(holding(where, rhs)),
        x(where, n * count),
        b_slot(holding(where, std::vector<const T*>{b.data()})),
        x_slot(holding(where, std::vector<T*>{x.data()})),
        outcomes(where, count),
        outcome_slot(holding(where, std::vector<whilst::solve_outcome*>{outcomes.data()})),
        outer(holding(where, controls(count, 20))),
        inner(holding(where, controls(count, 1000))) {
    whilst::workspace measuring;
    solve(A, {}, {}, nullptr, nullptr, measuring);
    const index_type bytes = (measuring.used() + 255) / 256 * 256;
    memory = whilst::raw_buffer(where, static_cast<std::size_t>(bytes * count));
    all = {A,
           {},
           {{b_slot.data()}, {x_slot.data()}, {outcome_slot.data()}},
           outer.data(),
           inner.data(),
           static_cast<std::byte*>(memory.data()),
           bytes};
  }

  void check(const Eigen::MatrixXd& A) const {
    const std::vector<T> solutions = values(x), rhs = values(b);
    const auto ends = values(outcomes);
    for (index_type k = 0; k < count; ++k) {
      INFO("system " << k);
      CHECK(ends[static_cast<std::size_t>(k)].why == reason::converged_rtol);
      CHECK(ends[static_cast<std::size_t>(k)].iterations > 0);
      check_solution(A, std::vector<T>(rhs.begin() + k * n, rhs.begin() + (k + 1) * n),
                     std::vector<T>(solutions.begin() + k * n, solutions.begin() + (k + 1) * n));
    }
  }
};

template <template <class, class, class> class Method, class T>
void check_by_hand(double skew) {
  for (const way& w : ways()) {
    SECTION("recorded under " + w.name) {
      const index_type n = 300;
      by_hand<Method, T> made(w.where, {n, skew}, 1, random_vector<T>(n, 3));
      whilst::program_recorder record(w.where);
      made.all.system(0)(record);
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how});
      run(program);
      made.check(band_matrix(n, skew));
    }
    if (w.how == whilst::executor::graph) continue;  // of a program that is one kernel
    SECTION("whole problems, under " + w.name) {
      const index_type n = 40;
      for (const index_type count : {1, 5}) {
        for (const int lanes : {0, 1, 8, 32}) {
          INFO(count << " systems, " << (lanes ? std::to_string(lanes) + " lanes each" : "a block each"));
          by_hand<Method, T> made(w.where, {n, skew}, count, random_vector<T>(n * count, 4));
          whilst::program_recorder record(w.where);
          if (lanes) {
            record.step("systems", count, whilst::problems_by_lanes<decltype(made.all)>{made.all, lanes});
          } else {
            record.team("systems", count, whilst::problems_by_block<decltype(made.all)>{made.all, 64});
          }
          whilst::program program = std::move(record).finish();
          program.prepare({.how = w.how});
          run(program);
          made.check(band_matrix(n, skew));
        }
      }
    }
  }
}

TEST_CASE("an operator solver has no matrix to scale or to round, and says so", "[linear]") {
  const whilst::poisson_2d_operator<double> A{3, 3};
  whilst::linear_solver_options scaled, rounded;
  scaled.scaling = "symmetric";
  rounded.matrix_values = "float";
  for (const auto& options : {scaled, rounded})
    CHECK_THROWS_WITH(
        (whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, {}, options)),
        contains("making a solver for an operator: there is no matrix to scale or to round. Leave scaling and"));
}

TEST_CASE("an operator solver has no matrix to permute, and says so", "[linear]") {
  const whilst::poisson_2d_operator<double> A{3, 3};
  whilst::linear_solver_options permuted;
  permuted.permutation = "rcm";
  CHECK_THROWS_WITH((whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, {}, permuted)),
                    contains("making a solver for an operator: there is no matrix to permute. Leave permutation out"));
}

TEST_CASE("an operator solver projects no null space out, and says so", "[linear]") {
  const whilst::poisson_2d_operator<double> A{3, 3};
  CHECK_THROWS_WITH(
      (whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, {}, {.null_space = "constant"})),
      contains("making a solver for an operator: nothing here projects a null space out. Set null_space to none"));
}

/// An operator and a preconditioner by the helper, under every executor for one system.
template <template <class, class, class> class Method, class T, class Operator, class Preconditioner>
void check_helper(const Operator& A, const Preconditioner& M, const Eigen::MatrixXd& assembled) {
  const std::vector<T> b = random_vector<T>(A.rows(), 9);
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto solver = whilst::make_operator_solver<Method, T>(A, M, {.rtol = reachable<T>, .executor = executor});
    std::vector<T> x(b.size(), 0);
    const report r = solver.solve(b, x);
    CHECK(r.reason() == reason::converged_rtol);
    CHECK(r.executor() == executor);
    CHECK(r.rows() == A.rows());
    CHECK(r.history().size() == static_cast<std::size_t>(r.iterations()) + 1);
    check_solution(assembled, b, x);
    // And again, from the solution.
    CHECK(solver.solve(b, x).iterations() == 0);
    solver.set_max_iterations(2);
    std::fill(x.begin(), x.end(), T(0));
    CHECK(solver.solve(b, x).reason() == reason::iteration_limit);
  }
}

}  // namespace

TEST_CASE("an operator of the user's own, laid out by hand, by conjugate gradients", "[template_door][sanitizer]") {
  check_by_hand<whilst::conjugate_gradient, double>(0);
}

TEST_CASE("an operator of the user's own, laid out by hand, by BiCGSTAB", "[template_door][sanitizer]") {
  check_by_hand<whilst::bicgstab, float>(0.5);
}

TEMPLATE_TEST_CASE("an operator and a preconditioner of the user's own, solved", "[template_door]", float, double) {
  using T = TestType;
  check_helper<whilst::conjugate_gradient, T>(band_operator<T>{400, 0}, divide_by_diagonal<T>{}, band_matrix(400, 0));
  check_helper<whilst::bicgstab, T>(band_operator<T>{400, 0.5}, divide_by_diagonal<T>{}, band_matrix(400, 0.5));
}

TEST_CASE("a preconditioner of the user's own that reads early gives the bits of one that does not",
          "[template_door]") {
  const band_operator<double> A{400, 0};
  const std::vector<double> b = random_vector<double>(A.rows(), 9);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const whilst::linear_solver_options options{.rtol = reachable<double>, .executor = executor};
    std::vector<double> x(b.size(), 0), y(b.size(), 0);
    CHECK(whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, divide_by_diagonal<double>{}, options)
              .solve(b, x)
              .converged());
    CHECK(whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, divide_by_diagonal_read_early<double>{},
                                                                           options)
              .solve(b, y)
              .converged());
    CHECK(x == y);
  }
}

TEST_CASE("members of a preconditioner of the user's own may be called anything", "[template_door]") {
  constexpr index_type n = 100;
  std::vector<double> halves(n), doubles(n, 2.0), b(n, 1.0), x(n, 0.0), same(n, 0.0);
  for (index_type i = 0; i < n; ++i) halves[static_cast<std::size_t>(i)] = 0.5 / static_cast<double>(5 + i % 3);
  const whilst::linear_solver_options options{.rtol = reachable<double>, .executor = "host"};
  const band_operator<double> A{n, 0};
  auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
      A, multiply_by_values{halves.data(), doubles.data()}, options);
  auto by_diagonal =
      whilst::make_operator_solver<whilst::conjugate_gradient, double>(A, divide_by_diagonal<double>{}, options);
  const report r = solver.solve(b, x);
  CHECK(r.converged());
  CHECK(r.iterations() == by_diagonal.solve(b, same).iterations());
}

TEST_CASE("the matrix-free Laplacians, solved", "[template_door]") {
  check_helper<whilst::conjugate_gradient, float>(whilst::poisson_2d_operator<float>{18, 18}, halve<float>{},
                                                  to_eigen(whilst::make_gallery<float>("poisson2d:18").matrix));
  check_helper<whilst::bicgstab, double>(whilst::poisson_3d_operator<double>{7, 7, 7},
                                         whilst::jacobi_preconditioner<double>{},
                                         to_eigen(whilst::make_gallery<double>("poisson3d:7").matrix));
}

// Alone, as a functor that also runs in kernels cannot wait for who cancels: the solve must not have ended before that.
TEST_CASE("an operator's solver is watched and cancelled from another thread", "[template_door][alone]") {
  const index_type n = 200;
  for (const std::string& executor : executors()) {
    INFO(executor);
    auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
        whilst::poisson_2d_operator<double>{n, n}, halve<double>{},
        {.rtol = 1e-15, .max_iterations = 100'000'000, .executor = executor});
    const std::vector<double> b(static_cast<std::size_t>(n * n), 1.0);
    std::vector<double> x(b.size(), 0);
    const report r = solve_and_cancel(solver, b, x);
    CHECK(r.reason() == reason::cancelled);
    CHECK(r.preconditioner() == "user");
    CHECK(r.method() == "cg");
    solver.set_tolerances(1e-2, 0);
    CHECK(solver.solve(b, x).converged());
    // It may move, tickets and all.
    std::optional<whilst::ticket> ticket;
    if (executor == "host") ticket = solver.enqueue(nullptr, b.data(), x.data());
    auto moved = std::move(solver);
    CHECK(moved.solve(b, x).iterations() == 0);
    if (ticket) CHECK(ticket->wait().converged());
  }
}

TEST_CASE("the helper refuses what it cannot do", "[template_door]") {
  const auto message = [](auto&& function) -> std::string {
    try {
      function();
    } catch (const whilst::error& e) {
      return e.what();
    }
    return "no exception";
  };
  const auto make = [](linear_solver_options options) {
    return whilst::make_operator_solver<whilst::conjugate_gradient, double>(
        band_operator<double>{4, 0}, divide_by_diagonal<double>{}, std::move(options));
  };
  CHECK(message([&] { make({.rtol = -1}); }).find("negative") != std::string::npos);
  CHECK(message([&] { make({.executor = "cluster"}); }).find("auto, host, stream") != std::string::npos);
  auto solver = make({.executor = "host"});
  std::vector<double> b(3, 1), x(4, 0);
  CHECK(message([&] { solver.solve(b, x); }).find("b has 3 entries") != std::string::npos);
  CHECK(message([&] { solver.set_deadline(0); }).find("deadline") != std::string::npos);
  CHECK(message([&] { solver.set_max_iterations(-1); }).find("max_iterations") != std::string::npos);
}

}  // namespace whilst_test
