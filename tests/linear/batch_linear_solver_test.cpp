#include "whilst/batch_linear_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "tests/catch.hpp"
#include "tests/host/batches.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::batch_linear_solver;
using whilst::batch_report;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;
using whilst::system_outcome;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A tolerance that T can reach on well conditioned systems: rounding of a residual is some 10 epsilon of ||b||.
template <class T>
constexpr double reachable = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Systems with one pattern, one after another.
template <class T>
struct batch {
  csr_matrix<T> pattern;
  index_type systems;
  std::vector<T> values, b, x;

  batch(csr_matrix<T> of, index_type systems)
      : pattern(std::move(of)), systems(systems), b(random_vector<T>(systems * pattern.rows(), 5)), x(b.size(), T(0)) {
    for (index_type k = 0; k < systems; ++k)
      values.insert(values.end(), pattern.values().begin(), pattern.values().end());
  }

  /// Adds to the diagonal of system k.
  void shift(index_type k, double by) {
    for (index_type i = 0; i < pattern.rows(); ++i)
      for (index_type entry = pattern.row_offset(i); entry < pattern.row_offset(i + 1); ++entry)
        if (pattern.column_indices()[static_cast<std::size_t>(entry)] == i)
          values[static_cast<std::size_t>(k * pattern.nonzeros() + entry)] += static_cast<T>(by);
  }
  /// Adds to each diagonal a number of its own from 0 to 1.
  void shift_all(unsigned seed) {
    const std::vector<double> shifts = random_vector<double>(systems, seed);
    for (index_type k = 0; k < systems; ++k) shift(k, 0.5 + 0.5 * shifts[static_cast<std::size_t>(k)]);
  }

  std::vector<T> piece(const std::vector<T>& all, index_type k, index_type size) const {
    return {all.begin() + k * size, all.begin() + (k + 1) * size};
  }
  std::vector<T> b_of(index_type k) const { return piece(b, k, pattern.rows()); }
  std::vector<T> x_of(index_type k) const { return piece(x, k, pattern.rows()); }
  csr_matrix<T> matrix(index_type k) const {
    const std::vector<T> own = piece(values, k, pattern.nonzeros());
    return {pattern.rows(), pattern.columns(), pattern.row_offsets_32(), pattern.column_indices(), std::span(own)};
  }

  batch_report solve(const linear_solver_options& options) {
    batch_linear_solver<T> solver(pattern, systems, options);
    const batch_report result = solver.solve(values, b, x);
    CHECK(result.executor() == "batch");
    CHECK(result.size() == systems);
    CHECK(result.solve_seconds() > 0);
    for (const system_outcome& system : result) REQUIRE(system.reason != reason::running);
    return result;
  }
};

/// What a system's A and b, of numbers about 1, are multiplied by.
struct scaled_system {
  double of_A, of_b;
};
template <class T>
batch<T> scaled_batch(int n, const std::vector<scaled_system>& each) {
  batch<T> made(whilst::make_gallery<T>("poisson1d:" + std::to_string(n)).matrix, static_cast<index_type>(each.size()));
  made.shift_all(6);
  const std::size_t entries = made.values.size() / each.size(), rows = made.b.size() / each.size();
  for (std::size_t k = 0; k < each.size(); ++k) {
    for (std::size_t i = k * entries; i < (k + 1) * entries; ++i)
      made.values[i] = static_cast<T>(made.values[i] * each[k].of_A);
    for (std::size_t i = k * rows; i < (k + 1) * rows; ++i) made.b[i] = static_cast<T>(made.b[i] * each[k].of_b);
  }
  return made;
}

/// ||b - A x|| / ||b|| in extended precision, whose exponents hold the squares of all doubles.
template <class T>
double true_residual(const csr_matrix<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
  long double rr = 0, bb = 0;
  for (index_type i = 0; i < A.rows(); ++i) {
    const long double bi = b[static_cast<std::size_t>(i)];
    long double r = bi;
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k) {
      const auto entry = static_cast<std::size_t>(k);
      r -= static_cast<long double>(A.values()[entry]) * x[static_cast<std::size_t>(A.column_indices()[entry])];
    }
    bb += bi * bi;
    rr += r * r;
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

}  // namespace

