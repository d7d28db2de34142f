/// time_steps: a rod cools by implicit Euler, (I + dt A) u_new = u. The loop is recorded once; every step replays it.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <vector>

#include <whilst/whilst.hpp>

constexpr int n = 199;
const double h = 1.0 / (n + 1);

/// The values of I + dt A, in the order of `rod`, whose own are 2 on the diagonal and -1 beside it.
std::vector<double> step_values(const whilst::csr_matrix<double>& rod, double dt) {
  std::vector<double> values;
  for (const double entry : rod.values()) values.push_back(dt / (h * h) * entry + (entry > 0 ? 1 : 0));
  return values;
}

int main() {
  const whilst::csr_matrix<double> rod = whilst::make_gallery<double>("poisson1d:199").matrix;
  whilst::linear_solver<double> solver(rod, {.preconditioner = "jacobi", .rtol = 1e-12});

  std::vector<double> u(n);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = std::sin(std::numbers::pi * h * static_cast<double>(i + 1));
  const double rate = std::pow(2 / h * std::sin(std::numbers::pi * h / 2), 2);  // A u = rate u
  double expected = 1;
  for (const double dt : {0.01, 0.1}) {
    solver.update_values(step_values(rod, dt));  // other values, the same pattern: nothing is recorded again
    for (int step = 0; step < 5; ++step) {
      const std::vector<double> b = u;  // and u is a good initial guess
      const whilst::report report = solver.solve(b, u);
      if (!report.converged()) return 2;
      expected /= 1 + dt * rate;
    }
    std::printf("5 steps of %.2f: the middle is at %.6f, by hand %.6f\n", dt, u[n / 2], expected);
  }
}
