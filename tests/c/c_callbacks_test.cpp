// Functions of the caller's through the C interface: products, preconditioners, objectives, equations, and what becomes
// of their failures; several columns and eigenvalues.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "tests/c/c_handles.hpp"

namespace whilst_test {
namespace {

/// What callbacks get as `user`.
struct told {
  int calls = 0;
  int fail_at = -1;  ///< the call that returns 7
  bool throws = false;
  bool solves = false;
  whilst_solver* solver = nullptr;
  whilst_status inner = WHILST_OK;

  int called(void* stream) {
    CHECK(stream == nullptr);
    if (throws) throw std::runtime_error("of the caller's");
    if (solves) {
      double b = 1, x = 0;
      inner = whilst_solve(solver, &b, 1, &x, 1, nullptr);
    }
    return ++calls == fail_at ? 7 : 0;
  }
};

/// Rows of -1, 2, -1.
template <class T>
int second_difference(void* user, void* stream, std::int64_t rows, std::int64_t columns, const void* from, void* to) {
  CHECK(rows == columns);
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (std::int64_t i = 0; i < rows; ++i) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < rows - 1 ? x[i + 1] : 0);
  return static_cast<told*>(user)->called(stream);
}
template <class T>
int halve(void* user, void* stream, std::int64_t rows, std::int64_t, const void* from, void* to) {
  for (std::int64_t i = 0; i < rows; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] / 2;
  return static_cast<told*>(user)->called(stream);
}

/// (x, y) -> (x, 2 y, x + y) and its transpose.
int tall(void* user, void* stream, std::int64_t rows, std::int64_t columns, const void* from, void* to) {
  CHECK((rows == 3 && columns == 2));
  const double* x = static_cast<const double*>(from);
  double* y = static_cast<double*>(to);
  y[0] = x[0];
  y[1] = 2 * x[1];
  y[2] = x[0] + x[1];
  return static_cast<told*>(user)->called(stream);
}
int wide(void* user, void* stream, std::int64_t rows, std::int64_t columns, const void* from, void* to) {
  CHECK((rows == 2 && columns == 3));
  const double* x = static_cast<const double*>(from);
  double* y = static_cast<double*>(to);
  y[0] = x[0] + x[2];
  y[1] = 2 * x[1] + x[2];
  return static_cast<told*>(user)->called(stream);
}

template <class T>
int rosenbrock(void* user, void* stream, std::int64_t n, const void* point, double* value, void* gradient) {
  const T* x = static_cast<const T*>(point);
  T* g = static_cast<T*>(gradient);
  *value = 0;
  for (std::int64_t i = 0; i < n; i += 2) {
    const T along = 1 - x[i], across = x[i + 1] - x[i] * x[i];
    *value += along * along + 100 * across * across;
    g[i] = -2 * along - 400 * x[i] * across;
    g[i + 1] = 200 * across;
  }
  return static_cast<told*>(user)->called(stream);
}

/// F_i = x_i + x_(i+1)^2 / 4 - 5/4, around a ring: zero at ones.
template <class T>
int ring(void* user, void* stream, std::int64_t n, const void* point, void* residual) {
  const T* x = static_cast<const T*>(point);
  for (std::int64_t i = 0; i < n; ++i) {
    const T next = x[(i + 1) % n];
    static_cast<T*>(residual)[i] = x[i] + next * next / 4 - T(1.25);
  }
  return static_cast<told*>(user)->called(stream);
}

template <class T>
void check_line(bool with_matrix, bool preconditioned, int n) {
  CAPTURE(with_matrix, preconditioned, n, sizeof(T));
  told user;
  const double rtol = 1e3 * std::numeric_limits<T>::epsilon();
  c_solver solver;
  if (with_matrix)
    require_ok(whilst_linear_create_preconditioned(c_line<T>(n).copied(), WHILST_HOST, halve<T>, &user, "", &solver));
  else
    require_ok(whilst_linear_create_operator(number_of<T>(), WHILST_HOST, n, n, second_difference<T>, nullptr,
                                             preconditioned ? halve<T> : nullptr, &user, nullptr, &solver));
  require_ok(whilst_solver_set_tolerances(solver, rtol, 0));
  std::vector<T> b(static_cast<std::size_t>(n), T(1)), x(b.size());
  c_report report;
  require_ok(whilst_solve(solver, b.data(), n, x.data(), n, &report));
  CHECK(whilst_report_converged(report) == 1);
  CHECK(user.calls > 0);
  check_parabola(x, rtol);
}

/// A solver of n equations without a matrix.
c_solver operator_solver(told& user, int n, const char* options = nullptr) {
  c_solver solver;
  require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, n, n, second_difference<double>, nullptr,
                                           nullptr, &user, options, &solver));
  return solver;
}

