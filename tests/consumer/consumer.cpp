/// All of the library door as the README shows it, and what it leaves out, by a program of plain C++.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <whilst/whilst.hpp>

namespace {

bool passed = true;

void check(bool promise, const char* what) {
  if (promise) return;
  std::printf("failed: %s\n", what);
  passed = false;
}

double distance(std::span<const double> x, std::initializer_list<double> expected) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::fmax(largest, std::fabs(x[i] - expected.begin()[i]));
  return largest;
}

// The second difference of the line 1, 2, 3 with zeros beyond its ends is 0, 0, 4.
const std::vector<double> values{2, -1, -1, 2, -1, -1, 2};
const std::vector<double> b{0, 0, 4};

const whilst::linear_solver_options options{.method = "cg", .preconditioner = "jacobi", .rtol = 1e-10};
// The residual is below 1e-10 * 4, the norm of the inverse, 1 / (2 - sqrt(2)), below 2.
constexpr double tolerance = 8e-10;

void solve_from_vectors() {
  const std::vector<std::int32_t> row_offsets{0, 2, 5, 7};
  const std::vector<std::int32_t> column_indices{0, 1, 0, 1, 2, 1, 2};
  whilst::csr_matrix<double> A(3, 3, row_offsets, column_indices, values);
  whilst::linear_solver<double> solver(A, options);

  std::vector<double> x(3);
  whilst::report report = solver.solve(b, x);
  std::puts(report.message().c_str());
  check(report.converged() && report.reason() == whilst::reason::converged_rtol, "a solve converges");
  check(distance(x, {1, 2, 3}) < tolerance, "it finds 1, 2, 3");
  // Conjugate gradients end after as many iterations as there are unknowns, but for rounding.
  check(report.iterations() >= 1 && report.iterations() <= 6, "it counts its iterations");
  check(report.relative_residual() <= options.rtol, "the residual is below the tolerance");
  check(report.solve_seconds() > 0 && report.solve_seconds() < 60, "it takes time");
  check(report.message().find(std::to_string(report.iterations())) != std::string::npos, "the message tells them");

  // Twice the matrix, half the solution, from the solution as a start.
  std::vector<double> twice(values);
  for (double& value : twice) value *= 2;
  solver.update_values(twice);
  check(solver.solve(b, x).converged() && distance(x, {0.5, 1, 1.5}) < tolerance, "new values are used");

  solver.set_max_iterations(0);
  x.assign(3, 0);
  report = solver.solve(b, x);
  check(!report.converged() && report.reason() == whilst::reason::iteration_limit, "a limit is a reason");
}

void solve_from_spans() {
  const std::array<std::int64_t, 4> row_offsets{0, 2, 5, 7};
  const std::array<std::int32_t, 7> column_indices{0, 1, 0, 1, 2, 1, 2};
  whilst::csr_matrix<double> A(3, 3, std::span<const std::int64_t>(row_offsets),
                               std::span<const std::int32_t>(column_indices), std::span<const double>(values));
  whilst::linear_solver<double> solver(A, options);

  std::array<double, 3> x{};
  const whilst::report report = solver.solve(std::span<const double>(b), std::span<double>(x));
  check(report.converged() && distance(x, {1, 2, 3}) < tolerance, "64-bit offsets and spans");
}

void enqueue() {
  const std::vector<std::int64_t> row_offsets{0, 2, 5, 7};
  const std::vector<std::int32_t> column_indices{0, 1, 0, 1, 2, 1, 2};
  whilst::csr_matrix<double> A(3, 3, row_offsets, column_indices, values);
  // On the host, so that b and x need not be in the memory of a device.
  whilst::linear_solver_options on_host = options;
  on_host.executor = "host";
  whilst::linear_solver<double> solver(A, on_host);

  std::vector<double> x(3);
  whilst::ticket ticket = solver.enqueue(nullptr, b.data(), x.data());
  const whilst::progress progress = ticket.progress();
  check(!progress.running && ticket.done(), "on the host a solve is done when enqueue returns");
  ticket.cancel();
  const whilst::report report = ticket.wait();
  check(report.converged() && report.iterations() == progress.iteration, "a late cancel changes nothing");
  check(distance(x, {1, 2, 3}) < tolerance, "an enqueued solve finds 1, 2, 3");
  x.assign(3, 0);
  check(solver.enqueue(nullptr, b.data(), x.data()).wait().converged(), "nor does it reach the next solve");
}

void misuse() {
  const std::vector<std::int32_t> row_offsets{0, 1}, column_indices{1};
  try {
    whilst::csr_matrix<double> A(1, 1, row_offsets, column_indices, std::vector<double>{1});
    check(false, "a column that is not there is refused");
  } catch (const whilst::error& error) {
    check(std::string(error.what()).find("column") != std::string::npos, "an error names its matter");
  }
}

}  // namespace

int main() {
  solve_from_vectors();
  solve_from_spans();
  enqueue();
  misuse();
  return passed ? 0 : 1;
}
