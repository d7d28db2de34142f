/* Ranks as MPI processes, through the C interface: -u'' = 1 on a line, by hand u[i] = (i + 1) (n - i) / 2. Once as a
 * linear system, once as the minimum of its energy. */

#include <stdio.h>
#include <stdlib.h>

#include <whilst/whilst_mpi.h>

enum { n = 200 };

static void check(whilst_status status) {
  if (status == WHILST_OK) return;
  fprintf(stderr, "%s\n", whilst_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct part {
  int64_t first, rows;
};

/* The sum of u[i]^2 - u[i] u[i + 1] - u[i]: a rank's part, and the derivatives by its unknowns. */
static int energy(void* user, void* stream, int64_t count, const void* point, double* value, void* slope) {
  const struct part mine = *(const struct part*)user;
  const double *u = point, *ghosts = u + mine.rows;
  double* gradient = slope;
  (void)stream, (void)count;
  *value = 0;
  for (int64_t i = 0; i < mine.rows; ++i) {
    const double below = i > 0 ? u[i - 1] : mine.first > 0 ? ghosts[0] : 0;
    const double above = i + 1 < mine.rows ? u[i + 1] : mine.first + mine.rows < n ? ghosts[mine.first > 0] : 0;
    *value += u[i] * (u[i] - above - 1);
    gradient[i] = 2 * u[i] - below - above - 1;
  }
  return 0;
}

static void minimize(const whilst_group* group, struct part mine, double* u, whilst_report** report) {
  int64_t ghosts[2], count = 0;
  whilst_solver* solver;
  if (mine.rows > 0 && mine.first > 0) ghosts[count++] = mine.first - 1;
  if (mine.rows > 0 && mine.first + mine.rows < n) ghosts[count++] = mine.first + mine.rows;
  check(whilst_distributed_minimizer_create(group, WHILST_DOUBLE, WHILST_HOST, mine.rows, ghosts, count, energy, &mine,
                                            "gradient=1e-6", 10, &solver));
  check(whilst_solve(solver, NULL, 0, u, mine.rows, report));
  check(whilst_solver_destroy(&solver));
}

/* Whether the solve converged to numbers this close to the parabola; says so if not. */
static int is_wrong(struct part mine, const double* u, double most, const whilst_report* report) {
  int wrong = !whilst_report_converged(report);
  for (int64_t i = mine.first; i < mine.first + mine.rows; ++i) {
    const double error = u[i - mine.first] - (double)((i + 1) * (n - i)) / 2;
    if (!(error <= most && error >= -most)) wrong = 1;
  }
  if (wrong) fprintf(stderr, "from %d: %s\n", (int)mine.first, whilst_report_text(report, WHILST_MESSAGE));
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  whilst_group* group;
  whilst_matrix* whole = NULL;
  whilst_distributed_matrix* matrix;
  whilst_solver* solver;
  whilst_report* report;
  int rank, wrong;
  struct part mine;
  double b[n], x[n];
  check(whilst_group_from_mpi(MPI_COMM_WORLD, &group));
  check(whilst_group_size(group, &rank, NULL));
  if (rank == 0) check(whilst_matrix_gallery(WHILST_DOUBLE, "poisson1d:200", &whole));
  check(whilst_distributed_matrix_split(group, WHILST_DOUBLE, whole, &matrix));
  check(whilst_distributed_matrix_size(matrix, NULL, &mine.first, &mine.rows, NULL, NULL));
  check(whilst_distributed_solver_create(matrix, "executor=host, rtol=1e-10", 10, &solver));
  for (int i = 0; i < n; ++i) b[i] = 1, x[i] = 0;
  check(whilst_solve(solver, b, mine.rows, x, mine.rows, &report));
  /* The residual, 1e-10 sqrt(200), over the least eigenvalue, 2.44e-4, is below 1e-5. */
  wrong = is_wrong(mine, x, 1e-5, report);
  check(whilst_report_destroy(&report));
  for (int i = 0; i < n; ++i) x[i] = 0;
  minimize(group, mine, x, &report);
  /* The gradient, 1e-6, over that is 4e-3. */
  wrong |= is_wrong(mine, x, 1e-2, report);
  check(whilst_report_destroy(&report));
  check(whilst_solver_destroy(&solver));
  check(whilst_distributed_matrix_destroy(&matrix));
  check(whilst_matrix_destroy(&whole));
  check(whilst_group_destroy(&group));
  MPI_Finalize();
  return wrong;
}
