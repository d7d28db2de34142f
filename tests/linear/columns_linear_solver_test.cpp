// Several right-hand sides at once, against a direct solver and against single solves.

#include "whilst/columns_linear_solver.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <Eigen/SparseCholesky>

#include "solvers/linear/columns/record_columns.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst_test {

using whilst::columns_linear_solver;
using whilst::columns_report;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::system_outcome;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A tolerance that T can reach on well conditioned systems: rounding of a residual is some 10 epsilon of ||b||.
template <class T>
constexpr double reachable = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Right-hand sides of one matrix, column after column.
template <class T>
struct many {
  csr_matrix<T> A;
  index_type columns;
  std::vector<T> b, x;

  many(csr_matrix<T> of, index_type columns)
      : A(std::move(of)), columns(columns), b(random_vector<T>(columns * A.rows(), 7)), x(b.size(), T(0)) {}

  std::vector<T> column(const std::vector<T>& all, index_type k) const {
    return {all.begin() + k * A.rows(), all.begin() + (k + 1) * A.rows()};
  }
  std::vector<T> b_of(index_type k) const { return column(b, k); }
  std::vector<T> x_of(index_type k) const { return column(x, k); }
  void set_b(index_type k, double value) { std::fill_n(b.begin() + k * A.rows(), A.rows(), static_cast<T>(value)); }
  void scale_b(index_type k, double by) {
    for (index_type i = 0; i < A.rows(); ++i) b[static_cast<std::size_t>(k * A.rows() + i)] *= static_cast<T>(by);
  }
  void set_x(index_type k, const std::vector<T>& to) { std::copy(to.begin(), to.end(), x.begin() + k * A.rows()); }

  columns_report solve(const linear_solver_options& options) {
    columns_linear_solver<T> solver(A, columns, options);
    CHECK(solver.is_at_once());
    const columns_report result = solver.solve(b, x);
    CHECK(result.size() == columns);
    CHECK(result.executor() == solver.executor());
    CHECK(result.note().empty());
    return result;
  }
};

template <class T>
bool same_bits(const std::vector<T>& one, const std::vector<T>& other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(T)) == 0;
}

std::string error_of(const auto& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no error";
}

/// A diagonal matrix: conjugate gradients take an iteration for each different entry that b has a share of.
template <class T>
csr_matrix<T> diagonal(index_type n, const auto& entry) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) t.row({{i, entry(i)}});
  return t.matrix();
}

}  // namespace

TEMPLATE_TEST_CASE("three columns of a 3 x 3 system by hand", "[columns][sanitizer][race]", float, double) {
  // [2 -1 0; -1 2 -1; 0 -1 2] has these solutions of [1 0 1], [2 2 2], and [0 0 4].
  triplets<TestType> t(3);
  t.row({{0, 2}, {1, -1}});
  t.row({{0, -1}, {1, 2}, {2, -1}});
  t.row({{1, -1}, {2, 2}});
  const std::vector<double> exact{1, 1, 1, 3, 4, 3, 1, 2, 3};
  for (const std::string& executor : executors_with_steps()) {
    for (const char* preconditioner : {"none", "jacobi"}) {
      INFO(executor << ", " << preconditioner);
      many<TestType> given(t.matrix(), 3);
      given.b = {1, 0, 1, 2, 2, 2, 0, 0, 4};
      const columns_report r =
          given.solve({.preconditioner = preconditioner, .rtol = reachable<TestType>, .executor = executor});
      CHECK(r.all_converged());
      CHECK(r.preconditioner() == preconditioner);
      for (const system_outcome& column : r) CHECK(column.reason == reason::converged_rtol);
      CHECK(r[0].iterations == 2);  // symmetric vectors have two dimensions
      CHECK(r[1].iterations == 2);
      CHECK(r[2].iterations == 3);
      CHECK(r[1].rhs_norm == Approx(std::sqrt(12)));
      for (std::size_t i = 0; i < exact.size(); ++i)
        CHECK(static_cast<double>(given.x[i]) == Approx(exact[i]).epsilon(10 * reachable<TestType>));
    }
  }
}

