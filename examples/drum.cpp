/// drum: the lowest tones of a square membrane, the roots of the smallest eigenvalues of its Laplacian; by hand that
/// with j by k bellies has the eigenvalue 4 sin^2(j pi / 2 / (n + 1)) + 4 sin^2(k pi / 2 / (n + 1)).

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include <whilst/whilst.hpp>

int main() {
  constexpr int n = 40, count = 4;  // n x n points
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:40").matrix;
  whilst::eigenvalue_solver<double> solver(A, {.count = count, .which = "smallest", .rtol = 1e-9});

  std::vector<double> X(n * n * count);  // zeros for random starts; then the eigenvectors, column after column
  const whilst::eigenvalue_report report = solver.solve(X);

  const auto of_line = [](int j) { return 4 * std::pow(std::sin(j * std::numbers::pi / 2 / (n + 1)), 2); };
  const int bellies[count][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};
  for (int k = 0; k < count; ++k)
    std::printf("tone %.4f, eigenvalue %.8f, by hand %.8f\n", std::sqrt(report.eigenvalues[k] / report.eigenvalues[0]),
                report.eigenvalues[k], of_line(bellies[k][0]) + of_line(bellies[k][1]));
  return report.converged() ? 0 : 2;
}
