#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <whilst/whilst.hpp>

int main() {
  // The second difference of the line 1, 2, 3 with zeros beyond its ends is 0, 0, 4.
  const std::vector<std::int64_t> row_offsets{0, 2, 5, 7};
  const std::vector<std::int32_t> column_indices{0, 1, 0, 1, 2, 1, 2};
  const std::vector<double> values{2, -1, -1, 2, -1, -1, 2};
  const std::vector<double> b{0, 0, 4};
  std::vector<double> x(3);

  whilst::csr_matrix<double> A(3, 3, row_offsets, column_indices, values);
  whilst::linear_solver<double> solver(A, {.method = "cg", .preconditioner = "jacobi", .rtol = 1e-10});
  whilst::report report = solver.solve(b, x);
  if (!report.converged()) std::puts(report.message().c_str());

  double error = 0;
  for (int i = 0; i < 3; ++i) error = std::fmax(error, std::fabs(x[i] - (i + 1)));
  std::printf("x = %.12g, %.12g, %.12g\n", x[0], x[1], x[2]);
  // The residual is below 1e-10 * 4, the inverse's norm is below 2.
  return report.converged() && error < 1e-9 ? 0 : 1;
}
