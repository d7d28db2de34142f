/* Ranks as MPI processes, through the C interface: -u'' = 1 on a line, by hand u[i] = (i + 1) (n - i) / 2. */

#include <stdio.h>
#include <stdlib.h>

#include <whilst/whilst_mpi.h>

enum { n = 200 };

static void check(whilst_status status) {
  if (status == WHILST_OK) return;
  fprintf(stderr, "%s\n", whilst_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  whilst_group* group;
  whilst_matrix* whole = NULL;
  whilst_distributed_matrix* matrix;
  whilst_solver* solver;
  whilst_report* report;
  int rank, size, wrong = 0;
  int64_t first, rows;
  double b[n], x[n];
  check(whilst_group_from_mpi(MPI_COMM_WORLD, &group));
  check(whilst_group_size(group, &rank, &size));
  if (rank == 0) check(whilst_matrix_gallery(WHILST_DOUBLE, "poisson1d:200", &whole));
  check(whilst_distributed_matrix_split(group, WHILST_DOUBLE, whole, &matrix));
  check(whilst_distributed_matrix_size(matrix, NULL, &first, &rows, NULL, NULL));
  check(whilst_distributed_solver_create(matrix, "executor=host, rtol=1e-10", 10, &solver));
  for (int i = 0; i < n; ++i) b[i] = 1, x[i] = 0;
  check(whilst_solve(solver, b, rows, x, rows, &report));
  if (!whilst_report_converged(report)) wrong = 1;
  /* The residual, 1e-10 sqrt(200), over the least eigenvalue, 2.44e-4, is below 1e-5. */
  for (int64_t i = first; i < first + rows; ++i) {
    const double error = x[i - first] - (double)((i + 1) * (n - i)) / 2;
    if (error > 1e-5 || error < -1e-5) wrong = 1;
  }
  if (wrong) fprintf(stderr, "rank %d of %d: %s\n", rank, size, whilst_report_text(report, WHILST_MESSAGE));
  check(whilst_report_destroy(&report));
  check(whilst_solver_destroy(&solver));
  check(whilst_distributed_matrix_destroy(&matrix));
  check(whilst_matrix_destroy(&whole));
  check(whilst_group_destroy(&group));
  MPI_Finalize();
  return wrong;
}