TEMPLATE_TEST_CASE("columns of every number and size agree with a direct solver and with single solves", "[columns]",
                   float, double) {
  for (const std::string& executor : executors_with_steps()) {
    for (const char* problem : {"poisson1d:1", "poisson1d:7", "poisson2d:23", "elasticity2d:3"}) {
      const csr_matrix<TestType> A = whilst::make_gallery<TestType>(problem).matrix;
      const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> direct(Eigen::SparseMatrix<double>(to_eigen(A)));
      for (const index_type columns : {1, 2, 3, 16, 64}) {
        for (const char* preconditioner : {"none", "jacobi"}) {
          if (under_sanitizers && columns == 64 && preconditioner == std::string("none")) continue;
          INFO(executor << ", " << problem << ", " << columns << " columns, " << preconditioner);
          const linear_solver_options options{
              .preconditioner = preconditioner, .rtol = 1e3 * reachable<TestType>, .executor = executor};
          many<TestType> given(A, columns);
          const columns_report r = given.solve(options);
          CHECK(r.all_converged());
          linear_solver<TestType> single(A, options);
          for (index_type k = 0; k < columns; ++k) {
            CAPTURE(k);
            std::vector<TestType> x(static_cast<std::size_t>(A.rows()), 0);
            const whilst::report alone = single.solve(given.b_of(k), x);
            CHECK(r[k].reason == alone.reason());
            // Rounding decides whether the last iteration, or the last few of many, are needed.
            CHECK(std::abs(static_cast<double>(r[k].iterations - alone.iterations())) <=
                  1 + 0.1 * static_cast<double>(alone.iterations()));
            CHECK(r[k].rhs_norm == Approx(alone.rhs_norm()));
            const double residual = relative_residual(A, given.b_of(k), given.x_of(k));
            CHECK(residual <= options.rtol * 1.01 + reachable<TestType>);
            CHECK(r[k].relative_residual() == Approx(residual).margin(reachable<TestType>));
            if (sizeof(TestType) == 8) {
              const Eigen::VectorXd exact = direct.solve(to_eigen(given.b_of(k)));
              // The error is at most the condition, some 1e4 here, times the residual.
              CHECK((to_eigen(given.x_of(k)) - exact).norm() <= 1e5 * options.rtol * exact.norm());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("columns without rows have converged", "[columns]") {
  const csr_matrix<double> A(0, 0, std::vector<std::int32_t>{0}, std::vector<std::int32_t>{}, std::vector<double>{});
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> given(A, 3);
    CHECK(given.solve({.preconditioner = "jacobi", .executor = executor}).all_converged());
  }
}

TEST_CASE("columns of many pieces, of pieces of several rows", "[columns]") {
  // 2048 pieces of 64 rows are 131 072 rows; beyond, pieces grow.
  const csr_matrix<double> A = diagonal<double>(140'001, [](int i) { return 1 + i % 5; });
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> given(A, 3);
    const columns_report r = given.solve({.rtol = 1e-12, .executor = executor});
    CHECK(r.all_converged());
    for (const system_outcome& column : r) CHECK(column.iterations == 5);
    double worst = 0;
    for (std::size_t i = 0; i < given.x.size(); ++i)
      worst = std::max(worst, std::abs(given.x[i] * (1 + static_cast<int>(i % 140'001) % 5) - given.b[i]));
    CHECK(worst < 1e-10);
  }
}

TEMPLATE_TEST_CASE("each column ends for itself and leaves the others alone", "[columns]", float, double) {
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson2d:12").matrix;
  for (const std::string& executor : executors_with_steps()) {
    for (const char* preconditioner : {"none", "jacobi"}) {
      INFO(executor << ", " << preconditioner);
      const linear_solver_options options{.preconditioner = preconditioner,
                                          .rtol = 10 * reachable<TestType>,
                                          .max_iterations = 60,
                                          .executor = executor};
      many<TestType> healthy(A, 7);
      CHECK(healthy.solve(options).all_converged());

      many<TestType> given(A, 7);
      given.set_b(1, 0);
      given.set_x(1, std::vector<TestType>(static_cast<std::size_t>(A.rows()), 3));
      given.set_x(2, healthy.x_of(2));  // solved already
      given.b[static_cast<std::size_t>(3 * A.rows() + 5)] = static_cast<TestType>(not_a_number);
      given.scale_b(4, sizeof(TestType) == 4 ? 1e-20 : 1e-200);
      given.x[static_cast<std::size_t>(6 * A.rows() + 8)] = std::numeric_limits<TestType>::infinity();
      const columns_report r = given.solve(options);
      CHECK(r[0].reason == reason::converged_rtol);
      CHECK(same_bits(given.x_of(0), healthy.x_of(0)));
      CHECK(r[1].converged());
      CHECK(r[1].iterations == 0);
      CHECK(r[1].residual_norm == 0);
      for (const TestType value : given.x_of(1)) CHECK(value == 0);
      CHECK(r[2].converged());
      CHECK(r[2].iterations == 0);
      CHECK(same_bits(given.x_of(2), healthy.x_of(2)));
      CHECK(r[3].reason == reason::nan_or_infinity);
      for (const TestType value : given.x_of(3)) CHECK(std::isfinite(value));
      CHECK(r[4].reason == reason::converged_rtol);
      CHECK(r[5].reason == reason::converged_rtol);
      CHECK(same_bits(given.x_of(5), healthy.x_of(5)));
      CHECK(r[6].reason == reason::nan_or_infinity);
      CHECK(r.number_converged() == 5);
      CHECK(r.message().find("5 of 7 columns converged; the worst, column ") == 0);
      CHECK(r.message(1).find("converged: ") == 0);
    }
  }
}

TEMPLATE_TEST_CASE("a column that has stopped keeps its bits while another goes on", "[columns][sanitizer]", float,
                   double) {
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson1d:90").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options options{.rtol = 1e3 * reachable<TestType>, .executor = executor};
    many<TestType> alone(A, 2), beside(A, 2);
    for (index_type i = 0; i < 90; ++i)  // an eigenvector but for rounding, and then one that takes 90 iterations
      alone.b[static_cast<std::size_t>(i)] =
          static_cast<TestType>(std::sin(3.14159265358979 * static_cast<double>(i + 1) / 91));
    alone.set_b(1, 0);
    std::copy_n(alone.b.begin(), 90, beside.b.begin());
    const columns_report r_alone = alone.solve(options), r = beside.solve(options);
    CHECK(r[0].iterations < 10);
    CHECK(r[1].iterations > 40);
    CHECK(r[0].iterations == r_alone[0].iterations);
    CHECK(r[0].residual_norm == r_alone[0].residual_norm);
    CHECK(same_bits(beside.x_of(0), alone.x_of(0)));
  }
}

TEST_CASE("the limit is each column's", "[columns]") {
  // By the number of different eigenvalues that b has a share of: 1, 3 and 9 iterations.
  const csr_matrix<double> A = diagonal<double>(9, [](int i) { return 1 + i; });
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    for (const int limit : {0, 1, 3, 5, 20}) {
      CAPTURE(limit);
      many<double> given(A, 3);
      std::fill(given.b.begin(), given.b.end(), 0);
      for (const auto& [column, share] : {std::pair(0, 1), {1, 3}, {2, 9}})
        for (int i = 0; i < share; ++i) given.b[static_cast<std::size_t>(9 * column + i)] = 1;
      const columns_report r = given.solve({.rtol = 1e-12, .max_iterations = limit, .executor = executor});
      for (const auto& [column, needs] : {std::pair(0, 1), {1, 3}, {2, 9}}) {
        CAPTURE(column);
        CHECK(r[column].reason == (limit < needs ? reason::iteration_limit : reason::converged_rtol));
        CHECK(r[column].iterations == std::min(limit, needs));
      }
    }
  }
}

TEMPLATE_TEST_CASE("columns of every scale, of matrices of either sign", "[columns]", float, double) {
  const double far = sizeof(TestType) == 4 ? 1e-15 : 1e-200;
  for (const std::string& executor : executors_with_steps()) {
    for (const double of_matrix : {1.0, -1.0, far, -1 / far}) {
      for (const char* preconditioner : {"none", "jacobi"}) {
        INFO(executor << ", " << of_matrix << ", " << preconditioner);
        triplets<TestType> t(40);
        for (int i = 0; i < 40; ++i) {
          if (i == 0) t.row({{0, 2 * of_matrix}, {1, -of_matrix}});
          if (i > 0 && i < 39) t.row({{i - 1, -of_matrix}, {i, 2 * of_matrix}, {i + 1, -of_matrix}});
          if (i == 39) t.row({{38, -of_matrix}, {39, 2 * of_matrix}});
        }
        many<TestType> given(t.matrix(), 3), plain(given.A, 3);
        const double size = std::abs(of_matrix);
        for (index_type k = 0; k < 3; ++k) plain.scale_b(k, size);
        for (index_type k = 0; k < 3; ++k) given.scale_b(k, k == 0 ? size : k == 1 ? size * 1e10 : size / 1e10);
        const linear_solver_options options{
            .preconditioner = preconditioner, .rtol = 1e2 * reachable<TestType>, .executor = executor};
        const columns_report r = given.solve(options), r_plain = plain.solve(options);
        for (index_type k = 0; k < 3; ++k) {
          CAPTURE(k);
          CHECK(r[k].reason == reason::converged_rtol);
          CHECK(std::abs(r[k].iterations - r_plain[k].iterations) <= 1);
          for (index_type i = 0; i < 40; ++i) {
            const double x = static_cast<double>(given.x_of(k)[static_cast<std::size_t>(i)]);
            const double other = static_cast<double>(plain.x_of(k)[static_cast<std::size_t>(i)]);
            // The condition is 700.
            CHECK(x / (k == 0 ? 1 : k == 1 ? 1e10 : 1e-10) == Approx(other).margin(1e6 * reachable<TestType>));
          }
        }
      }
    }
  }
}

TEST_CASE("a column without positive curvature says so, and so does one without digits", "[columns]") {
  const csr_matrix<double> A = diagonal<double>(6, [](int i) { return i == 5 ? -3.0 : 1.0 + i; });
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> given(A, 2);
    std::fill(given.b.begin(), given.b.end(), 0);
    for (const std::size_t i : {0, 1, 2}) given.b[i] = 1;  // no share of the negative one
    given.b[6 + 5] = given.b[6 + 1] = 1;
    const columns_report r = given.solve({.rtol = 1e-12, .executor = executor});
    CHECK(r[0].reason == reason::converged_rtol);
    CHECK(r[0].iterations == 3);
    CHECK(r[1].reason == reason::indefinite_operator);
    for (const double value : given.x) CHECK(std::isfinite(value));

    // Beyond what doubles can reach the recurrence converges, and the recomputed residual does not: restarts, in vain.
    many<double> hard(whilst::make_gallery<double>("poisson1d:300").matrix, 3);
    hard.set_b(1, 0);
    const columns_report ended = hard.solve({.rtol = 1e-17, .executor = executor});
    CHECK(ended[0].reason == reason::attainable_accuracy);
    CHECK(ended[1].converged());
    CHECK(ended[2].reason == reason::attainable_accuracy);
    CHECK(ended[0].relative_residual() < 1e-10);
  }
}

TEST_CASE("a restart takes up a column whose recurrence had drifted", "[columns]") {
  // x0 is so far off that the residual's rounding, a part of ||r0||, is much more than the tolerance.
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:15").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> given(A, 3);
    given.set_x(1, std::vector<double>(static_cast<std::size_t>(A.rows()), 1e9));
    const columns_report r = given.solve({.rtol = 1e-12, .dtol = 1e20, .executor = executor});
    CHECK(r.all_converged());
    CHECK(r[1].iterations > r[0].iterations);
    CHECK(relative_residual(A, given.b_of(1), given.x_of(1)) < 2e-12);
  }
}

TEST_CASE("each launch gives the same bits, for any number of threads", "[columns][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    columns_linear_solver<double> solver(A, 5, {.rtol = 1e-10, .executor = executor});
    many<double> first(A, 5);
    const columns_report r = solver.solve(first.b, first.x);
    for (int again = 0; again < 3; ++again) {
      many<double> given(A, 5);
      const columns_report repeated = solver.solve(given.b, given.x);
      CHECK(same_bits(given.x, first.x));
      for (index_type k = 0; k < 5; ++k) CHECK(repeated[k].iterations == r[k].iterations);
    }
    many<double> alone(A, 5);
    CHECK(alone.solve({.rtol = 1e-10, .executor = executor, .threads = 1}).all_converged());
    CHECK(same_bits(alone.x, first.x));
    solver.set_tolerances(1e-4, 0);
    std::fill(alone.x.begin(), alone.x.end(), 0);
    CHECK(solver.solve(alone.b, alone.x)[0].iterations < r[0].iterations);
    std::vector<double> twice(A.values().begin(), A.values().end());
    for (double& value : twice) value *= 2;
    solver.update_values(twice);
    solver.set_tolerances(1e-10, 0);
    std::fill(alone.x.begin(), alone.x.end(), 0);
    CHECK(solver.solve(alone.b, alone.x).all_converged());
    for (double& value : alone.x) value *= 2;
    CHECK(same_bits(alone.x, first.x));
  }
}

TEST_CASE("columns within larger matrices, and X in the memory of B", "[columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:6").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> given(A, 4);
    given.solve({.executor = executor});
    columns_linear_solver<double> solver(A, 4, {.executor = executor});
    std::vector<double> b(4 * 40, -1), x(4 * 50, -2);
    for (index_type k = 0; k < 4; ++k) {
      std::copy_n(given.b.begin() + k * 36, 36, b.begin() + k * 40);
      std::fill_n(x.begin() + k * 50, 36, 0);
    }
    CHECK(solver.solve(b.data(), 40, x.data(), 50).all_converged());
    for (index_type k = 0; k < 4; ++k) {
      CHECK(same_bits({x.begin() + k * 50, x.begin() + k * 50 + 36}, given.x_of(k)));
      for (index_type i = 36; i < 50; ++i) CHECK(x[static_cast<std::size_t>(k * 50 + i)] == -2);
    }
    std::vector<double> both = given.b;
    CHECK(solver.solve(both, both).all_converged());
    CHECK((to_eigen(both) - to_eigen(given.x)).norm() < 1e-5 * to_eigen(given.x).norm());
  }
}

namespace {

/// Another thread cancels all the while.
columns_report solve_while_cancelled(columns_linear_solver<double>& solver, many<double>& given) {
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) {
      solver.cancel();
      std::this_thread::yield();
    }
  });
  columns_report told = solver.solve(given.b, given.x);
  ended = true;
  other.join();
  return told;
}

}  // namespace

