/// A program that assembles a matrix by Eigen, solves by Eigen's conjugate gradients and by Whilst's, with Eigen's
/// incomplete Cholesky as a callback, and compares. 10 000 solves in Eigen's interface take no more memory than 1000.

#include <cstdio>
#include <vector>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <whilst/adapters/eigen.hpp>
#include <whilst/eigen.hpp>
#include <whilst/whilst.hpp>

#include "../memory.hpp"

namespace {

using matrix = Eigen::SparseMatrix<double>;

/// The five-point difference of -laplace u + u on a square of side * side points, zeros beyond its border.
matrix plate(int side) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < side * side; ++i) {
    entries.emplace_back(i, i, 5);
    if (i % side > 0) entries.emplace_back(i, i - 1, -1);
    if (i % side < side - 1) entries.emplace_back(i, i + 1, -1);
    if (i >= side) entries.emplace_back(i, i - side, -1);
    if (i < side * (side - 1)) entries.emplace_back(i, i + side, -1);
  }
  matrix A(side * side, side * side);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

bool same(const char* what, const whilst::report& report, const Eigen::VectorXd& x, const Eigen::VectorXd& expected,
          double tolerance) {
  const double distance = (x - expected).norm();
  std::printf("%s: %s; apart from Eigen's by %.1e\n", what, report.message().c_str(), distance);
  return report.converged() && distance <= tolerance;
}

}  // namespace

int main() {
  const matrix A = plate(60);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(A.rows(), -1, 1);
  constexpr double rtol = 1e-10;
  Eigen::ConjugateGradient<matrix, Eigen::Lower | Eigen::Upper> theirs(A);
  theirs.setTolerance(rtol);
  const Eigen::VectorXd expected = theirs.solve(b);
  // Both residuals are below rtol |b|, and the smallest eigenvalue is above 1.
  const double tolerance = 2 * rtol * b.norm();

  const whilst::csr_matrix<double> ours = whilst::from_eigen(A);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(A.rows());
  whilst::linear_solver<double> jacobi(ours, {.preconditioner = "jacobi", .rtol = rtol});
  const whilst::report by_jacobi = jacobi.solve(whilst::span_of(b), whilst::span_of(x));
  bool passed = theirs.info() == Eigen::Success && same("jacobi", by_jacobi, x, expected, tolerance);

  const Eigen::IncompleteCholesky<double> factors(A);
  const auto precondition = [&](whilst::stream_handle, whilst::index_type n, const double* r, double* z) {
    Eigen::Map<Eigen::VectorXd>(z, n) = factors.solve(Eigen::Map<const Eigen::VectorXd>(r, n));
  };
  // On the host, where Eigen's preconditioners are.
  whilst::linear_solver<double> cholesky(ours, precondition, {.rtol = rtol, .executor = "host"});
  x.setZero();
  const whilst::report by_cholesky = cholesky.solve(whilst::span_of(b), whilst::span_of(x));
  passed = same("incomplete Cholesky", by_cholesky, x, expected, tolerance) && passed;
  // Else the callback has not been used.
  passed = passed && by_cholesky.iterations() < by_jacobi.iterations();

  const matrix small = plate(4);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(small.rows());
  whilst::eigen::ConjugateGradient<matrix> solver;
  solver.setOptions("executor=host");  // a driver's memory is not the library's
  const bool kept = keeps_its_memory(10000, [&] { x = solver.compute(small).solve(ones); });
  return passed && kept && solver.info() == Eigen::Success ? 0 : 1;
}
