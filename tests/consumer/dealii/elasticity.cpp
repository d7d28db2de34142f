/// Linear elasticity on a square that is refined where the solution bends, the problem of deal.II's tutorial step-8:
/// lambda = mu = 1, the boundary held, a pull to the right in two discs and upwards in a third. deal.II assembles and
/// solves it by its own conjugate gradients with SSOR; Whilst borrows the matrix where it lies, takes the
/// preconditioner as it is, and must find the same.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>

#include <deal.II/base/multithread_info.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_refinement.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/vector_tools.h>

#include <whilst/whilst.hpp>

#include "adapter.hpp"

namespace {

using namespace dealii;
constexpr int dim = 2;
constexpr double rtol = 1e-10;

/// deal.II's compressed rows, whose arrays classes derived from the pattern may see.
class csr_pattern : public SparsityPattern {
 public:
  // deal.II counts without a sign, Whilst borrows signed integers. To read one as the other is allowed, and what is
  // counted is far below 2^31 and 2^63 here.
  std::span<const std::int64_t> row_offsets() const {
    static_assert(sizeof(std::size_t) == sizeof(std::int64_t));
    return {reinterpret_cast<const std::int64_t*>(rowstart.get()), n_rows() + 1};
  }
  std::span<const std::int32_t> column_indices() const {
    static_assert(sizeof(size_type) == sizeof(std::int32_t));
    return {reinterpret_cast<const std::int32_t*>(colnums.get()), n_nonzero_elements()};
  }
};

Tensor<1, dim> force(const Point<dim>& p) {
  Tensor<1, dim> f;
  const double radius = 0.2;
  for (const double x : {-0.5, 0.5})
    if (p.distance(Point<dim>(x, 0)) < radius) f[0] = 1;
  if (p.norm() < radius) f[1] = 1;
  return f;
}

struct elasticity {
  Triangulation<dim> mesh;
  DoFHandler<dim> unknowns{mesh};
  FESystem<dim> element{FE_Q<dim>(1), dim};
  AffineConstraints<double> constraints;
  csr_pattern pattern;
  SparseMatrix<double> A;
  Vector<double> b;

  void number() {
    unknowns.distribute_dofs(element);
    constraints.clear();
    DoFTools::make_hanging_node_constraints(unknowns, constraints);
    VectorTools::interpolate_boundary_values(unknowns, 0, Functions::ZeroFunction<dim>(dim), constraints);
    constraints.close();
    DynamicSparsityPattern entries(unknowns.n_dofs());
    DoFTools::make_sparsity_pattern(unknowns, entries, constraints, /*keep_constrained_dofs=*/false);
    A.clear();
    pattern.copy_from(entries);
    A.reinit(pattern);
    b.reinit(unknowns.n_dofs());
  }

  void assemble() {
    const QGauss<dim> points(2);
    FEValues<dim> at(element, points, update_values | update_gradients | update_quadrature_points | update_JxW_values);
    const FEValuesExtractors::Vector u(0);
    const unsigned int n = element.n_dofs_per_cell();
    FullMatrix<double> cell_A(n, n);
    Vector<double> cell_b(n);
    std::vector<types::global_dof_index> places(n);
    for (const auto& cell : unknowns.active_cell_iterators()) {
      at.reinit(cell);
      cell_A = 0;
      cell_b = 0;
      for (const unsigned int q : at.quadrature_point_indices()) {
        const Tensor<1, dim> f = force(at.quadrature_point(q));
        for (const unsigned int i : at.dof_indices()) {
          const auto strain = at[u].symmetric_gradient(i, q);
          // lambda div u div v + 2 mu strain(u) : strain(v)
          for (const unsigned int j : at.dof_indices())
            cell_A(i, j) +=
                (at[u].divergence(i, q) * at[u].divergence(j, q) + 2 * (strain * at[u].symmetric_gradient(j, q))) *
                at.JxW(q);
          cell_b(i) += at[u].value(i, q) * f * at.JxW(q);
        }
      }
      cell->get_dof_indices(places);
      constraints.distribute_local_to_global(cell_A, cell_b, places, A, b);
    }
  }

