/* poisson: -u'' = 1 on a line, zero at both ends, from a matrix and then from a function that stands for it. */

#include <stdio.h>
#include <stdlib.h>

#include <whilst/whilst.h>

enum { n = 999 };

/* Every function says whether it worked. */
static void check(whilst_status status) {
  if (status == WHILST_OK) return;
  fprintf(stderr, "%s\n", whilst_last_error());
  exit(1);
}

/* y = A x, rows of -1, 2, -1. */
static int second_difference(void* user, void* stream, int64_t rows, int64_t columns, const void* from, void* to) {
  const double* x = from;
  double* y = to;
  (void)stream, (void)columns;
  for (int64_t i = 0; i < rows; ++i) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < rows - 1 ? x[i + 1] : 0);
  ++*(int*)user;
  return 0;
}

static int show(const char* what, const double* x, const whilst_report* report) {
  printf("%s: %s\n", what, whilst_report_text(report, WHILST_MESSAGE));
  printf("in the middle %.3f, exactly 125000\n", x[n / 2]);
  return whilst_report_converged(report);
}

int main(void) {
  static int32_t row_offsets[n + 1], column_indices[3 * n];
  static double values[3 * n], b[n], x[n];
  int32_t nonzeros = 0;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = i - 1; j <= i + 1; ++j) {
      if (j < 0 || j == n) continue;
      column_indices[nonzeros] = j;
      values[nonzeros++] = i == j ? 2 : -1;
    }
    row_offsets[i + 1] = nonzeros;
    b[i] = 1;
  }

  whilst_matrix* matrix;
  whilst_solver* solver;
  whilst_report* report;
  check(whilst_matrix_copy(WHILST_DOUBLE, n, n, nonzeros, row_offsets, 32, column_indices, 32, 0, values, &matrix));
  check(whilst_linear_create(matrix, "method=cg, preconditioner=jacobi, rtol=1e-10", &solver));
  check(whilst_solve(solver, b, n, x, n, &report)); /* x: the initial guess, then the solution */
  int converged = show("matrix", x, report);
  check(whilst_report_destroy(&report));
  check(whilst_solver_destroy(&solver));
  check(whilst_matrix_destroy(&matrix));

  int calls = 0;
  check(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, n, n, second_difference, NULL, NULL, &calls,
                                      "rtol=1e-10", &solver));
  for (int i = 0; i < n; ++i) x[i] = 0;
  check(whilst_solve(solver, b, n, x, n, &report));
  converged = show("function", x, report) && converged;
  check(whilst_report_destroy(&report));
  check(whilst_solver_destroy(&solver));
  return converged && calls > 0 ? 0 : 2;
}