template <class T>
void check_ones(const std::vector<T>& x, double within) {
  for (const T one : x) CHECK(std::abs(static_cast<double>(one) - 1) <= within);
}

}  // namespace

TEST_CASE("C: functions stand for the matrix and for the preconditioner", "[c]") {
  for (const int n : {1, 2, 60})
    for (const bool preconditioned : {false, true}) {
      check_line<float>(false, preconditioned, n);
      check_line<double>(false, preconditioned, n);
      if (!preconditioned) continue;
      check_line<float>(true, true, n);
      check_line<double>(true, true, n);
    }
}

TEST_CASE("C: least squares from a function and its transpose", "[c]") {
  told user;
  c_solver solver;
  require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, 3, 2, tall, wide, nullptr, &user,
                                           "method=lsqr,rtol=1e-13", &solver));
  const double b[3] = {1, 2, 5};
  double x[2] = {};
  require_ok(whilst_solve(solver, b, 3, x, 2, nullptr));
  // A'A x = A'b: 2 x + y = 6, x + 5 y = 9.
  const double within = 100 * std::numeric_limits<double>::epsilon();
  CHECK(std::abs(x[0] - 7.0 / 3) <= 1e3 * within);
  CHECK(std::abs(x[1] - 4.0 / 3) <= 1e3 * within);
}

TEST_CASE("C: a preconditioner of least squares has A's columns", "[c]") {
  // x + z = 1, y = 2, and nothing else is asked of x and z: the solution of least norm.
  const std::int32_t offsets[] = {0, 2, 3}, columns[] = {0, 2, 1};
  const double values[] = {1, 1, 1}, b[2] = {1, 2};
  c_matrix A;
  require_ok(whilst_matrix_copy(WHILST_DOUBLE, 2, 3, 3, offsets, 32, columns, 32, 0, values, &A));
  struct sizes {
    std::int64_t rows = 0, columns = 0;
  } seen;
  const whilst_apply same = [](void* user, void*, std::int64_t rows, std::int64_t columns, const void* r, void* z) {
    *static_cast<sizes*>(user) = {rows, columns};
    std::memcpy(z, r, static_cast<std::size_t>(columns) * sizeof(double));
    return 0;
  };
  c_solver solver;
  require_ok(whilst_linear_create_preconditioned(A, WHILST_HOST, same, &seen, "method=lsmr,rtol=1e-12", &solver));
  double x[3] = {};
  require_ok(whilst_solve(solver, b, 2, x, 3, nullptr));
  CHECK((seen.rows == 3 && seen.columns == 3));
  const double within = 1e3 * std::numeric_limits<double>::epsilon();
  CHECK((std::abs(x[0] - 0.5) <= within && std::abs(x[1] - 2) <= within && std::abs(x[2] - 0.5) <= within));
}

TEST_CASE("C: a callback that fails ends the solve, and the next one goes well", "[c]") {
  constexpr int n = 20;
  told user;
  const c_solver solver = operator_solver(user, n);
  std::vector<double> b(n, 1.0), x(n);
  const auto solve = [&] {
    std::fill(x.begin(), x.end(), 0);
    return whilst_solve(solver, b.data(), n, x.data(), n, nullptr);
  };
  require_ok(solve());
  user.fail_at = user.calls + 3;
  check_refused(solve(), "the callback A returned 7", WHILST_CALLBACK_FAILED);
  c_ticket ticket;
  user.fail_at = user.calls + 3;
  std::fill(x.begin(), x.end(), 0);
  check_refused(whilst_enqueue(solver, nullptr, b.data(), x.data(), &ticket), "the callback A returned 7",
                WHILST_CALLBACK_FAILED);
  CHECK(static_cast<whilst_ticket*>(ticket) == nullptr);
  user.throws = true;
  check_refused(solve(), "of the caller's", WHILST_INTERNAL_ERROR);
  user.throws = false;
  require_ok(solve());
  check_parabola(x, 1e-8);
}

TEST_CASE("C: a callback may not solve with its own solver, but with another", "[c]") {
  told user, other;
  const c_solver solver = operator_solver(user, 1), another = operator_solver(other, 1);
  double b = 1, x = 0;
  user.solves = true;
  user.solver = another;
  require_ok(whilst_solve(solver, &b, 1, &x, 1, nullptr));
  CHECK(user.inner == WHILST_OK);
  user.solver = solver;
  whilst_solve(solver, &b, 1, &x, 1, nullptr);
  CHECK(user.inner == WHILST_ERROR);
}