TEMPLATE_TEST_CASE("a batch of 3 x 3 systems by hand", "[batch][sanitizer]", float, double) {
  // [2 -1 0; -1 2 -1; 0 -1 2] x = [1 0 1] has the solution [1 1 1]; the second system is twice, the third has its
  // matrix and the solution [3 4 3] of the right-hand side [2 2 2].
  triplets<TestType> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 2}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  const std::vector<double> exact{1, 1, 1, 0.5, 0.5, 0.5, 3, 4, 3};
  for (const std::string& executor : batch_executors()) {
    for (const std::string& method : methods_on("batch")) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << method << ", " << preconditioner);
        batch<TestType> given(t.matrix(), 3);
        for (std::size_t i = 7; i < 14; ++i) given.values[i] *= 2;
        given.b = {1, 0, 1, 1, 0, 1, 2, 2, 2};
        const batch_report r = given.solve(
            {.method = method, .preconditioner = preconditioner, .rtol = reachable<TestType>, .executor = executor});
        CHECK(r.all_converged());
        CHECK(r.number_converged() == 3);
        for (const system_outcome& system : r) {
          CHECK(system.reason == reason::converged_rtol);
          CHECK(system.iterations >= 1);
          CHECK(system.iterations <= 3);
        }
        CHECK(r[0].rhs_norm == Approx(std::sqrt(2.0)));
        CHECK(r[2].rhs_norm == Approx(std::sqrt(12.0)));
        // ||A^-1|| is below 2, and ||b|| below 4.
        for (std::size_t i = 0; i < 9; ++i)
          CHECK(std::abs(static_cast<double>(given.x[i]) - exact[i]) <= 8 * reachable<TestType>);
        CHECK(r.rows() == 3);
        CHECK(r.nonzeros() == 7);
        CHECK(r.method() == method);
        CHECK(r.preconditioner() == preconditioner);
        CHECK(r.precision() == (sizeof(TestType) == 4 ? "float" : "double"));
        CHECK_FALSE(r.device().empty());
      }
    }
  }
}

TEMPLATE_TEST_CASE("500 shifted systems agree with a direct solver", "[batch]", float, double) {
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    batch<TestType> given(whilst::make_gallery<TestType>("poisson1d:40").matrix, 500);
    given.shift_all(9);
    const batch_report r = given.solve({.rtol = reachable<TestType>, .executor = executor});
    REQUIRE(r.all_converged());
    // Largest by smallest eigenvalue without a shift, in closed form; a shift only makes it smaller.
    const double condition = std::pow(std::tan(std::acos(-1.0) / 2 / 41), -2);
    index_type fewest = r[0].iterations, most = fewest;
    for (index_type k = 0; k < given.systems; ++k) {
      const csr_matrix<TestType> A = given.matrix(k);
      const Eigen::SparseMatrix<double> Ae = to_eigen(A);
      const Eigen::VectorXd exact =
          Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(Ae).solve(to_eigen(given.b_of(k)));
      const double residual = relative_residual(A, given.b_of(k), given.x_of(k));
      REQUIRE(residual <= 2 * reachable<TestType>);
      // The reported residual is the true one, up to the rounding of a residual in TestType.
      REQUIRE(std::abs(residual - r[k].relative_residual()) <= reachable<TestType>);
      REQUIRE((to_eigen(given.x_of(k)) - exact).norm() / exact.norm() <= condition * residual);
      fewest = std::min(fewest, r[k].iterations);
      most = std::max(most, r[k].iterations);
    }
    // Each stopped when it was done, not when the slowest was.
    CHECK(fewest < most);
  }
}

