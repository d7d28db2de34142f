/// batch_solve: ten thousand small systems with one pattern in one launch, each with values of its own.

#include <cmath>
#include <cstdio>
#include <vector>

#include <whilst/whilst.hpp>

int main() {
  constexpr int systems = 10'000, n = 8;
  const whilst::csr_matrix<double> pattern = whilst::make_gallery<double>("poisson1d:8").matrix;
  std::vector<double> values, b(systems * n, 1.0), x(systems * n);
  for (int k = 0; k < systems; ++k)  // system k is (k + 1) times the pattern's matrix
    for (const double entry : pattern.values()) values.push_back((k + 1) * entry);

  whilst::batch_linear_solver<double> solver(pattern, systems, {.method = "cg", .rtol = 1e-12});
  const whilst::batch_report report = solver.solve(values, b, x);

  double error = 0;  // -u'' = 1: entry i is (i + 1)(n - i) / 2, divided by k + 1 here
  for (int k = 0; k < systems; ++k)
    for (int i = 0; i < n; ++i)
      error = std::fmax(error, std::fabs((k + 1) * x[k * n + i] / (0.5 * (i + 1) * (n - i)) - 1));
  std::printf("%d of %d systems converged, relative error below 1e-10: %s\n",
              static_cast<int>(report.number_converged()), systems, error < 1e-10 ? "yes" : "no");
  return report.all_converged() ? 0 : 2;
}