TEST_CASE("a cancel and a deadline end all columns that run", "[columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:100").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const linear_solver_options endless{.rtol = 0, .max_iterations = 100'000'000, .executor = executor};
    many<double> given(A, 3);
    given.set_b(1, 0);
    columns_linear_solver<double> solver(A, 3, endless);
    const columns_report r = solve_while_cancelled(solver, given);
    CHECK(r[0].reason == reason::cancelled);
    CHECK(r[1].converged());
    CHECK(r[2].reason == reason::cancelled);
    solver.set_deadline(1e-3);
    const columns_report late = solver.solve(given.b, given.x);
    CHECK(late[0].reason == reason::deadline);
    CHECK(late[1].converged());
    for (const double value : given.x) REQUIRE(std::isfinite(value));
    solver.set_deadline(1e9);
    solver.set_tolerances(1e-6, 0);
    CHECK(solver.solve(given.b, given.x).all_converged());
    // The correction so far counts: the residual is the recurrence's, and true but for rounding.
    CHECK(relative_residual(A, given.b_of(0), given.x_of(0)) < 1.01e-6);
  }
}

TEST_CASE("enqueued columns, on two streams", "[columns][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> expected(A, 3);
    const columns_report r = expected.solve({.executor = executor});
    columns_linear_solver<double> solver(A, 3, {.executor = executor});
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const index_type entries = 3 * A.rows();
    const whilst::buffer<double> b(where, entries, expected.b.data()), one(where, entries), other(where, entries);
#if WHILST_WITH_CUDA
    whilst::cuda::stream made[2];
    if (executor != "host")
      for (whilst::cuda::stream& stream : made) stream = whilst::cuda::make_stream();
    whilst::stream_handle streams[2] = {made[0].get(), made[1].get()};
#else
    whilst::stream_handle streams[2] = {};
#endif
    const whilst::columns_ticket first = solver.enqueue(streams[0], b.data(), one.data());
    const whilst::columns_ticket second = solver.enqueue(streams[1], b.data(), other.data());
    for (const auto& [ticket, x] : {std::pair(first, &one), {second, &other}}) {
      const columns_report ended = ticket.wait();
      CHECK(ticket.done());
      ticket.cancel();  // too late to matter
      for (index_type k = 0; k < 3; ++k) CHECK(ended[k].iterations == r[k].iterations);
      std::vector<double> solution(expected.x.size());
      x->download(solution.data());
      CHECK(same_bits(solution, expected.x));
    }
  }
}

