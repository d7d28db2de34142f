/* valley: the minimum of Rosenbrock's function in 100 unknowns, from its value and gradient. */

#include <math.h>
#include <stdio.h>

#include <whilst/whilst.h>

static int rosenbrock(void* user, void* stream, int64_t n, const void* point, double* value, void* gradient) {
  const double* x = point;
  double* g = gradient;
  (void)user, (void)stream;
  *value = 0;
  for (int64_t i = 0; i < n; i += 2) {
    const double along = 1 - x[i], across = x[i + 1] - x[i] * x[i];
    *value += along * along + 100 * across * across;
    g[i] = -2 * along - 400 * x[i] * across;
    g[i + 1] = 200 * across;
  }
  return 0;
}

int main(void) {
  enum { n = 100 };
  double x[n], error = 0;
  for (int i = 0; i < n; ++i) x[i] = i % 2 ? 1 : -1.2;

  whilst_solver* solver = NULL;
  whilst_report* report = NULL;
  if (whilst_minimizer_create(WHILST_DOUBLE, WHILST_HOST, n, rosenbrock, NULL, "method=lbfgs", &solver) ||
      whilst_solve(solver, NULL, 0, x, n, &report)) {
    fprintf(stderr, "%s\n", whilst_last_error());
    return 1;
  }
  for (int i = 0; i < n; ++i) error = fmax(error, fabs(x[i] - 1));
  printf("%s\n", whilst_report_text(report, WHILST_MESSAGE));
  printf("%s within 1e-6 of (1, ..., 1)\n", error < 1e-6 ? "It is" : "It is not");
  const int converged = whilst_report_converged(report);
  whilst_report_destroy(&report);
  whilst_solver_destroy(&solver);
  return converged && error < 1e-6 ? 0 : 2;
}
