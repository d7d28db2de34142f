/// plate: a heated plate with cooled edges, assembled by Eigen. The solver is Whilst's, in Eigen's interface.

#include <cstdio>
#include <vector>

#include <Eigen/SparseCore>
#include <whilst/adapters/eigen.hpp>

int main() {
  constexpr int side = 63, n = side * side;
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 4);
    if (i % side > 0) entries.emplace_back(i, i - 1, -1);
    if (i % side < side - 1) entries.emplace_back(i, i + 1, -1);
    if (i >= side) entries.emplace_back(i, i - side, -1);
    if (i < n - side) entries.emplace_back(i, i + side, -1);
  }
  Eigen::SparseMatrix<double> A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  const Eigen::VectorXd b = Eigen::VectorXd::Constant(n, 1. / ((side + 1) * (side + 1)));

  whilst::eigen::ConjugateGradient<Eigen::SparseMatrix<double>> solver;  // was Eigen::ConjugateGradient
  solver.setTolerance(1e-10);
  solver.setOptions("preconditioner=ssor");
  solver.compute(A);
  const Eigen::VectorXd u = solver.solve(b);
  std::printf("%s\nin the middle %.4f\n", solver.report().message().c_str(), u[n / 2]);
  return solver.info() == Eigen::Success ? 0 : 2;
}
