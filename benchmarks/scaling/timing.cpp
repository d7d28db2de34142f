// compiled by nvcc where CUDA is on
#include "benchmarks/scaling/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "benchmarks/scaling/slab.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"
#include "whilst/linear/distributed/distributed_operator_solver.hpp"
#include "whilst/linear/methods/pipelined_conjugate_gradient.hpp"

namespace scaling {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// See timing::cancel. The clock is the machine's, so that processes can compare.
template <class Solver>
std::optional<double> seconds_to_cancel(const whilst::group& ranks, Solver& solver, const std::vector<double>& b) {
  double longest = 0;
  bool are_cancelled = true;  // else one ended before
  for (int who = 0; who < ranks.size(); ++who) {
    std::vector<double> x(b.size());
    double asked_at = 0;
    ranks.barrier("cancelling");
    std::thread canceller([&] {
      if (ranks.rank() != who) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      asked_at = now();
      solver.cancel();
    });
    const whilst::report ended = solver.solve(b, x);
    const double ended_at = now();
    canceller.join();
    are_cancelled &= ended.reason() == whilst::reason::cancelled;  // which all ranks agree on
    const auto all = ranks.all_gather<double>("cancelling", [&] { return std::vector{asked_at, ended_at}; }).all;
    for (std::size_t q = 0; q < all.size(); q += 2)
      longest = std::max(longest, all[q + 1] - all[2 * static_cast<std::size_t>(who)]);
  }
  return are_cancelled ? std::optional(longest) : std::nullopt;
}

/// Times a solver by so many iterations, unless there are none, then solves for a known x and compares.
template <class Solver>
timing measure(const whilst::group& ranks, Solver& solver, const std::vector<double>& b, index_type first,
               const box& points, int iterations, int repetitions) {
  timing made;
  made.iteration = std::numeric_limits<double>::infinity();
  std::vector<double> x(b.size());
  // No residual of so few iterations is as small as that, and none is beyond it.
  solver.set_tolerances(0, std::numeric_limits<double>::min());
  solver.set_max_iterations(iterations);
  for (int k = 0; k < repetitions && iterations > 0; ++k) {
    std::fill(x.begin(), x.end(), 0.0);
    made.iteration = std::min(made.iteration, solver.solve(b, x).seconds_per_iteration());
  }
  if (iterations > 0 && points.points() <= 20000) {
    solver.set_max_iterations(std::numeric_limits<index_type>::max() / 4);
    made.cancel = seconds_to_cancel(ranks, solver, b);
  }
  solver.set_tolerances(1e-8, 0);
  solver.set_max_iterations(20000);
  made.solve = std::numeric_limits<double>::infinity();
  std::optional<whilst::report> last;
  for (int k = 0; k < (iterations > 0 ? 1 : repetitions); ++k) {
    std::fill(x.begin(), x.end(), 0.0);
    last = solver.solve(b, x);
    made.solve = std::min(made.solve, last->solve_seconds());
  }
  const whilst::report& found = *last;
  made.setup = found.setup_seconds();
  if (iterations == 0) made.iteration = made.solve / static_cast<double>(found.iterations());
  made.iterations = found.iterations();
  made.reason = std::string(whilst::name(found.reason()));
  made.transport = solver.transport();
  made.error = largest_error(ranks, x, first);
  made.residual = relative_residual(ranks, b, x, points);
  return made;
}

/// Entry `row` of A x, of an x with all entries that it reads.
template <class X>
double row_times(index_type row, const box& points, const X& x) {
  const index_type edge = points.edge, plane = points.plane(), i = row % edge, j = row / edge % edge, k = row / plane;
  double sum = 6 * x(row);
  if (i > 0) sum -= x(row - 1);
  if (i < edge - 1) sum -= x(row + 1);
  if (j > 0) sum -= x(row - edge);
  if (j < edge - 1) sum -= x(row + edge);
  if (k > 0) sum -= x(row - plane);
  if (k < points.planes - 1) sum -= x(row + plane);
  return sum;
}

}  // namespace