TEMPLATE_TEST_CASE("sizes for some threads, a warp and a block, as by a solver for one system", "[batch]", float,
                   double) {
  // More systems than a GPU has multiprocessors, and fewer, which get more threads each.
  for (const index_type systems : {150, 7}) {
    for (const int n : {4, 7, 12, 40, 63, 64, 130, 200, 300, 500, 1500}) {
      if (systems > 100 && n > 500) continue;
      if (under_sanitizers && n > 130) continue;
      for (const std::string& executor : batch_executors()) {
        if (executor == "host" && systems > 100 && n > 64) continue;  // many are as few there
        for (const std::string& method : methods_on("batch")) {
          for (const char* preconditioner : {"none", "jacobi"}) {
            INFO(executor << ", " << systems << " systems, n " << n << ", " << method << ", " << preconditioner);
            const bool symmetric = method != "bicgstab";
            batch<TestType> given(symmetric ? whilst::make_gallery<TestType>("poisson1d:" + std::to_string(n)).matrix
                                            : convection_diffusion<TestType>(n),
                                  systems);
            given.shift_all(3);
            linear_solver_options options{
                .method = method, .preconditioner = preconditioner, .rtol = reachable<TestType>, .executor = executor};
            const batch_report r = given.solve(options);
            options.executor = executor == "host" ? "host" : "resident";
            linear_solver<TestType> one_by_one(given.pattern, options);
            for (index_type k = 0; k < systems; ++k) {
              const csr_matrix<TestType> A = given.matrix(k);
              REQUIRE(r[k].converged());
              REQUIRE(relative_residual(A, given.b_of(k), given.x_of(k)) <= 2 * reachable<TestType>);
              if (k % 10 != 0) continue;
              one_by_one.update_values(A.values());
              std::vector<TestType> x(static_cast<std::size_t>(n), TestType(0));
              const report alone = one_by_one.solve(given.b_of(k), x);
              REQUIRE(r[k].reason == alone.reason());
              // A step on the host adds up pieces of 512 rows, a system of a batch all of them in turn; on a GPU the
              // same threads add up in the same order where each row has one.
              if (executor == "host" ? n <= 512 : systems < 100 && n >= 64 && n <= 1024) {
                REQUIRE((given.x_of(k) == x));
                REQUIRE(r[k].iterations == alone.iterations());
                REQUIRE(r[k].residual_norm == alone.residual_norm());
                REQUIRE(r[k].rhs_norm == alone.rhs_norm());
              } else {
                // Two solutions with residuals within rtol differ by ||A^-1|| 2 rtol ||b|| at most; the smallest shift,
                // 0.018, keeps ||A^-1|| below 100.
                REQUIRE((to_eigen(given.x_of(k)) - to_eigen(x)).norm() <=
                        100 * 2 * reachable<TestType> * alone.rhs_norm());
              }
            }
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a batch of systems of every scale", "[batch][sanitizer]", float, double) {
  const bool is_float = sizeof(TestType) == 4;
  const double rtol = is_float ? 1e-4 : 1e-8, range = is_float ? 1e36 : 1e305;
  const std::vector<double> scales = is_float ? std::vector<double>{1e-30, 1e-20, 1, 1e20, 1e30}
                                              : std::vector<double>{1e-300, 1e-162, 1e-150, 1, 1e150, 1e200};
  std::vector<scaled_system> each;
  for (const double of_A : scales)
    for (const double of_b : scales)  // entries of x are up to some dozens of their quotient
      if (of_b / of_A > 1 / range && of_b / of_A < range) each.push_back({of_A, of_b});
  for (const std::string& executor : batch_executors())
    for (const std::string& method : methods_on("batch"))
      for (const char* preconditioner : {"none", "jacobi"})
        for (const auto& [n, copies] : {std::pair(8, 10), std::pair(40, 1), std::pair(200, 1)}) {
          // More systems than a GPU has multiprocessors get some threads each, fewer a warp or a block.
          std::vector<scaled_system> systems;
          for (int copy = 0; copy < copies; ++copy) systems.insert(systems.end(), each.begin(), each.end());
          batch<TestType> given = scaled_batch<TestType>(n, systems);
          const batch_report r =
              given.solve({.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
          for (index_type k = 0; k < given.systems; ++k) {
            const scaled_system& scale = systems[static_cast<std::size_t>(k)];
            INFO(executor << ", " << method << ", " << preconditioner << ", n " << n << ", A " << scale.of_A << ", b "
                          << scale.of_b);
            CHECK(r[k].reason == reason::converged_rtol);
            const std::vector<TestType> x = given.x_of(k);
            CHECK(std::all_of(x.begin(), x.end(), [](TestType value) { return std::isfinite(value); }));
            const double residual = true_residual(given.matrix(k), given.b_of(k), x);
            CHECK(residual <= 1.01 * rtol);
            // The reported residual is the true one, up to the rounding of a residual in TestType.
            CHECK(std::abs(r[k].relative_residual() - residual) <= reachable<TestType>);
          }
        }
}

TEST_CASE("each system of a batch ends for its own reason", "[batch][sanitizer]") {
  for (const std::string& executor : batch_executors()) {
    // Sizes for a warp and for blocks: there are few systems.
    for (const int n : {6, 40, 200}) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", n " << n << ", " << preconditioner);
        const auto pattern = whilst::make_gallery<double>("poisson1d:" + std::to_string(n)).matrix;
        const linear_solver_options options{.preconditioner = preconditioner, .rtol = 1e-12, .executor = executor};
        batch<double> good(pattern, 9);
        good.shift_all(2);
        // Where the last one starts is its solution.
        REQUIRE(good.solve({.rtol = 1e-14, .executor = executor}).number_converged() >= 0);
        const std::vector<double> solved = good.x_of(8);
        std::fill(good.x.begin(), good.x.end(), 0.0);
        batch<double> mixed = good;
        const batch_report before = good.solve(options);
        REQUIRE(before.all_converged());

        const auto size = static_cast<std::size_t>(n);
        mixed.b[1 * size + 3] = std::nan("");
        mixed.values[static_cast<std::size_t>(2 * pattern.nonzeros()) + 4] = infinity;
        for (int i = 0; i < n; ++i) {  // indefinite, and b where the curvature is negative
          const bool negative = i >= n - n / 3;
          if (negative) mixed.values[static_cast<std::size_t>(3 * pattern.nonzeros() + 3 * i)] = -1000;
          mixed.b[static_cast<std::size_t>(3 * n + i)] = negative ? 1 : 0;
        }
        std::fill_n(mixed.b.begin() + 5 * n, n, 0.0);
        std::copy(solved.begin(), solved.end(), mixed.x.begin() + 8 * n);
        const batch_report after = mixed.solve(options);
        CHECK(after[1].reason == reason::nan_or_infinity);
        CHECK(after[2].reason == reason::nan_or_infinity);
        // By Jacobi the negative diagonal is found out first.
        CHECK(after[3].reason == (preconditioner == std::string("none") ? reason::indefinite_operator
                                                                        : reason::indefinite_preconditioner));
        CHECK(after[5].reason == reason::converged_rtol);
        CHECK(after[5].iterations == 0);
        CHECK(after[5].rhs_norm == 0);
        CHECK(after[5].relative_residual() == 0);
        CHECK(after[8].reason == reason::converged_rtol);
        CHECK(after[8].iterations == 0);
        CHECK((mixed.x_of(8) == solved));
        CHECK((mixed.x_of(1) == std::vector<double>(size, 0.0)));
        CHECK((mixed.x_of(5) == std::vector<double>(size, 0.0)));
        for (const double value : mixed.x) CHECK(std::isfinite(value));
        // The others have not noticed.
        for (const index_type k : {0, 4, 6, 7}) {
          CHECK(after[k].reason == before[k].reason);
          CHECK(after[k].iterations == before[k].iterations);
          CHECK((mixed.x_of(k) == good.x_of(k)));
        }
        CHECK_FALSE(after.all_converged());
        CHECK(after.number_converged() == 6);
        CHECK(after.worst() == 1);
        CHECK(after.message().find("6 of 9 systems converged; the worst, system 1: not converged") == 0);
      }
    }
  }
}

TEST_CASE("a batch stops at the iteration limit, each system exactly", "[batch]") {
  for (const std::string& executor : batch_executors()) {
    for (const std::string& method : methods_on("batch")) {
      for (const int n : {8, 40, 200}) {
        batch<double> given(whilst::make_gallery<double>("poisson1d:" + std::to_string(n)).matrix, 20);
        batch_linear_solver<double> solver(given.pattern, given.systems,
                                           {.method = method, .rtol = 1e-14, .restart = 200, .executor = executor});
        for (const index_type limit : {0, 1, 3}) {
          INFO(executor << ", " << method << ", n " << n << ", limit " << limit);
          solver.set_max_iterations(limit);
          std::fill(given.x.begin(), given.x.end(), 0.0);
          const batch_report r = solver.solve(given.values, given.b, given.x);
          CHECK(r.number_converged() == 0);
          for (const system_outcome& system : r) {
            CHECK(system.reason == reason::iteration_limit);
            CHECK(system.iterations == limit);
          }
        }
        solver.set_max_iterations(10000);
        solver.set_tolerances(1e-10, 0);
        CHECK(solver.solve(given.values, given.b, given.x).all_converged());
      }
    }
  }
}

TEST_CASE("a batch is solved again with other values and right-hand sides", "[batch]") {
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    batch<double> first(whilst::make_gallery<double>("poisson1d:30").matrix, 50), second = first;
    first.shift_all(1);
    second.shift_all(2);
    second.b = random_vector<double>(30 * 50, 77);
    batch_linear_solver<double> solver(first.pattern, 50, {.rtol = 1e-12, .executor = executor});
    CHECK(solver.systems() == 50);
    CHECK(solver.executor() == "batch");
    REQUIRE(solver.solve(first.values, first.b, first.x).all_converged());
    REQUIRE(solver.solve(second.values, second.b, second.x).all_converged());
    for (index_type k = 0; k < 50; ++k)
      REQUIRE(relative_residual(second.matrix(k), second.b_of(k), second.x_of(k)) <= 2e-12);
    std::vector<double> again(first.x.size(), 0.0);
    REQUIRE(solver.solve(first.values, first.b, again).all_converged());
    CHECK((again == first.x));
    // A warm start at the solution takes no iteration.
    const batch_report warm = solver.solve(first.values, first.b, again);
    for (const system_outcome& system : warm) CHECK(system.iterations == 0);
    CHECK((again == first.x));
  }
}

TEST_CASE("tickets of several batches keep their outcomes apart", "[batch]") {
  batch<double> given(whilst::make_gallery<double>("poisson1d:20").matrix, 10);
  given.shift_all(4);
  batch_linear_solver<double> solver(given.pattern, 10, {.rtol = 1e-15, .executor = "host"});
  std::vector<whilst::batch_ticket> tickets;
  // More than are prepared.
  for (index_type limit = 0; limit < 7; ++limit) {
    solver.set_max_iterations(limit);
    std::fill(given.x.begin(), given.x.end(), 0.0);
    tickets.push_back(solver.enqueue(nullptr, given.values.data(), given.b.data(), given.x.data()));
    CHECK(tickets.back().done());
  }
  for (index_type limit = 0; limit < 7; ++limit)
    for (const system_outcome& system : tickets[static_cast<std::size_t>(limit)].wait())
      CHECK(system.iterations == limit);
  tickets.front().cancel();  // late, and for another solve: harmless
  solver.set_max_iterations(1000);
  solver.set_tolerances(1e-10, 0);
  CHECK(solver.solve(given.values, given.b, given.x).all_converged());
}

// Alone, as a batch calls no code of the caller's, in which it could wait for who cancels it.
TEST_CASE("a deadline is the batch's, and a cancel reaches every system", "[batch][alone]") {
  // Convergence is out of reach; rounding ends the progress of a system, but only after some milliseconds.
  batch<double> given(whilst::make_gallery<double>("poisson2d:60").matrix, 40);
  for (const std::string& executor : batch_executors())
    for (const char* method : {"cg", "gmres"}) {
      INFO(executor << ", " << method);
      linear_solver_options options{.method = method, .rtol = 0, .max_iterations = 100'000'000, .executor = executor};
      options.deadline = executor == "host" ? 0.01 : 0.0002;
      options.threads = executor == "host" ? 2 : 0;  // more might begin with the last system at once
      std::fill(given.x.begin(), given.x.end(), 0.0);
      const batch_report late = given.solve(options);
      CHECK(late.number_converged() == 0);
      CHECK(late[given.systems - 1].reason == reason::deadline);
      CHECK(std::count_if(late.begin(), late.end(), [](const system_outcome& system) {
              return system.reason == reason::deadline;
            }) > given.systems / 2);
      if (executor == "host") {
        // Systems whose turn comes too late get one iteration: the deadline does not start anew for each.
        CHECK(late[given.systems - 1].iterations <= 1);
      }
      for (const double value : given.x) REQUIRE(std::isfinite(value));

      options.deadline = infinity;
      if (executor != "host") continue;  // cancelled from this thread, below
      batch_linear_solver<double> solver(given.pattern, given.systems, options);
      std::fill(given.x.begin(), given.x.end(), 0.0);
      batch_report cancelled;
      std::atomic<bool> over = false;
      std::thread solving([&] {
        cancelled = solver.solve(given.values, given.b, given.x);
        over = true;
      });
      while (!over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        solver.cancel();
      }
      solving.join();
      CHECK(cancelled[given.systems - 1].reason == reason::cancelled);
      CHECK(cancelled[given.systems - 1].iterations <= 1);
      for (const double value : given.x) REQUIRE(std::isfinite(value));
      // A late cancel harms no later solve.
      solver.cancel();
      solver.set_tolerances(1e-2, 0);
      CHECK(solver.solve(given.values, given.b, given.x).all_converged());
    }
}

TEST_CASE("a batch has the same bits for any number of host threads", "[batch]") {
#if defined(_OPENMP)
  const int before = omp_get_max_threads();
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    batch<double> given(whilst::make_gallery<double>("poisson1d:700").matrix, 12);
    given.shift_all(8);
    CHECK(given.solve({.method = "bicgstab", .rtol = 1e-10, .executor = "host"}).all_converged());
    results.push_back(std::move(given.x));
  }
  omp_set_num_threads(before);
  CHECK((results[0] == results[1]));
  CHECK((results[0] == results[2]));
#endif
}

TEST_CASE("batches of one system and of empty systems", "[batch]") {
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    batch<double> one(whilst::make_gallery<double>("poisson1d:25").matrix, 1);
    CHECK(one.solve({.rtol = 1e-12, .executor = executor}).all_converged());
    CHECK(relative_residual(one.matrix(0), one.b, one.x) <= 2e-12);
    const csr_matrix<double> none(0, 0, std::vector<std::int32_t>{0}, {}, std::vector<double>{});
    batch<double> empty(none, 4);
    CHECK(empty.solve({.executor = executor}).all_converged());
  }
}

TEST_CASE("the worst of a batch", "[batch]") {
  const auto worst_of = [](std::vector<system_outcome> systems) {
    return batch_report({}, std::move(systems)).worst();
  };
  const double nan = std::nan("");
  CHECK(worst_of({{reason::converged_rtol, 1, 1e-9, 1}, {reason::converged_rtol, 1, 1e-8, 1}}) == 1);
  CHECK(worst_of({{reason::converged_atol, 1, 1e-3, 1e-9}, {reason::deadline, 1, 1e-8, 1}}) == 1);
  CHECK(worst_of(
            {{reason::divergence, 1, 1e9, 1}, {reason::nan_or_infinity, 1, nan, 1}, {reason::deadline, 1, 1, 1}}) == 1);
  CHECK(worst_of({{reason::nan_or_infinity, 1, nan, 1}, {reason::nan_or_infinity, 1, nan, 1}}) == 0);
  CHECK(batch_report().all_converged());
  CHECK(batch_report().message() == "0 of 0 systems converged");
  REQUIRE_THROWS_WITH(batch_report()[0], contains("no problem 0 among 0"));
}

TEST_CASE("misuse of batches is refused with the cure", "[batch]") {
  const auto message = [](auto&& function) -> std::string {
    try {
      function();
    } catch (const whilst::error& e) {
      return e.what();
    }
    return "no exception";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const auto A = whilst::make_gallery<double>("poisson1d:4").matrix;
  const auto make = [&](linear_solver_options options) {
    batch_linear_solver<double> solver(A, 3, std::move(options));
  };
  for (const char* executor : {"stream", "graph", "resident"})
    has(message([&] { make({.executor = executor}); }),
        "'" + std::string(executor) + "' is for single problems. Use auto, batch or host");
  has(message([&] { make({.executor = "cluster"}); }), "auto, host, stream");
  has(message([&] { make({.method = "sor"}); }), "cg, pipelined-cg, flexible-cg, refined-cg, minres");
  has(message([&] { make({.preconditioner = "ilu"}); }), "none, jacobi");
  has(message([&] { make({.rtol = -1}); }), "negative");
  has(message([&] { make({.dtol = 0}); }), "dtol");
  has(message([&] { make({.max_iterations = -5}); }), "max_iterations");
  has(message([&] { make({.deadline = 0}); }), "deadline");
  has(message([&] { batch_linear_solver<double> solver(A, 0); }), "number of systems is 0");
  has(message([&] { batch_linear_solver<double> solver(A, index_type{1} << 61); }), "beyond any memory");
  const csr_matrix<double> wide(1, 2, std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{0},
                                std::vector<double>{1});
  has(message([&] { batch_linear_solver<double> solver(wide, 2); }), "1 rows and 2 columns");

  batch_linear_solver<double> solver(A, 3, {.executor = "host"});
  std::vector<double> values(30), b(12), x(12), wrong(4);
  has(message([&] { solver.solve(wrong, b, x); }), "values has 4 entries, and 3 systems of 10 nonzeros have 30");
  has(message([&] { solver.solve(values, wrong, x); }), "b has 4 entries, and 3 systems of 4 rows have 12");
  has(message([&] { solver.solve(values, b, wrong); }), "x has 4 entries, and 3 systems of 4 rows have 12");
  has(message([&] { solver.set_tolerances(-1, 0); }), "negative");
  has(message([&] { solver.set_max_iterations(-1); }), "max_iterations is -1");
  has(message([&] { solver.set_deadline(0); }), "deadline");
  solver.cancel();  // nothing runs

  ::setenv("WHILST_EXECUTOR", "abacus", 1);
  has(message([&] { make({}); }), "WHILST_EXECUTOR");
  ::setenv("WHILST_EXECUTOR", "graph", 1);
  has(message([&] { make({}); }), "no exception");
  ::setenv("WHILST_EXECUTOR", "host", 1);
  CHECK(batch_linear_solver<double>(A, 3).device() == whilst::describe_machine().processor);
  ::unsetenv("WHILST_EXECUTOR");
}

TEST_CASE("a method that records steps is refused where it must be one kernel", "[linear]") {
  const auto A = convection_diffusion<double>(6);
  const auto message_of = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const whilst::error& problem) {
      return problem.what();
    }
    return "no exception";
  };
  CHECK(message_of([&] { whilst::batch_linear_solver<double>(A, 3, {.method = "idr"}); }) ==
        "making a batch solver: method idr records steps for one large system, and a batch is one kernel. Use "
        "another method, or a linear_solver for each system");
  if (executors().size() > 1)
    CHECK(message_of([&] {
            whilst::linear_solver<double>(A, {.method = "idr", .executor = "resident"});
          }).find("Use graph or stream") != std::string::npos);
}

