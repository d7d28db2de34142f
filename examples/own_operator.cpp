/// own_operator: solves -u'' = 1 on a line with an operator that has no matrix, and compares with the exact solution.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <whilst/template_door.hpp>

struct second_difference {  // -u'' on n points of a line, unscaled
  whilst::index_type n;
  WHILST_HD whilst::index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return 1; }  // threads of a warp that share a row
  template <class T, class Team>
  WHILST_HD T row(whilst::index_type i, const T* x, const Team&) const {
    return 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  }
};
struct halve {  // M r, with M the inverse of the diagonal
  WHILST_HD double operator()(whilst::index_type, double r) const { return r / 2; }
};

int main() {
  constexpr int n = 1000;
  const std::vector<double> b(n, 1.0);
  std::vector<double> x(n);
  auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(second_difference{n}, halve{});
  const whilst::report report = solver.solve(b, x);
  std::puts(report.message().c_str());

  double error = 0;
  for (int i = 1; i <= n; ++i) error = std::max(error, std::abs(x[i - 1] / (0.5 * i * (n + 1 - i)) - 1));
  std::printf("largest relative error %.1e\n", error);
  return report.converged() && error < 1e-6 ? 0 : 2;
}
