// Misuse of the C interface: each is refused in words that name it, and nothing crashes.

#include <cmath>

#include "tests/c/c_handles.hpp"

namespace whilst_test {
namespace {

int no_apply(void*, void*, std::int64_t, std::int64_t, const void*, void*) { return 0; }
int no_objective(void*, void*, std::int64_t, const void*, double*, void*) { return 0; }
int no_residual(void*, void*, std::int64_t, const void*, void*) { return 0; }

/// The matrix of rows -1, 2, -1 with one thing changed. It must be refused, and the handle NULL.
struct copied_line : c_line<double> {
  copied_line() : c_line<double>(3) {}
  whilst_number number = WHILST_DOUBLE;
  std::int64_t rows = 3, columns = 3, count = 7;
  int offset_bits = 32, index_bits = 32, base = 0;
  const void *offset_data = offsets.data(), *index_data = indices.data(), *value_data = values.data();

  void check_refused_as(const std::string& words) const {
    whilst_matrix* made = reinterpret_cast<whilst_matrix*>(1);
    check_refused(whilst_matrix_copy(number, rows, columns, count, offset_data, offset_bits, index_data, index_bits,
                                     base, value_data, &made),
                  words);
    CHECK(made == nullptr);
  }
};

template <class Change>
void check_copy_refused(const Change& change, const std::string& words) {
  copied_line line;
  change(line);
  line.check_refused_as(words);
}

/// A solver that is there when its tests begin.
struct c_system {
  c_matrix matrix = c_line<double>(3).copied();
  c_solver solver = c_linear(matrix, "executor=host");
  std::vector<double> b{1, 1, 1}, x{0, 0, 0};
};

/// Calls all functions that take a solver with this one.
void check_solver_refused(whilst_solver* solver, const std::string& words) {
  double b[3] = {}, x[3] = {};
  whilst_ticket* ticket = nullptr;
  whilst_report* report = reinterpret_cast<whilst_report*>(1);
  check_refused(whilst_solve(solver, b, 3, x, 3, &report), words);
  CHECK(report == nullptr);
  check_refused(whilst_enqueue(solver, nullptr, b, x, &ticket), words);
  check_refused(whilst_solver_update_values(solver, b, 3), words);
  check_refused(whilst_solver_bind_values(solver, b), words);
  check_refused(whilst_solver_set_tolerances(solver, 1e-8, 0), words);
  check_refused(whilst_solver_set_max_iterations(solver, 1), words);
  check_refused(whilst_solver_set_deadline(solver, 1), words);
  check_refused(whilst_solver_set_monitor(solver, nullptr, nullptr), words);
  check_refused(whilst_solver_cancel(solver), words);
  check_refused(whilst_solver_progress(solver, nullptr, nullptr, nullptr), words);
  check_refused(whilst_solver_bytes(solver, nullptr, nullptr), words);
  CHECK(whilst_solver_text(solver, WHILST_SOLVER_EXECUTOR) == nullptr);
  CHECK_THAT(std::string(whilst_last_error()), contains(words));
}

void check_report_refused(const whilst_report* report, const std::string& words) {
  const auto said = [&] { CHECK_THAT(std::string(whilst_last_error()), contains(words)); };
  CHECK(whilst_report_converged(report) == 0);
  said();
  CHECK(whilst_report_reason(report) == 0);
  said();
  CHECK(whilst_report_reason_name(report) == nullptr);
  said();
  CHECK(whilst_report_iterations(report) == -1);
  said();
  CHECK(std::isnan(whilst_report_number(report, WHILST_RESIDUAL_NORM)));
  said();
  CHECK(whilst_report_text(report, WHILST_MESSAGE) == nullptr);
  said();
  CHECK(whilst_report_history(report, 0, nullptr, nullptr) == -1);
  said();
  CHECK(whilst_report_eigenvalues(report, 0, nullptr, nullptr) == -1);
  said();
  CHECK(whilst_report_columns(report, 0, nullptr, nullptr, nullptr) == -1);
  said();
}

void check_ticket_refused(const whilst_ticket* ticket, const std::string& words) {
  int done = 0;
  check_refused(whilst_ticket_wait(ticket, nullptr), words);
  check_refused(whilst_ticket_done(ticket, &done), words);
  check_refused(whilst_ticket_cancel(ticket), words);
}

}  // namespace

TEST_CASE("C: wrong arrays of a matrix are refused", "[c]") {
  using line = copied_line;
  check_copy_refused([](line& it) { it.number = static_cast<whilst_number>(8); }, "number is 8");
  check_copy_refused([](line& it) { it.rows = -1; }, "rows is -1");
  check_copy_refused([](line& it) { it.columns = -1; }, "columns is -1");
  check_copy_refused([](line& it) { it.count = -1; }, "nonzeros is -1");
  check_copy_refused([](line& it) { it.rows = INT64_MAX; }, "rows is 9223372036854775807");
  check_copy_refused([](line& it) { it.count = 6; }, "row_offsets end with 7");
  check_copy_refused([](line& it) { it.offset_bits = 16; }, "row_offsets have 16 bits");
  check_copy_refused([](line& it) { it.index_bits = 8; }, "column_indices have 8 bits");
  check_copy_refused([](line& it) { it.base = 2; }, "index_base is 2");
  check_copy_refused([](line& it) { it.base = 1, it.count = 6; }, "row");
  check_copy_refused([](line& it) { it.offset_data = nullptr; }, "row_offsets is NULL");
  check_copy_refused([](line& it) { it.index_data = nullptr; }, "column_indices is NULL");
  check_copy_refused([](line& it) { it.value_data = nullptr; }, "values is NULL");
  check_copy_refused([](line& it) { it.indices[2] = 3; }, "column");
  check_copy_refused([](line& it) { it.indices[2] = INT32_MIN; }, "column");
  check_copy_refused([](line& it) { it.offsets[0] = 1; }, "row");
  check_copy_refused([](line& it) { it.offsets[1] = 6; }, "row");
}

TEST_CASE("C: wrong arguments of the other makers of matrices are refused", "[c]") {
  const c_line<double> line(3);
  c_matrix made;
  const auto borrow = [&](whilst_memory memory, std::int64_t nonzeros, int bits, const void* offsets) {
    return whilst_matrix_borrow(WHILST_DOUBLE, memory, 3, 3, nonzeros, offsets, bits, line.indices.data(),
                                line.values.data(), &made);
  };
  check_refused(borrow(static_cast<whilst_memory>(3), 7, 32, line.offsets.data()), "memory is 3");
  check_refused(borrow(WHILST_HOST, 6, 32, line.offsets.data()), "row_offsets end with 7");
  check_refused(borrow(WHILST_HOST, 7, 33, line.offsets.data()), "33 bits");
  check_refused(borrow(WHILST_HOST, 7, 32, nullptr), "row_offsets is NULL");
  check_refused(borrow(WHILST_DEVICE, 7, 32, nullptr), "row_offsets is NULL");
  check_refused(whilst_matrix_borrow(WHILST_DOUBLE, WHILST_DEVICE, 3, 3, 7, line.offsets.data(), 32, nullptr,
                                     line.values.data(), &made),
                "column_indices is NULL");
  check_refused(whilst_matrix_read(WHILST_DOUBLE, "no such file", &made), "no such file");
  check_refused(whilst_matrix_read(WHILST_DOUBLE, nullptr, &made), "path is NULL");
  check_refused(whilst_matrix_gallery(WHILST_DOUBLE, "poisson9d:5", &made), "poisson9d");
  check_refused(whilst_matrix_gallery(WHILST_DOUBLE, nullptr, &made), "name is NULL");
  check_refused(whilst_matrix_gallery(WHILST_DOUBLE, "poisson1d:5", nullptr), "matrix is NULL");
  check_refused(whilst_matrix_size(nullptr, nullptr, nullptr, nullptr), "matrix is NULL");
}

TEST_CASE("C: wrong options and callbacks are refused, and the solver is NULL", "[c]") {
  const c_matrix matrix = c_line<double>(3).copied();
  const auto refused = [](const std::string& words, const auto& make) {
    whilst_solver* solver = reinterpret_cast<whilst_solver*>(1);
    check_refused(make(&solver), words);
    CHECK(solver == nullptr);
  };
  using made = whilst_solver**;
  refused("there is no option called 'metod'", [&](made s) { return whilst_linear_create(matrix, "metod=cg", s); });
  refused("method", [&](made s) { return whilst_linear_create(matrix, "method=gauss", s); });
  refused("matrix is NULL", [&](made s) { return whilst_linear_create(nullptr, "", s); });
  refused("M is NULL",
          [&](made s) { return whilst_linear_create_preconditioned(matrix, WHILST_HOST, nullptr, nullptr, "", s); });
  refused("memory is 0", [&](made s) {
    return whilst_linear_create_preconditioned(matrix, static_cast<whilst_memory>(0), no_apply, nullptr, "", s);
  });
  const auto by_operator = [](whilst_number number, std::int64_t rows, std::int64_t columns, whilst_apply A,
                              whilst_apply At, whilst_apply M, made s) {
    return whilst_linear_create_operator(number, WHILST_HOST, rows, columns, A, At, M, nullptr, "", s);
  };
  refused("A is NULL", [&](made s) { return by_operator(WHILST_DOUBLE, 3, 3, nullptr, nullptr, nullptr, s); });
  refused("number is 0",
          [&](made s) { return by_operator(static_cast<whilst_number>(0), 3, 3, no_apply, nullptr, nullptr, s); });
  refused("3 rows and 2 columns",
          [&](made s) { return by_operator(WHILST_DOUBLE, 3, 2, no_apply, nullptr, nullptr, s); });
  refused("both given", [&](made s) { return by_operator(WHILST_DOUBLE, 3, 3, no_apply, no_apply, no_apply, s); });
  refused("-1", [&](made s) { return by_operator(WHILST_DOUBLE, -1, -1, no_apply, nullptr, nullptr, s); });
  refused("columns", [&](made s) { return whilst_columns_create(matrix, 65, "", s); });
  refused("number of columns", [&](made s) { return whilst_columns_create(matrix, -1, "", s); });
  refused("'counts'", [&](made s) { return whilst_eigenvalues_create(matrix, "counts=2", s); });
  refused("4 pairs", [&](made s) { return whilst_eigenvalues_create(matrix, "count=4", s); });
  refused("function is NULL",
          [&](made s) { return whilst_minimizer_create(WHILST_DOUBLE, WHILST_HOST, 3, nullptr, nullptr, "", s); });
  refused("unknowns",
          [&](made s) { return whilst_minimizer_create(WHILST_FLOAT, WHILST_HOST, 0, no_objective, nullptr, "", s); });
  refused("Hessian", [&](made s) {
    return whilst_minimizer_create(WHILST_DOUBLE, WHILST_HOST, 3, no_objective, nullptr, "method=newton", s);
  });
  refused("function is NULL",
          [&](made s) { return whilst_equations_create(WHILST_DOUBLE, WHILST_HOST, 3, nullptr, nullptr, "", s); });
  refused("Jacobian", [&](made s) {
    return whilst_equations_create(WHILST_DOUBLE, WHILST_HOST, 3, no_residual, nullptr, "method=newton-krylov", s);
  });
  check_refused(whilst_linear_create(matrix, "", nullptr), "solver is NULL");
}

TEST_CASE("C: too little memory has a status of its own", "[c]") {
  constexpr std::int64_t n = std::int64_t{1} << 60;  // vectors of more bytes than can be counted
  c_solver solver;
  check_refused(
      whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, n, n, no_apply, nullptr, nullptr, nullptr, "", &solver),
      "whilst_linear_create_operator: ", WHILST_OUT_OF_MEMORY);
}