#if WHILST_WITH_CUDA

namespace {

/// A batch in device memory.
template <class T>
struct batch_on_gpu {
  whilst::buffer<T> values, b, x;

  explicit batch_on_gpu(const batch<T>& given)
      : values(whilst::place::gpu(0), static_cast<index_type>(given.values.size())),
        b(whilst::place::gpu(0), static_cast<index_type>(given.b.size())),
        x(whilst::place::gpu(0), static_cast<index_type>(given.x.size())) {
    values.upload(given.values.data());
    b.upload(given.b.data());
    x.upload(given.x.data());
  }
};

}  // namespace

TEST_CASE("a batch is enqueued without waiting or allocating", "[batch][gpu]") {
  if (!has_gpu()) return;
  batch<double> given(whilst::make_gallery<double>("poisson2d:20").matrix, 300);
  batch_on_gpu<double> on_gpu(given);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  batch_linear_solver<double> solver(given.pattern, given.systems, {.rtol = 1e-12, .executor = "batch"});
  std::vector<std::string> calls;
  whilst::cuda::observer() = [&](std::string_view call) {
    calls.emplace_back(call);
    return cudaSuccess;
  };
  std::vector<whilst::batch_ticket> tickets;
  for (int i = 0; i < 4; ++i)
    tickets.push_back(solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data()));
  for (int i = 0; i < 20; ++i) {
    tickets.pop_back();
    tickets.push_back(solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data()));
  }
  whilst::cuda::observer() = nullptr;
  CHECK_FALSE(calls.empty());
  for (const std::string& call : calls) {
    INFO(call);
    CHECK(call.find("Synchronize") == std::string::npos);
    CHECK(call.find("Alloc") == std::string::npos);
    CHECK(call.find("Create") == std::string::npos);
  }
  const batch_report r = tickets.front().wait();
  CHECK(tickets.front().done());
  CHECK(r.all_converged());
  CHECK(r.solve_seconds() > 0);
  for (const system_outcome& system : tickets.back().wait()) CHECK(system.iterations == 0);
  on_gpu.x.download(given.x.data());
  for (index_type k = 0; k < given.systems; ++k)
    REQUIRE(relative_residual(given.matrix(k), given.b_of(k), given.x_of(k)) <= 2e-12);
}

