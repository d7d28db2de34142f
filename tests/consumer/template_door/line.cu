/// The template door as the README shows it: an operator that is a functor.

#include <cmath>
#include <cstdio>
#include <vector>

#include <whilst/machine.hpp>

#include "kernels/difference.hpp"
#include "solvers/line.hpp"

int main() {
  const whilst::index_type n = 100;
  const std::vector<double> b(n, 1);
  std::vector<double> x(n, 0);
  // Where there is no GPU the host solves, whatever compiled this.
  auto solver =
      whilst::make_operator_solver<whilst::conjugate_gradient, double>(second_difference{n}, halve{}, {.rtol = 1e-12});
  const whilst::report report = solver.solve(b, x);
  std::puts(report.message().c_str());

  const std::vector<double> expected = solve_line(b);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::fmax(largest, std::fabs(x[i] - expected[i]));
  // |x - A^-1 b| <= |A^-1| |r|, with |A^-1| = 1 / (4 sin^2(pi / 2 / 101)) < 1034 and |r| <= 1e-12 * 10.
  return report.converged() && largest <= 2e-8 ? 0 : 1;
}