TEST_CASE("C: a solver that a callback destroys goes when its solve has ended", "[c]") {
  constexpr int n = 20;
  told user;
  whilst_solver* solver = nullptr;
  require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, n, n, second_difference<double>, nullptr,
                                           nullptr, &user, nullptr, &solver));
  const auto destroy = [](void* handle, std::int64_t, double) {
    return static_cast<int>(whilst_solver_destroy(static_cast<whilst_solver**>(handle)));
  };
  require_ok(whilst_solver_set_monitor(solver, destroy, &solver));
  std::vector<double> b(n, 1.0), x(n);
  require_ok(whilst_solve(solver, b.data(), n, x.data(), n, nullptr));
  check_parabola(x, 1e-8);
  CHECK(solver == nullptr);
}

TEMPLATE_TEST_CASE("C: a minimizer finds the end of the valley", "[c]", float, double) {
  constexpr int n = 10;
  told user;
  c_solver solver;
  require_ok(whilst_minimizer_create(number_of<TestType>(), WHILST_HOST, n, rosenbrock<TestType>, &user, "method=bfgs",
                                     &solver));
  require_ok(whilst_solver_set_tolerances(solver, 0, 1e4 * std::numeric_limits<TestType>::epsilon()));
  std::vector<TestType> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = i % 2 ? TestType(1) : TestType(-1.2);
  const std::vector<TestType> start = x;
  c_report report;
  require_ok(whilst_solve(solver, nullptr, 0, x.data(), n, &report));
  CHECK(whilst_report_converged(report) == 1);
  // The Hessian's least eigenvalue at the minimum is 0.4; rounding of the gradient, of terms near 400, comes on top.
  check_ones(x, 1e5 * std::numeric_limits<TestType>::epsilon());
  CHECK(whilst_report_number(report, WHILST_VALUE) < 1e-6);
  CHECK(whilst_report_number(report, WHILST_EVALUATIONS) == user.calls);
  CHECK_THAT(std::string(whilst_report_text(report, WHILST_MESSAGE)), contains("f = "));

  x = start;
  c_ticket ticket;
  require_ok(whilst_enqueue(solver, nullptr, nullptr, x.data(), &ticket));
  require_ok(whilst_ticket_wait(ticket, nullptr));
  check_ones(x, 1e5 * std::numeric_limits<TestType>::epsilon());
  user.fail_at = user.calls + 1;
  check_refused(whilst_solve(solver, nullptr, 0, x.data(), n, nullptr), "the callback function returned 7",
                WHILST_CALLBACK_FAILED);
}

TEMPLATE_TEST_CASE("C: equations are solved", "[c]", float, double) {
  constexpr int n = 6;
  for (const char* const options : {"", "method=anderson"}) {
    told user;
    c_solver solver;
    require_ok(whilst_equations_create(number_of<TestType>(), WHILST_HOST, n, ring<TestType>, &user, options, &solver));
    const double epsilon = std::numeric_limits<TestType>::epsilon();
    require_ok(whilst_solver_set_tolerances(solver, 0, 50 * epsilon));
    std::vector<TestType> x(n, TestType(0.5));
    x[2] = TestType(0.8);
    c_report report;
    require_ok(whilst_solve(solver, nullptr, 0, x.data(), n, &report));
    INFO(whilst_report_text(report, WHILST_MESSAGE));
    CHECK(whilst_report_converged(report) == 1);
    check_ones(x, 200 * epsilon);  // the Jacobian there is I + P / 2, with an inverse of norm 2
    CHECK(whilst_report_number(report, WHILST_EVALUATIONS) == user.calls);
    std::fill(x.begin(), x.end(), TestType(0.5));
    c_ticket ticket;
    require_ok(whilst_enqueue(solver, nullptr, nullptr, x.data(), &ticket));
    require_ok(whilst_ticket_wait(ticket, nullptr));
    check_ones(x, 200 * epsilon);
  }
}

TEST_CASE("C: functions in host memory run on the host, whatever the environment wishes", "[c]") {
  ::setenv("WHILST_EXECUTOR", "graph", 1);
  told user;
  c_solver minimizer, equations, by_products;
  const whilst_status statuses[]{
      whilst_minimizer_create(WHILST_DOUBLE, WHILST_HOST, 2, rosenbrock<double>, &user, "", &minimizer),
      whilst_equations_create(WHILST_DOUBLE, WHILST_HOST, 2, ring<double>, &user, "", &equations),
      whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, 2, 2, second_difference<double>, nullptr, nullptr,
                                    &user, "", &by_products)};
  ::unsetenv("WHILST_EXECUTOR");
  for (const whilst_status status : statuses) require_ok(status);
  for (whilst_solver* const solver : {static_cast<whilst_solver*>(minimizer), static_cast<whilst_solver*>(equations),
                                      static_cast<whilst_solver*>(by_products)})
    CHECK(std::string(whilst_solver_text(solver, WHILST_SOLVER_EXECUTOR)) == "host");
}