TEST_CASE("a batch on a GPU is cancelled, those that wait for their turn too", "[batch][gpu]") {
  if (!has_gpu()) return;
  // Sizes for a thread and a block; more systems than fit the device at once, without a tolerance that they can reach.
  for (const char* name : {"poisson1d:8", "poisson2d:60"}) {
    const auto pattern = whilst::make_gallery<double>(name).matrix;
    batch<double> given(pattern, pattern.rows() < 12 ? 400'000 : 2000);
    batch_on_gpu<double> on_gpu(given);
    const whilst::cuda::stream stream = whilst::cuda::make_stream();
    batch_linear_solver<double> solver(given.pattern, given.systems,
                                       {.rtol = 0, .max_iterations = 100'000'000, .executor = "batch"});
    held_stream held(stream.get());
    const auto ticket = solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data());
    ticket.cancel();
    held.open();
    const batch_report r = ticket.wait();
    INFO(name << ": " << r.message());
    for (const system_outcome& system : r) {
      REQUIRE(system.reason == reason::cancelled);
      REQUIRE(system.iterations <= 2);
    }
    solver.set_tolerances(1e-2, 0);
    CHECK(solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data()).wait().all_converged());
  }
}

TEST_CASE("batches in a queue are cancelled each by itself", "[batch][gpu]") {
  if (!has_gpu()) return;
  batch<double> given(whilst::make_gallery<double>("poisson2d:60").matrix, 2000);
  batch_on_gpu<double> first_on_gpu(given), second_on_gpu(given);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  batch_linear_solver<double> solver(given.pattern, given.systems,
                                     {.rtol = 0, .max_iterations = 100'000'000, .executor = "batch"});
  const auto enqueue = [&](batch_on_gpu<double>& on_gpu) {
    return solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data());
  };
  for (const bool at_once : {false, true}) {
    held_stream held(stream.get());
    const auto first = enqueue(first_on_gpu), second = enqueue(second_on_gpu);
    if (at_once) {
      solver.cancel();
    } else {
      second.cancel();
      first.cancel();
    }
    held.open();
    INFO(first.wait().message() << "\n" << second.wait().message());
    CHECK(first.wait()[given.systems - 1].reason == reason::cancelled);
    for (const system_outcome& system : second.wait()) {
      REQUIRE(system.reason == reason::cancelled);
      REQUIRE(system.iterations <= 2);
    }
  }
}

