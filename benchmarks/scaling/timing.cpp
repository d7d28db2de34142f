// compiled by nvcc where CUDA is on
#include "benchmarks/scaling/timing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "benchmarks/scaling/slab.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"
#include "whilst/linear/distributed/distributed_operator_solver.hpp"
#include "whilst/linear/methods/pipelined_conjugate_gradient.hpp"

namespace scaling {
namespace {

/// Entries of the solution to find: smooth, and none alike.
double wanted(index_type row) { return 1 + 1e-3 * static_cast<double>(row % 1000); }

/// Times a solver by so many iterations, then solves for a known x and compares.
template <class Solver>
timing measure(const whilst::group& ranks, Solver& solver, const std::vector<double>& b, index_type first,
               const settings& asked) {
  timing made;
  made.iteration = std::numeric_limits<double>::infinity();
  std::vector<double> x(b.size());
  // No residual is as small as that, and none is beyond it.
  solver.set_tolerances(0, std::numeric_limits<double>::min());
  solver.set_max_iterations(asked.iterations);
  for (int k = 0; k < asked.repetitions; ++k) {
    std::fill(x.begin(), x.end(), 0.0);
    const whilst::report timed = solver.solve(b, x);
    made.iteration = std::min(made.iteration, timed.seconds_per_iteration());
    made.setup = timed.setup_seconds();
  }
  solver.set_tolerances(1e-8, 0);
  solver.set_max_iterations(20000);
  std::fill(x.begin(), x.end(), 0.0);
  const whilst::report found = solver.solve(b, x);
  made.iterations = found.iterations();
  made.reason = std::string(whilst::name(found.reason()));
  made.transport = solver.transport();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(x[i] - wanted(first + static_cast<index_type>(i))));
  const auto all = ranks.all_gather<double>("comparing solutions", [&] { return std::vector{worst}; }).all;
  made.error = *std::max_element(all.begin(), all.end());
  return made;
}

/// A times the wanted x, for the rows of a rank.
std::vector<double> right_hand_side(const whilst::row_partition& partition, int rank, index_type edge) {
  std::vector<double> b;
  const index_type plane = edge * edge;
  for (index_type row = partition.first(rank); row < partition.first(rank + 1); ++row) {
    const index_type i = row % edge, j = row / edge % edge, k = row / plane;
    double sum = 6 * wanted(row);
    if (i > 0) sum -= wanted(row - 1);
    if (i < edge - 1) sum -= wanted(row + 1);
    if (j > 0) sum -= wanted(row - edge);
    if (j < edge - 1) sum -= wanted(row + edge);
    if (k > 0) sum -= wanted(row - plane);
    if (k < edge - 1) sum -= wanted(row + plane);
    b.push_back(sum);
  }
  return b;
}

}  // namespace

timing run(const whilst::group& ranks, int device, const std::string& kind, const std::string& method, index_type edge,
           const settings& asked) {
  whilst::linear_solver_options options;
  options.method = method;
  options.executor = asked.executor;
  options.device = asked.executor == "host" ? -1 : device;
  const whilst::row_partition partition = slabs(edge, ranks.size());
  const index_type first = partition.first(ranks.rank());
  const std::vector<double> b = right_hand_side(partition, ranks.rank(), edge);
  if (kind == "csr") {
    whilst::distributed_linear_solver<double> solver(slab_matrix<double>(ranks, edge), options);
    return measure(ranks, solver, b, first, asked);
  }
  const slab<double> own(ranks, edge);
  if (method == "pipelined-cg") {
    auto solver = whilst::make_distributed_operator_solver<whilst::pipelined_conjugate_gradient, double>(
        ranks, own.rows, own.halo, {}, options);
    return measure(ranks, solver, b, first, asked);
  }
  auto solver = whilst::make_distributed_operator_solver<whilst::conjugate_gradient, double>(ranks, own.rows, own.halo,
                                                                                             {}, options);
  return measure(ranks, solver, b, first, asked);
}

}  // namespace scaling