TEMPLATE_TEST_CASE("C: several columns at once", "[c]", float, double) {
  constexpr int n = 30, columns = 3;
  const c_line<TestType> line(n);
  const c_matrix matrix = line.copied();
  c_solver solver;
  require_ok(whilst_columns_create(matrix, columns, "executor=host", &solver));
  const double rtol = 1e3 * std::numeric_limits<TestType>::epsilon();
  require_ok(whilst_solver_set_tolerances(solver, rtol, 0));
  std::vector<TestType> B(n * columns), X(B.size());
  for (std::size_t i = 0; i < B.size(); ++i) B[i] = static_cast<TestType>(i / n + 1);
  const auto check = [&](double times) {
    for (std::size_t column = 0; column < columns; ++column)
      check_parabola(std::vector<TestType>(X.begin() + static_cast<std::ptrdiff_t>(column * n),
                                           X.begin() + static_cast<std::ptrdiff_t>((column + 1) * n)),
                     rtol, times * static_cast<double>(column + 1));
  };
  c_report report;
  require_ok(whilst_solve(solver, B.data(), n * columns, X.data(), n * columns, &report));
  check(1);
  CHECK(whilst_report_converged(report) == 1);
  int reasons[columns] = {};
  std::int64_t iterations[columns] = {};
  double residuals[columns] = {};
  CHECK(whilst_report_columns(report, columns, reasons, iterations, residuals) == columns);
  for (int column = 0; column < columns; ++column) {
    CHECK((reasons[column] == 2 && iterations[column] > 0 && residuals[column] <= rtol));
  }
  CHECK(whilst_report_columns(report, columns, nullptr, nullptr, nullptr) == columns);

  std::vector<TestType> values = line.values;
  for (TestType& value : values) value *= 2;
  require_ok(whilst_solver_update_values(solver, values.data(), line.nonzeros()));
  std::fill(X.begin(), X.end(), TestType(0));
  c_ticket ticket;
  require_ok(whilst_enqueue(solver, nullptr, B.data(), X.data(), &ticket));
  require_ok(whilst_ticket_wait(ticket, nullptr));
  check(0.5);
  check_refused(whilst_solver_progress(solver, nullptr, nullptr, nullptr), "several columns");
  check_refused(whilst_solver_bind_values(solver, values.data()), "no linear solver of one right-hand side");
  require_ok(whilst_solver_cancel(solver));
  CHECK_THAT(std::string(whilst_solver_text(solver, WHILST_SOLVER_MEMORY)), contains("the host"));
}

TEMPLATE_TEST_CASE("C: eigenvalues", "[c]", float, double) {
  constexpr int n = 40, count = 2;
  const c_matrix matrix = c_line<TestType>(n).copied();
  c_solver solver;
  require_ok(whilst_eigenvalues_create(matrix, "count=2, which=smallest, executor=host", &solver));
  const double rtol = 100 * std::numeric_limits<TestType>::epsilon();
  require_ok(whilst_solver_set_tolerances(solver, rtol, 0));
  check_refused(whilst_solver_set_tolerances(solver, rtol, 1), "no absolute tolerance");
  std::vector<TestType> X(n * count);
  c_report report;
  require_ok(whilst_solve(solver, nullptr, 0, X.data(), n * count, &report));
  CHECK(whilst_report_converged(report) == 1);
  double found[count] = {}, residuals[count] = {};
  CHECK(whilst_report_eigenvalues(report, count, found, residuals) == count);
  for (int k = 0; k < count; ++k) {
    const double sine = std::sin((k + 1) * std::numbers::pi / (2 * (n + 1)));
    CHECK(std::abs(found[k] - 4 * sine * sine) <= 4 * rtol);  // there is one as close as the residual, rtol ||A||
    CHECK(residuals[k] <= 4 * rtol);
  }
  c_ticket ticket;
  require_ok(whilst_enqueue(solver, nullptr, nullptr, X.data(), &ticket));
  c_report again;
  require_ok(whilst_ticket_wait(ticket, &again));
  CHECK(whilst_report_eigenvalues(again, 0, nullptr, nullptr) == count);
  check_refused(whilst_enqueue(solver, nullptr, X.data(), X.data(), &ticket), "no right-hand side");
}

}  // namespace whilst_test
