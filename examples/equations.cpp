/// equations: a chain of nonlinear resistors by Newton-Krylov. Blocks add up to F(x) = 0 as finite elements do.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <whilst/assembled_equations.hpp>
#include <whilst/nonlinear_solver.hpp>

struct resistor {  // between two nodes, current v + v^3: the output of each end goes to the equation of its node
  static constexpr int unknowns = 2, equations = 2;
  template <class S>
  WHILST_HD void operator()(whilst::index_type, const S* x, S* r) const {
    const S v = x[0] - x[1], current = v + v * v * v;
    r[0] = current;
    r[1] = -current;
  }
};
struct source {  // a current that enters a node
  static constexpr int unknowns = 1, equations = 1;
  double current;
  template <class S>
  WHILST_HD void operator()(whilst::index_type, const S*, S* r) const {
    r[0] = -current;
  }
};

int main() {
  constexpr int n = 100;  // nodes 0 to n - 1; index -1 is the ground, with potential 0 and no equation
  std::vector<std::int32_t> ends;
  for (int k = 0; k < n; ++k) ends.insert(ends.end(), {k, k + 1 < n ? k + 1 : -1});
  const std::vector<std::int32_t> first{0};
  whilst::assembled_equations<double> F(whilst::place_of_executor(), n);
  F.add("resistors", resistor{}, ends, ends);
  F.add("source", source{2.0}, first, first);
  whilst::nonlinear_solver<double> solver(F, {.method = "newton-krylov", .tolerances = {.atol = 1e-10, .rtol = 0}});

  std::vector<double> x(n);  // the start, then the solution
  const whilst::nonlinear_report report = solver.solve(x);
  std::puts(report.message().c_str());
  std::printf("potential of the first node %.6f, by hand %d\n", x[0], n);  // v + v^3 = 2 means v = 1
  return report.converged() ? 0 : 2;
}
