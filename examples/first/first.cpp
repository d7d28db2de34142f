#include <cstdio>
#include <vector>

#include <whilst/whilst.hpp>

int main() {
  const int n = 999;  // -u'' = 1 on n points of a line, unscaled, u = 0 at both ends: rows of -1, 2, -1
  std::vector<int> row_offsets{0}, column_indices;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    for (const int j : {i - 1, i, i + 1}) {
      if (j < 0 || j == n) continue;
      column_indices.push_back(j);
      values.push_back(i == j ? 2 : -1);
    }
    row_offsets.push_back(static_cast<int>(values.size()));
  }
  const whilst::csr_matrix<double> A(n, n, row_offsets, column_indices, values);
  whilst::linear_solver<double> solver(A, {.method = "cg", .preconditioner = "jacobi", .rtol = 1e-10});

  const std::vector<double> b(n, 1.0);
  std::vector<double> x(n);  // the initial guess, then the solution
  const whilst::report report = solver.solve(b, x);
  std::printf("%s\nin the middle %.3f, exactly 125000\n", report.message().c_str(), x[n / 2]);
  return report.converged() ? 0 : 2;
}