TEST_CASE("columns of a matrix with 64-bit offsets", "[columns]") {
  // A solver narrows offsets where it can, so the request is made by hand.
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:9").matrix;
  std::vector<std::int64_t> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(A.row_offset(i));
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    many<double> expected(A, 3);
    const linear_solver_options options{.preconditioner = "jacobi", .executor = executor};
    expected.solve(options);
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const whilst::buffer<std::int64_t> wide(where, A.rows() + 1, offsets.data());
    whilst::matrix_on_place<double> placed(A, where, true);
    whilst::solve_request<double> request = placed.request();
    request.row_offsets = wide.data();
    request.offsets_64 = true;
    request.preconditioner = whilst::preconditioner_kind::jacobi;
    request.systems = 3;
    const whilst::executor how = executor == "host"     ? whilst::executor::host
                                 : executor == "stream" ? whilst::executor::stream
                                                        : whilst::executor::graph;
    whilst::prepared_solve<double> solve(request, whilst::record_columns(request), how, options,
                                         std::chrono::steady_clock::now());
    std::vector<double> x(expected.x.size(), 0);
    CHECK(whilst::columns_ticket(solve.solve(std::span<const double>(expected.b), x)).wait().all_converged());
    CHECK(same_bits(x, expected.x));
  }
}

