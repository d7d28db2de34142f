/// many_loads: a string under a unit load at each of eight points, in one solve of eight right-hand sides; by hand it
/// sags by i (n + 1 - i) / (n + 1) at its load i.

#include <cstddef>
#include <cstdio>
#include <vector>

#include <whilst/whilst.hpp>

int main() {
  constexpr int n = 199, columns = 8;
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:199").matrix;
  std::vector<double> B(n * columns), X(n * columns);  // column after column
  const auto at_load = [](int column) { return static_cast<std::size_t>(n * column + 12 * (column + 1) - 1); };
  for (int column = 0; column < columns; ++column) B[at_load(column)] = 1;

  whilst::columns_linear_solver<double> solver(A, columns, {.rtol = 1e-12});
  const whilst::columns_report report = solver.solve(B, X);  // a product reads A once for all columns
  for (int column = 0; column < columns; column += 3) {
    const int i = 12 * (column + 1);
    std::printf("load at %2d: %.6f, by hand %.6f, %s\n", i, X[at_load(column)], i * (n + 1.0 - i) / (n + 1),
                report[column].converged() ? "converged" : "failed");
  }
  return report.all_converged() ? 0 : 2;
}