TEST_CASE("C: callbacks for a GPU are refused where there is none", "[c]") {
  int stream = 0;
  require_ok(whilst_executor_available("stream", -1, &stream));
  if (stream) return;
  c_solver solver;
  check_refused(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_DEVICE, 3, 3, no_apply, nullptr, nullptr, nullptr,
                                              "", &solver),
                "whilst_linear_create_operator: ");
  check_refused(whilst_minimizer_create(WHILST_DOUBLE, WHILST_DEVICE, 3, no_objective, nullptr, "", &solver),
                "whilst_minimizer_create: ");
  check_refused(whilst_equations_create(WHILST_DOUBLE, WHILST_DEVICE, 3, no_residual, nullptr, "", &solver),
                "whilst_equations_create: ");
}

TEST_CASE("C: wrong vectors and numbers are refused, and the next solve goes well", "[c]") {
  c_system it;
  const auto solve = [&](const void* b, std::int64_t b_length, void* x, std::int64_t x_length) {
    return whilst_solve(it.solver, b, b_length, x, x_length, nullptr);
  };
  check_refused(solve(it.b.data(), 2, it.x.data(), 3), "b has 2 entries, and the solver needs 3");
  check_refused(solve(it.b.data(), 3, it.x.data(), 4), "x has 4 entries, and the solver needs 3");
  check_refused(solve(it.b.data(), -3, it.x.data(), 3), "b has -3 entries");
  check_refused(solve(nullptr, 3, it.x.data(), 3), "b is NULL");
  check_refused(solve(it.b.data(), 3, nullptr, 3), "x is NULL");
  c_ticket ticket;
  check_refused(whilst_enqueue(it.solver, nullptr, nullptr, it.x.data(), &ticket), "whilst_enqueue: ");
  check_refused(whilst_enqueue(it.solver, nullptr, it.b.data(), nullptr, &ticket), "whilst_enqueue: ");
  check_refused(whilst_enqueue(it.solver, nullptr, it.b.data(), it.x.data(), nullptr), "ticket is NULL");
  check_refused(whilst_solver_update_values(it.solver, nullptr, 7), "values is NULL");
  check_refused(whilst_solver_bind_values(it.solver, nullptr), "values is NULL");
  check_refused(whilst_solver_set_max_iterations(it.solver, -1), "whilst_solver_set_max_iterations: ");
  check_refused(whilst_solver_set_deadline(it.solver, 0), "whilst_solver_set_deadline: ");
  check_refused(whilst_solver_set_tolerances(it.solver, -1, 0), "whilst_solver_set_tolerances: ");
  CHECK(whilst_solver_text(it.solver, static_cast<whilst_solver_text_kind>(9)) == nullptr);
  CHECK_THAT(std::string(whilst_last_error()), contains("there is no text 9"));
  int there = 0;
  check_refused(whilst_executor_available(nullptr, -1, &there), "executor is NULL");
  check_refused(whilst_executor_available("host", -1, nullptr), "available is NULL");

  c_report report;
  require_ok(whilst_solve(it.solver, it.b.data(), 3, it.x.data(), 3, &report));
  check_parabola(it.x, 1e-8);
  CHECK(std::isnan(whilst_report_number(report, static_cast<whilst_report_number_kind>(99))));
  CHECK_THAT(std::string(whilst_last_error()), contains("there is no number 99"));
  CHECK(whilst_report_text(report, static_cast<whilst_report_text_kind>(99)) == nullptr);
  CHECK_THAT(std::string(whilst_last_error()), contains("there is no text 99"));
}