TEST_CASE("other methods and formats solve one column after another", "[columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const csr_matrix<double> unsymmetric = convection_diffusion<double>(144);
  struct kind {
    linear_solver_options options;
    bool is_symmetric;
    const char* note;
  };
  for (const kind& one : {kind{{.method = "gmres"}, false, "method gmres takes one right-hand side"},
                          {{.method = "minres"}, true, "method minres takes one right-hand side"},
                          {{.method = "auto"}, false, "method bicgstab was chosen, since the matrix is not symmetric"},
                          {{.format = "sell"}, true, "format sell multiplies one vector"}}) {
    INFO(one.note);
    linear_solver_options options = one.options;
    options.executor = "host";
    many<double> given(one.is_symmetric ? A : unsymmetric, 4);
    given.set_b(2, 0);
    columns_linear_solver<double> solver(given.A, 4, options);
    CHECK_FALSE(solver.is_at_once());
    const columns_report r = solver.solve(given.b, given.x);
    CHECK(r.all_converged());
    CHECK(r.note() == "one column after another, since " + std::string(one.note));
    CHECK(r[2].iterations == 0);
    linear_solver<double> single(given.A, options);
    for (index_type k = 0; k < 4; ++k) {
      std::vector<double> x(144, 0);
      const whilst::report alone = single.solve(given.b_of(k), x);
      CHECK(r[k].iterations == alone.iterations());
      CHECK(same_bits(given.x_of(k), x));
    }
    CHECK(error_of([&] {
            solver.enqueue(nullptr, given.b.data(), given.x.data());
          }).find("they are solved one after another, since " + std::string(one.note)) != std::string::npos);
    solver.set_deadline(1e-9);
    given.x.assign(given.x.size(), 0);
    const columns_report late = solver.solve(given.b, given.x);
    CHECK(late[3].reason == reason::deadline);
    for (const double value : given.x_of(3)) CHECK(value == 0);
    solver.set_deadline(1e9);
    CHECK(solver.solve(given.b, given.x).all_converged());
  }
  many<double> automatic(A, 3);
  CHECK(automatic.solve({.method = "auto", .executor = "host"}).method() == "cg");
}