  void refine(const Vector<double>& x) {
    Vector<float> bends(mesh.n_active_cells());
    KellyErrorEstimator<dim>::estimate(unknowns, QGauss<dim - 1>(2), {}, x, bends);
    GridRefinement::refine_and_coarsen_fixed_number(mesh, bends, 0.3, 0.03);
    mesh.execute_coarsening_and_refinement();
  }
};

/// |A^-1|, from below by at most some percent: inverse iteration.
double norm_of_inverse(const SparseDirectUMFPACK& inverse, Vector<double> v) {
  double growth = 0;
  for (int k = 0; k < 30; ++k) {
    v /= v.l2_norm();
    inverse.solve(v);
    growth = v.l2_norm();
  }
  return growth;
}

std::span<const double> span_of(const Vector<double>& v) { return {v.begin(), v.size()}; }
std::span<double> span_of(Vector<double>& v) { return {v.begin(), v.size()}; }

bool solve_both_ways(const elasticity& problem, Vector<double>& x) {
  const SparseMatrix<double>& A = problem.A;
  PreconditionSSOR<SparseMatrix<double>> ssor;
  ssor.initialize(A, 1.2);

  SolverControl control(1000, rtol * problem.b.l2_norm());
  Vector<double> theirs(problem.b.size());
  SolverCG<Vector<double>>(control).solve(A, theirs, problem.b, ssor);

  // The diagonal's entry comes first in each row, whatever its column, and Whilst takes columns in any order. That of
  // row 0 is the first of all.
  const std::span<const double> values(&const_cast<SparseMatrix<double>&>(A).diag_element(0), A.n_nonzero_elements());
  const auto ours = whilst::csr_matrix<double>::borrow(A.m(), A.n(), problem.pattern.row_offsets(),
                                                       problem.pattern.column_indices(), values);
  const bool without_copy = ours.is_borrowed() && ours.values_data() == values.data();
  Vector<double> from(A.m()), to(A.m());  // deal.II's vectors own their memory
  const auto precondition = [&](whilst::stream_handle, whilst::index_type n, const double* r, double* z) {
    std::copy_n(r, n, from.begin());
    ssor.vmult(to, from);
    std::copy_n(to.begin(), n, z);
  };
  // On the host, where deal.II's preconditioners are.
  whilst::linear_solver<double> solver(ours, precondition, {.rtol = rtol, .executor = "host"});
  x.reinit(A.m());
  const whilst::report report = solver.solve(span_of(problem.b), span_of(x));

  SparseDirectUMFPACK direct;
  direct.initialize(A);
  // Both residuals are below rtol |b|; the factor of two is for the estimate of the norm.
  const double tolerance = 2 * norm_of_inverse(direct, problem.b) * 2 * rtol * problem.b.l2_norm();
  Vector<double> apart = x;
  apart -= theirs;
  std::printf("%u unknowns%s: deal.II %u iterations; %s; apart by %.1e, allowed %.1e\n", A.m(),
              without_copy ? "" : ", copied", control.last_step(), report.message().c_str(), apart.l2_norm(),
              tolerance);
  // The same method and preconditioner: what differs is how sums are rounded, and when the residual is looked at.
  const bool as_many = std::abs(static_cast<double>(report.iterations()) - control.last_step()) <= 2;
  return without_copy && report.converged() && as_many && apart.l2_norm() <= tolerance;
}

}  // namespace

int main() {
  MultithreadInfo::set_thread_limit(2);
  elasticity problem;
  GridGenerator::hyper_cube(problem.mesh, -1, 1);
  problem.mesh.refine_global(4);
  bool passed = adapter_works();
  for (int cycle = 0; cycle < 3; ++cycle) {
    problem.number();
    problem.assemble();
    Vector<double> x;
    passed = solve_both_ways(problem, x) && passed;
    problem.constraints.distribute(x);
    problem.refine(x);
  }
  return passed ? 0 : 1;
}