TEST_CASE("C: solvers without a matrix or a right-hand side refuse theirs", "[c]") {
  c_solver by_function, minimizer;
  require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, 3, 3, no_apply, nullptr, nullptr, nullptr, "",
                                           &by_function));
  const double numbers[3] = {};
  double x[3] = {};
  check_refused(whilst_solver_update_values(by_function, numbers, 3), "was not made from a matrix");
  check_refused(whilst_solver_bind_values(by_function, numbers), "whilst_solver_bind_values: ");
  require_ok(whilst_minimizer_create(WHILST_DOUBLE, WHILST_HOST, 3, no_objective, nullptr, "", &minimizer));
  check_refused(whilst_solve(minimizer, numbers, 3, x, 3, nullptr), "no right-hand side");
  check_refused(whilst_solve(minimizer, nullptr, 0, x, 2, nullptr), "x has 2 entries");
  check_refused(whilst_enqueue(minimizer, nullptr, numbers, x, nullptr), "ticket is NULL");
  check_refused(whilst_solver_update_values(minimizer, numbers, 3), "was not made from a matrix");
}

TEST_CASE("C: handles that are NULL, destroyed, of another kind, or none are refused", "[c]") {
  c_system it;
  c_report report;
  c_ticket ticket;
  require_ok(whilst_enqueue(it.solver, nullptr, it.b.data(), it.x.data(), &ticket));
  require_ok(whilst_ticket_wait(ticket, &report));
  whilst_solver* const solver = it.solver;
  whilst_ticket* const old_ticket = ticket;
  whilst_report* const old_report = report;
  whilst_matrix* const old_matrix = it.matrix;

  check_solver_refused(nullptr, "solver is NULL");
  check_report_refused(nullptr, "report is NULL");
  check_ticket_refused(nullptr, "ticket is NULL");
  check_solver_refused(reinterpret_cast<whilst_solver*>(old_matrix), "solver is no handle of this kind");
  check_solver_refused(reinterpret_cast<whilst_solver*>(&it), "solver is no handle of this kind");
  check_report_refused(reinterpret_cast<const whilst_report*>(solver), "report is no handle of this kind");
  check_ticket_refused(reinterpret_cast<const whilst_ticket*>(solver), "ticket is no handle of this kind");

  require_ok(whilst_solver_destroy(&it.solver));
  CHECK(static_cast<whilst_solver*>(it.solver) == nullptr);
  check_solver_refused(solver, "or was destroyed");
  check_refused(whilst_ticket_wait(ticket, nullptr), "whilst_ticket_wait: ");  // its solver is gone
  CHECK(whilst_report_converged(report) == 1);                                 // a value
  require_ok(whilst_ticket_destroy(&ticket));
  require_ok(whilst_report_destroy(&report));
  require_ok(whilst_matrix_destroy(&it.matrix));
  check_ticket_refused(old_ticket, "or was destroyed");
  check_report_refused(old_report, "or was destroyed");
  check_refused(whilst_matrix_size(old_matrix, nullptr, nullptr, nullptr), "or was destroyed");
  c_solver made;
  check_refused(whilst_linear_create(old_matrix, "", &made), "or was destroyed");

  whilst_solver* again = solver;
  check_refused(whilst_solver_destroy(&again), "or was destroyed");
  again = nullptr;
  require_ok(whilst_solver_destroy(&again));
  check_refused(whilst_solver_destroy(nullptr), "solver is NULL");
  check_refused(whilst_ticket_destroy(nullptr), "ticket is NULL");
  check_refused(whilst_report_destroy(nullptr), "report is NULL");
  check_refused(whilst_matrix_destroy(nullptr), "matrix is NULL");
}

}  // namespace whilst_test
