/// Whilst's solvers in deal.II's interface, against deal.II's direct solver and its own conjugate gradients.

#include "adapter.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/vector.h>
#include <whilst/adapters/dealii.hpp>

#include "../memory.hpp"

namespace {

using namespace dealii;

bool passed = true;
void expect(bool promise, const char* what) {
  if (promise) return;
  std::printf("failed: %s\n", what);
  passed = false;
}
template <class Call>
void refused(const std::string& words, const Call& call) {
  try {
    call();
  } catch (const whilst::error& problem) {
    expect(std::string(problem.what()).find(words) != std::string::npos, problem.what());
    return;
  }
  expect(false, words.c_str());
}

/// -laplace u + u on a square with `wind` along its rows: |A^-1| is at most 1.
template <class Number>
struct plate {
  SparsityPattern pattern;
  SparseMatrix<Number> A;
  Vector<Number> b, x;

  explicit plate(int side, double wind = 0) : b(side * side), x(side * side) {
    const int n = side * side;
    for (const bool with_values : {false, true}) {
      DynamicSparsityPattern entries(n);
      for (int i = 0; i < n; ++i)
        for (const int j : {i, i - 1, i + 1, i - side, i + side}) {
          const bool is_beside = j == i - 1 || j == i + 1;
          if (j < 0 || j >= n || (is_beside && j / side != i / side)) continue;
          if (with_values)
            A.set(i, j, Number(j == i ? 5 : is_beside ? -1 + (j - i) * wind : -1));
          else
            entries.add(i, j);
        }
      if (with_values) break;
      pattern.copy_from(entries);
      A.reinit(pattern);
    }
    for (int i = 0; i < n; ++i) b[i] = Number(std::sin(1. + 3 * i));
  }
  /// |x - A^-1 b|.
  double distance() const {
    SparseDirectUMFPACK direct;
    direct.initialize(A);
    Vector<double> exact(b);
    direct.solve(exact);
    Vector<double> apart(x);
    apart -= exact;
    return apart.l2_norm();
  }
};

/// Known by its product alone.
struct product {
  const SparseMatrix<double>* A;
  void vmult(Vector<double>& y, const Vector<double>& x) const { A->vmult(y, x); }
};

constexpr double rtol = 1e-10;

template <class Solver, class Plate, class Matrix, class Preconditioner>
void check(const char* what, Plate& one, const Matrix& A, const Preconditioner& M, const char* options = "") {
  const double tolerance = (sizeof(one.b[0]) == 4 ? 1e-5 : rtol) * one.b.l2_norm();
  SolverControl control(1000, tolerance);
  Solver solver(control, options);
  one.x = 0;
  solver.solve(A, one.x, one.b, M);
  expect(control.last_check() == SolverControl::success && control.last_step() > 0, what);
  expect(one.distance() <= 1.1 * tolerance, what);
  const unsigned int first = control.last_step();
  solver.solve(A, one.x, one.b, M);
  expect(control.last_step() == 0, "a solution as a start needs no iteration");
  one.x = 0;
  solver.solve(A, one.x, one.b, M);
  expect(control.last_step() == first, "the same solve takes as many iterations");
}

void solves() {
  plate<double> one(20), with_wind(20, 0.5);
  plate<float> in_float(20);
  const PreconditionIdentity none;
  PreconditionSSOR<SparseMatrix<double>> ssor, ssor_with_wind;
  ssor.initialize(one.A, 1.2);
  ssor_with_wind.initialize(with_wind.A, 1.);
  check<whilst::deal_ii::SolverCG<>>("cg", one, one.A, none);
  check<whilst::deal_ii::SolverCG<>>("cg with a preconditioner of Whilst's", one, one.A, none, "preconditioner=ssor");
  check<whilst::deal_ii::SolverCG<>>("cg with deal.II's SSOR", one, one.A, ssor);
  check<whilst::deal_ii::SolverCG<Vector<float>>>("cg in float", in_float, in_float.A, none);
  check<whilst::deal_ii::SolverMinRes<>>("minres", one, product{&one.A}, none);
  check<whilst::deal_ii::SolverMinRes<>>("a product with SSOR", one, product{&one.A}, ssor);
  check<whilst::deal_ii::SolverBicgstab<>>("bicgstab", with_wind, with_wind.A, ssor_with_wind);
  check<whilst::deal_ii::SolverGMRES<>>("gmres", with_wind, with_wind.A, none, "restart=50");
  check<whilst::deal_ii::SolverAny<>>("auto", with_wind, with_wind.A, none);
  check<whilst::deal_ii::SolverAny<>>("idr", with_wind, with_wind.A, none, "method=idr");

  SolverControl theirs(1000, rtol * one.b.l2_norm()), ours(1000, rtol * one.b.l2_norm());
  one.x = 0;
  SolverCG<>(theirs).solve(one.A, one.x, one.b, ssor);
  one.x = 0;
  whilst::deal_ii::SolverCG<>(ours).solve(one.A, one.x, one.b, ssor);
  expect(std::abs(int(theirs.last_step()) - int(ours.last_step())) <= 1, "as many iterations as deal.II's cg");
  // New values on the same pattern, and another matrix.
  one.A *= 3;
  check<whilst::deal_ii::SolverCG<>>("new values", one, one.A, none);
}

void controls() {
  plate<double> one(20);
  const PreconditionIdentity none;
  SolverControl limited(3, 1e-12);
  try {
    whilst::deal_ii::SolverCG<>(limited).solve(one.A, one.x, one.b, none);
    expect(false, "a limit is a failure");
  } catch (const SolverControl::NoConvergence& failure) {
    Vector<double> r(one.b.size());
    const double norm = one.A.residual(r, one.x, one.b);
    expect(failure.last_step == 3 && std::abs(failure.last_residual - norm) <= 1e-10 * norm,
           "it tells how far it came");
  }
  one.x = 0;
  IterationNumberControl counted(3, 1e-12);
  whilst::deal_ii::SolverCG<>(counted).solve(one.A, one.x, one.b, none);
  expect(counted.last_step() == 3, "a number of iterations is a success");
  one.x = 1;
  ReductionControl reduced(1000, 1e-300, 1e-6);
  whilst::deal_ii::SolverCG<>(reduced).solve(one.A, one.x, one.b, none);
  expect(reduced.last_value() <= 1e-6 * reduced.initial_value() && reduced.last_value() > 1e-9, "a reduction is met");
  one.b = 0;
  one.x = 0;
  SolverControl zero(10, 1e-12);
  whilst::deal_ii::SolverCG<>(zero).solve(one.A, one.x, one.b, none);
  expect(zero.last_step() == 0, "b = 0 needs no iteration");
}

void misuse() {
  plate<double> one(5);
  SolverControl control(100, 1e-8);
  refused("there is no option called 'speed'", [&] { whilst::deal_ii::SolverCG<>(control, "speed=high"); });
  for (const char* const options : {"rtol=1e-3", "atol=1e-3", "max_iterations=7", "max_iterations=10000"})
    refused("which are the control's", [&] { whilst::deal_ii::SolverCG<>(control, options); });
  refused("this class is method 'cg'", [&] { whilst::deal_ii::SolverCG<>(control, "method=gmres"); });
  PreconditionJacobi<SparseMatrix<double>> jacobi;
  jacobi.initialize(one.A);
  refused("two preconditioners",
          [&] { whilst::deal_ii::SolverCG<>(control, "preconditioner=amg").solve(one.A, one.x, one.b, jacobi); });
}

void memory() {
  plate<double> one(4);
  SolverControl control(100, 1e-8);
  expect(keeps_its_memory(
             10000,
             [&] {
               one.x = 0;
               whilst::deal_ii::SolverCG<>(control, "executor=host").solve(one.A, one.x, one.b, PreconditionIdentity());
             }),
         "memory stays the same");
}

}  // namespace

bool adapter_works() {
  solves();
  controls();
  misuse();
  memory();
  return passed;
}