TEST_CASE("a batch becomes part of a graph that is being captured", "[batch][gpu]") {
  if (!has_gpu()) return;
  batch<double> given(whilst::make_gallery<double>("poisson1d:40").matrix, 100);
  given.shift_all(6);
  batch_on_gpu<double> on_gpu(given);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  batch_linear_solver<double> solver(given.pattern, given.systems, {.rtol = 1e-12, .executor = "batch"});
  std::optional<whilst::batch_ticket> ticket;
  const whilst::cuda::graph_exec graph = captured_batch(stream.get(), [&] {
    ticket = solver.enqueue(stream.get(), on_gpu.values.data(), on_gpu.b.data(), on_gpu.x.data());
  });
  CHECK_FALSE(ticket->done());
  REQUIRE_THROWS_WITH(ticket->wait(), contains("has not completed a launch yet"));
  for (int launch = 0; launch < 2; ++launch) {
    on_gpu.x.upload(given.x.data());
    launch_and_wait(graph, stream.get());
    CHECK(ticket->done());
    const batch_report r = ticket->wait();
    CHECK(r.all_converged());
    CHECK(r[0].iterations > 0);
    CHECK(r.solve_seconds() == 0);
  }
  on_gpu.x.download(given.x.data());
  for (index_type k = 0; k < given.systems; ++k)
    REQUIRE(relative_residual(given.matrix(k), given.b_of(k), given.x_of(k)) <= 2e-12);
}

#endif

// The address sanitizer ends the program where so much is asked for.
#if !defined(WHILST_SANITIZE)
TEST_CASE("batches beyond any memory are refused", "[sizes][batch]") {
  const std::vector<std::int32_t> offsets{0, 1}, column{0};
  const std::vector<double> value{1};
  const whilst::csr_matrix<double> one(1, 1, offsets, column, value);
  for (int power = 50; power <= 62; ++power)
    CHECK_THROWS_AS(whilst::batch_linear_solver<double>(one, index_type{1} << power, {.executor = "host"}),
                    whilst::error);
}
#endif

}  // namespace whilst_test