TEST_CASE("a cancel ends the columns that have not begun", "[columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:100").matrix;
  many<double> given(A, 3);
  columns_linear_solver<double> solver(
      A, 3, {.method = "minres", .rtol = 0, .max_iterations = 100'000'000, .executor = "host"});
  const columns_report r = solve_while_cancelled(solver, given);
  for (const system_outcome& column : r) CHECK(column.reason == reason::cancelled);
  for (const double value : given.x_of(2)) CHECK(value == 0);
}

TEST_CASE("misuse of several columns is refused by name", "[columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:4").matrix;
  const auto making = [&](index_type columns, linear_solver_options options = {}) {
    options.executor = "host";
    return error_of([&] { columns_linear_solver<double>(A, columns, options); });
  };
  CHECK(making(65).find("the number of columns is 65. Give 1 to 64") != std::string::npos);
  CHECK(making(0).find("the number of columns is 0") != std::string::npos);
  CHECK(making(2, {.method = "gc"}).find("there is no method called 'gc'") != std::string::npos);
  CHECK(making(2, {.preconditioner = "solve"}).find("M changes") != std::string::npos);
  CHECK(making(2, {.rtol = -1}).find("a tolerance is negative") != std::string::npos);
  const csr_matrix<double> wide(1, 2, std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{1},
                                std::vector<double>{1});
  CHECK(error_of([&] { columns_linear_solver<double>(wide, 2, {.executor = "host"}); }).find("1 rows and 2 columns") !=
        std::string::npos);
  columns_linear_solver<double> solver(A, 2, {.executor = "host"});
  std::vector<double> b(8, 1), x(7, 0);
  CHECK(error_of([&] { solver.solve(b, x); }).find("X has 7 entries, and 2 columns of 4 have 8") != std::string::npos);
  CHECK(error_of([&] { solver.solve(b.data(), 3, x.data(), 4); }).find("begin 3 apart") != std::string::npos);
  CHECK(error_of([&] { solver.enqueue(nullptr, nullptr, x.data()); }).find("b is null") != std::string::npos);
}

}  // namespace whilst_test