std::vector<double> right_hand_side(const whilst::row_partition& partition, int rank, const box& points) {
  const index_type first = partition.first(rank), rows = partition.rows_of(rank);
  std::vector<double> b(static_cast<std::size_t>(rows));
#pragma omp parallel for
  for (index_type i = 0; i < rows; ++i) b[static_cast<std::size_t>(i)] = row_times(first + i, points, wanted);
  return b;
}

double largest_error(const whilst::group& ranks, const std::vector<double>& x, index_type first) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(x[i] - wanted(first + static_cast<index_type>(i))));
  const auto all = ranks.all_gather<double>("comparing solutions", [&] { return std::vector{worst}; }).all;
  return *std::max_element(all.begin(), all.end());
}

double relative_residual(const whilst::group& ranks, const std::vector<double>& b, const std::vector<double>& x,
                         const box& points) {
  // Of the planes of other ranks only the outermost are read.
  const auto plane = static_cast<std::size_t>(points.plane());
  const whilst::row_partition partition = slabs(points, ranks.size());
  const index_type first = partition.first(ranks.rank());
  const std::vector<double> outermost =
      ranks
          .all_gather<double>("fetching planes",
                              [&] {
                                if (x.empty()) return std::vector<double>(2 * plane);
                                std::vector<double> planes(x.begin(), x.begin() + points.plane());
                                planes.insert(planes.end(), x.end() - points.plane(), x.end());
                                return planes;
                              })
          .all;
  const auto entry = [&](index_type row) {
    if (partition.has(ranks.rank(), row)) return x[static_cast<std::size_t>(row - first)];
    int q = 0;
    while (!partition.has(q, row)) ++q;
    const bool is_below = row < first;
    return outermost[(2 * static_cast<std::size_t>(q) + is_below) * plane + static_cast<std::size_t>(row) % plane];
  };
  const auto rows = static_cast<index_type>(b.size());
  double of_r = 0, of_b = 0;  // squares
#pragma omp parallel for reduction(+ : of_r, of_b)
  for (index_type i = 0; i < rows; ++i) {
    const double bi = b[static_cast<std::size_t>(i)], ri = bi - row_times(first + i, points, entry);
    of_r += ri * ri;
    of_b += bi * bi;
  }
  const auto all = ranks.all_gather<double>("adding up squares", [&] { return std::vector{of_r, of_b}; }).all;
  of_r = of_b = 0;
  for (std::size_t k = 0; k < all.size(); k += 2) of_r += all[k], of_b += all[k + 1];
  return std::sqrt(of_r / of_b);
}

timing run(const whilst::group& ranks, int device, const std::string& kind, const std::string& method,
           const box& points, const settings& asked) {
  whilst::linear_solver_options options;
  options.method = method;
  options.executor = asked.executor;
  options.transport = asked.transport;
  options.device = asked.executor == "host" ? -1 : device;
  const whilst::row_partition partition = slabs(points, ranks.size());
  const index_type first = partition.first(ranks.rank());
  const std::vector<double> b = right_hand_side(partition, ranks.rank(), points);
  const bool by_amg = kind == "csr, amg";
  const int timed = by_amg ? 0 : asked.iterations;
  if (by_amg) options.preconditioner = "amg";
  if (kind != "matrix-free") {
    whilst::distributed_linear_solver<double> solver(slab_matrix<double>(ranks, points), options);
    return measure(ranks, solver, b, first, points, timed, asked.repetitions);
  }
  const slab<double> own(ranks, points);
  if (method == "pipelined-cg") {
    auto solver = whilst::make_distributed_operator_solver<whilst::pipelined_conjugate_gradient, double>(
        ranks, own.rows, own.halo, {}, options);
    return measure(ranks, solver, b, first, points, timed, asked.repetitions);
  }
  auto solver = whilst::make_distributed_operator_solver<whilst::conjugate_gradient, double>(ranks, own.rows, own.halo,
                                                                                             {}, options);
  return measure(ranks, solver, b, first, points, timed, asked.repetitions);
}

}  // namespace scaling
