/// plate: a heated plate with cooled edges in matrices and vectors of deal.II. The solver is Whilst's, in its
/// interface.

#include <cstdio>

#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/vector.h>
#include <whilst/adapters/dealii.hpp>

int main() {
  constexpr unsigned int side = 63, n = side * side;
  const auto each_neighbour = [](unsigned int i, const auto& visit) {
    if (i % side > 0) visit(i - 1);
    if (i % side < side - 1) visit(i + 1);
    if (i >= side) visit(i - side);
    if (i < n - side) visit(i + side);
  };
  dealii::DynamicSparsityPattern entries(n);
  for (unsigned int i = 0; i < n; ++i) {
    entries.add(i, i);
    each_neighbour(i, [&](unsigned int j) { entries.add(i, j); });
  }
  dealii::SparsityPattern pattern;
  pattern.copy_from(entries);
  dealii::SparseMatrix<double> A(pattern);
  for (unsigned int i = 0; i < n; ++i) {
    A.set(i, i, 4);
    each_neighbour(i, [&](unsigned int j) { A.set(i, j, -1); });
  }
  dealii::Vector<double> u(n), b(n);
  b = 1. / ((side + 1) * (side + 1));

  dealii::SolverControl control(1000, 1e-10 * b.l2_norm());
  whilst::deal_ii::SolverCG<> solver(control, "preconditioner=ssor");  // was dealii::SolverCG
  solver.solve(A, u, b, dealii::PreconditionIdentity());               // throws if it fails
  std::printf("%u iterations, in the middle %.4f\n", control.last_step(), u[n / 2]);
}
