// Linear systems through the C interface: all ways to give a matrix, all that a linear solver and a report can do.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/c/c_handles.hpp"
#include "whilst/version.hpp"

namespace whilst_test {
namespace {

/// Solves with b = 1 from zero, on the host, and checks the solution.
template <class T>
void check_solves(const c_matrix& matrix, int n) {
  const double rtol = 1e3 * std::numeric_limits<T>::epsilon();
  const c_solver solver = c_linear(matrix, "executor=host");
  require_ok(whilst_solver_set_tolerances(solver, rtol, 0));
  std::vector<T> b(static_cast<std::size_t>(n), T(1)), x(b.size());
  c_report report;
  require_ok(whilst_solve(solver, b.data(), n, x.data(), n, &report));
  CHECK(whilst_report_converged(report) == 1);
  check_parabola(x, rtol);
}

template <class T, class Integer>
void check_all_ways(int n) {
  CAPTURE(n, sizeof(T), sizeof(Integer));
  for (const int base : {0, 1}) check_solves<T>(c_line<T, Integer>(n, base).copied(base), n);
  const c_line<T, Integer> line(n);
  const c_line<T, std::int32_t> narrow(n);
  c_matrix borrowed;
  require_ok(whilst_matrix_borrow(number_of<T>(), WHILST_HOST, n, n, line.nonzeros(), line.offsets.data(),
                                  8 * sizeof(Integer), narrow.indices.data(), line.values.data(), &borrowed));
  check_solves<T>(borrowed, n);
}

}  // namespace

TEST_CASE("C: the version is the library's", "[c]") { CHECK(std::string(whilst_version()) == whilst::version); }

TEST_CASE("C: matrices of either number, with offsets of either width, counted from 0 or 1", "[c]") {
  for (const int n : {1, 2, 60}) {
    check_all_ways<float, std::int32_t>(n);
    check_all_ways<float, std::int64_t>(n);
    check_all_ways<double, std::int32_t>(n);
    check_all_ways<double, std::int64_t>(n);
  }
}

TEST_CASE("C: matrices from the gallery and from a file", "[c]") {
  c_matrix grid, read;
  require_ok(whilst_matrix_gallery(WHILST_DOUBLE, "poisson1d:40", &grid));
  check_solves<double>(grid, 40);
  std::int64_t rows = 0, columns = 0, nonzeros = 0;
  require_ok(whilst_matrix_size(grid, &rows, &columns, &nonzeros));
  CHECK((rows == 40 && columns == 40 && nonzeros == 118));
  require_ok(whilst_matrix_size(grid, nullptr, nullptr, nullptr));

  const auto file = std::filesystem::temp_directory_path() / "whilst_c_linear_test.mtx";
  std::ofstream(file) << "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 5\n2 3 7\n";
  require_ok(whilst_matrix_read(WHILST_FLOAT, file.string().c_str(), &read));
  std::filesystem::remove(file);
  require_ok(whilst_matrix_size(read, &rows, &columns, &nonzeros));
  CHECK((rows == 2 && columns == 3 && nonzeros == 2));
}

TEST_CASE("C: a matrix may go before its solver, and a solver before its reports", "[c]") {
  constexpr int n = 50;
  std::vector<double> b(n, 1.0), x(n);
  c_report report;
  {
    c_solver solver;
    {
      const c_matrix matrix = c_line<double>(n).copied();
      require_ok(whilst_linear_create(matrix, "executor=host,rtol=1e-12", &solver));
    }
    require_ok(whilst_solve(solver, b.data(), n, x.data(), n, &report));
  }
  check_parabola(x, 1e-12);
  CHECK(whilst_report_iterations(report) == n / 2);  // as many as there are different eigenvectors in b
}

TEST_CASE("C: values are updated and bound", "[c]") {
  constexpr int n = 50;
  const c_line<double> line(n);
  const c_matrix matrix = line.copied();
  const c_solver solver = c_linear(matrix, "executor=host,rtol=1e-12");
  const std::vector<double> b(n, 1.0);
  const auto check = [&](double times) {
    std::vector<double> x(n);
    require_ok(whilst_solve(solver, b.data(), n, x.data(), n, nullptr));
    check_parabola(x, 1e-12, times);
  };
  check(1);
  std::vector<double> values = line.values;
  for (double& value : values) value *= 2;
  require_ok(whilst_solver_update_values(solver, values.data(), line.nonzeros()));
  check(0.5);
  for (double& value : values) value *= 2;
  check(0.5);  // they were copied
  require_ok(whilst_solver_bind_values(solver, values.data()));
  check(0.25);
  for (double& value : values) value *= 2;
  check(0.125);  // these are read in place
  check_refused(whilst_solver_update_values(solver, values.data(), 5), "values has 5 entries");
}

TEST_CASE("C: a solve is enqueued, waited for, and reports twice", "[c]") {
  constexpr int n = 50;
  const c_solver solver = c_linear(c_line<double>(n).copied(), "executor=host,rtol=1e-12");
  std::vector<double> b(n, 1.0), x(n);
  c_ticket ticket;
  require_ok(whilst_enqueue(solver, nullptr, b.data(), x.data(), &ticket));
  c_report first, second;
  require_ok(whilst_ticket_wait(ticket, &first));
  require_ok(whilst_ticket_wait(ticket, &second));
  require_ok(whilst_ticket_wait(ticket, nullptr));
  int done = 0;
  require_ok(whilst_ticket_done(ticket, &done));
  CHECK(done == 1);
  require_ok(whilst_ticket_cancel(ticket));
  check_parabola(x, 1e-12);
  CHECK(whilst_report_iterations(first) == whilst_report_iterations(second));
}

TEST_CASE("C: a report has all that there is to know", "[c]") {
  constexpr int n = 50;
  const c_solver solver =
      c_linear(c_line<double>(n).copied(), "executor=host, method=auto, preconditioner=jacobi, rtol=1e-12");
  std::vector<double> b(n, 1.0), x(n);
  c_report report;
  require_ok(whilst_solve(solver, b.data(), n, x.data(), n, &report));
  CHECK(whilst_report_reason(report) == 2);
  CHECK(std::string(whilst_report_reason_name(report)) == "converged_rtol");
  const auto text = [&](whilst_report_text_kind what) { return std::string(whilst_report_text(report, what)); };
  CHECK_THAT(text(WHILST_MESSAGE), contains("converged"));
  CHECK(text(WHILST_METHOD) == "cg");
  CHECK(text(WHILST_PRECONDITIONER) == "jacobi");
  CHECK(text(WHILST_EXECUTOR) == "host");
  CHECK(!text(WHILST_DEVICE_NAME).empty());
  CHECK(!text(WHILST_CHOICE).empty());
  CHECK(text(WHILST_NOTE).empty());
  CHECK(text(WHILST_PRECONDITIONER_MADE).empty());
  const auto number = [&](whilst_report_number_kind what) { return whilst_report_number(report, what); };
  double sum = 0;  // ||b - A x||^2
  for (std::size_t i = 0; i < n; ++i) {
    const double r = 1 - 2 * x[i] + (i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0);
    sum += r * r;
  }
  // Each entry of the residual is rounded where terms as large as twice the largest x cancel.
  const double rounding = 4 * std::sqrt(n) * std::numeric_limits<double>::epsilon() * (n + 1) * (n + 1) / 4;
  CHECK(std::abs(number(WHILST_RESIDUAL_NORM) - std::sqrt(sum)) <= rounding);
  CHECK(number(WHILST_RHS_NORM) == Approx(std::sqrt(n)));
  CHECK(number(WHILST_RELATIVE_RESIDUAL) == Approx(number(WHILST_RESIDUAL_NORM) / std::sqrt(n)));
  CHECK(number(WHILST_SETUP_SECONDS) > 0);
  CHECK(number(WHILST_SOLVE_SECONDS) >= number(WHILST_LOOP_SECONDS));
  CHECK(std::isnan(number(WHILST_VALUE)));
  CHECK(std::isnan(number(WHILST_EVALUATIONS)));

  const std::int64_t records = whilst_report_history(report, 0, nullptr, nullptr);
  REQUIRE(records == whilst_report_iterations(report) + 1);
  std::vector<std::int64_t> iterations(static_cast<std::size_t>(records));
  std::vector<double> norms(iterations.size(), -1);
  CHECK(whilst_report_history(report, 2, iterations.data(), norms.data()) == records);
  CHECK((norms[1] > 0 && norms[2] == -1));
  CHECK(whilst_report_history(report, records, iterations.data(), norms.data()) == records);
  CHECK(norms[0] == Approx(std::sqrt(n)));
  CHECK(iterations.back() == records - 1);
  CHECK(whilst_report_eigenvalues(report, 0, nullptr, nullptr) == 0);
  CHECK(whilst_report_columns(report, 0, nullptr, nullptr, nullptr) == 0);
}

TEST_CASE("C: limits, deadlines and cancels end a solve with their reasons", "[c]") {
  constexpr int n = 400;
  const c_solver solver = c_linear(c_line<double>(n).copied(), "executor=host,rtol=1e-14");
  std::vector<double> b(n, 1.0), x(n);
  const auto reason = [&] {
    c_report report;
    require_ok(whilst_solve(solver, b.data(), n, x.data(), n, &report));
    CHECK(whilst_report_converged(report) == 0);
    return std::string(whilst_report_reason_name(report));
  };
  require_ok(whilst_solver_cancel(solver));  // there is none: harmless
  require_ok(whilst_solver_set_max_iterations(solver, 3));
  CHECK(reason() == "iteration_limit");
  require_ok(whilst_solver_set_max_iterations(solver, 100'000));
  require_ok(whilst_solver_set_deadline(solver, 1e-9));
  CHECK(reason() == "deadline");
  require_ok(whilst_solver_set_deadline(solver, 1e9));
  std::int64_t seen = 0;
  const auto monitor = [](void* user, std::int64_t iteration, double norm) {
    CHECK(norm >= 0);
    *static_cast<std::int64_t*>(user) = iteration;
    return iteration >= 5 ? 1 : 0;
  };
  require_ok(whilst_solver_set_monitor(solver, monitor, &seen));
  CHECK(reason() == "cancelled");
  CHECK((seen >= 5 && seen <= 7));  // a cancel is heard within two iterations
  require_ok(whilst_solver_set_monitor(solver, nullptr, nullptr));
  std::int64_t iteration = 0;
  double norm = -1;
  int running = 1;
  require_ok(whilst_solver_progress(solver, &iteration, &norm, &running));
  CHECK((iteration >= 5 && norm >= 0 && running == 0));
  require_ok(whilst_solver_progress(solver, nullptr, nullptr, nullptr));
}

TEST_CASE("C: a solver tells of its memory, its executor and its program", "[c]") {
  const c_solver solver = c_linear(c_line<double>(1000).copied(), "executor=host");
  std::int64_t on_host = 0, on_gpus = -1;
  require_ok(whilst_solver_bytes(solver, &on_host, &on_gpus));
  CHECK(on_host > 4 * 8 * 1000);  // the method's vectors
  CHECK(on_gpus == 0);
  require_ok(whilst_solver_bytes(solver, nullptr, nullptr));
  CHECK(std::string(whilst_solver_text(solver, WHILST_SOLVER_EXECUTOR)) == "host");
  CHECK_THAT(std::string(whilst_solver_text(solver, WHILST_SOLVER_MEMORY)), contains("the host"));
  CHECK_THAT(std::string(whilst_solver_text(solver, WHILST_SOLVER_PROGRAM)), contains("loop 'cg'"));
}

TEST_CASE("C: executors of this machine", "[c]") {
  int there = 0;
  require_ok(whilst_executor_available("host", -1, &there));
  CHECK(there == 1);
  check_refused(whilst_executor_available("cluster", -1, &there), "no executor 'cluster'");
  CHECK(there == 0);
}

}  // namespace whilst_test
